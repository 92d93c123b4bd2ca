import CSQLite
import Glibc
import RelayCore
import Synchronization

/// SQLite's reading of files, changed so that a failure that may pass is not reported as damage.
///
/// SQLite takes a read that fails with `EIO`, `ENXIO` or `ERANGE` as damage: it returns
/// `SQLITE_CORRUPT` even if the disk only did not answer (`unixRead`, `SQLITE_IOERR_CORRUPTFS`).
/// Damaged data is quarantined for good, so a second without the disk would be as bad as its loss.
/// Any other read error is `SQLITE_IOERR_READ`, after which the store waits and tries again. So
/// such a failure is reported as another error until ``ReadFaults`` says that it is damage.
enum DiskReading {
  private static let faults = Mutex(ReadFaults())
  /// Whether any place is remembered; read without a lock, for each read.
  private static let hasFaults = Atomic(false)

  /// Makes SQLite read through here; called before the first connection is opened.
  ///
  /// SQLite decides at compile time which of the calls it uses (`sqlite3_vfs.xSetSystemCall`).
  static func setUp() {
    guard let system = sqlite3_vfs_find(nil), let set = system.pointee.xSetSystemCall else {
      return
    }
    let readAt: @convention(c) (Int32, UnsafeMutableRawPointer?, Int, off_t) -> Int = {
      file, bytes, count, offset in
      DiskReading.judged(pread(file, bytes, count, offset), file: file, offset: offset)
    }
    let read: @convention(c) (Int32, UnsafeMutableRawPointer?, Int) -> Int = {
      file, bytes, count in
      let offset = DiskReading.hasFaults.load(ordering: .relaxed) ? lseek(file, 0, SEEK_CUR) : 0
      return DiskReading.judged(Glibc.read(file, bytes, count), file: file, offset: offset)
    }
    // Sound: SQLite calls each with the arguments of the system call that it replaces; on 64-bit
    // Linux `off_t` is `off64_t`.
    _ = set(system, "pread", unsafeBitCast(readAt, to: sqlite3_syscall_ptr.self))
    _ = set(system, "pread64", unsafeBitCast(readAt, to: sqlite3_syscall_ptr.self))
    _ = set(system, "read", unsafeBitCast(read, to: sqlite3_syscall_ptr.self))
  }

  /// Passes on a read's result, with another `errno` for a failure that may pass.
  private static func judged(_ count: Int, file: Int32, offset: off_t) -> Int {
    if count >= 0 {
      if hasFaults.load(ordering: .relaxed), let place = place(file, offset) { succeeded(place) }
      return count
    }
    let error = errno
    guard error == EIO || error == ENXIO || error == ERANGE else { return count }
    let isDamage = place(file, offset).map { failed($0) } ?? false
    errno = isDamage ? EIO : EREMOTEIO
    return count
  }

  private static func failed(_ place: ReadFaults.Place) -> Bool {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    let nowMs = Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    return faults.withLock { faults in
      defer { hasFaults.store(!faults.isEmpty, ordering: .relaxed) }
      return faults.readFailed(at: place, nowMs: nowMs)
    }
  }

  private static func succeeded(_ place: ReadFaults.Place) {
    faults.withLock { faults in
      faults.readSucceeded(at: place)
      hasFaults.store(!faults.isEmpty, ordering: .relaxed)
    }
  }

  private static func place(_ file: Int32, _ offset: off_t) -> ReadFaults.Place? {
    var status = stat()
    guard fstat(file, &status) == 0 else { return nil }
    return ReadFaults.Place(
      device: UInt64(status.st_dev), file: UInt64(status.st_ino), offset: Int64(offset))
  }
}

/// Tells trouble from damage by which reads of the disk fail, and for how long.
///
/// A disk that does not answer for a moment has lost nothing. A few places that stay unreadable are
/// damage. Many such places mean that the disk is away, and may come back.
struct ReadFaults {
  /// A place on a disk, as a read names it.
  struct Place: Hashable {
    var device: UInt64
    var file: UInt64
    /// The offset in the file, in bytes.
    var offset: Int64
  }

  /// The time for which a place must stay unreadable to count as damaged, in milliseconds.
  static let patienceMs: Int64 = 30_000
  /// The time without failures after which a place is forgotten, in milliseconds.
  static let memoryMs: Int64 = 60_000
  /// The most damaged places at once; if more fail, the disk is away.
  static let damagedPlacesMax = 16
  /// The most places that are remembered.
  static let placesMax = 64

  private struct Fault {
    var firstAtMs: Int64
    var lastAtMs: Int64
  }

  private var faults: [Place: Fault] = [:]

  /// Whether no place is remembered.
  var isEmpty: Bool { faults.isEmpty }

  /// Notes that a place could not be read.
  ///
  /// - Parameter nowMs: The time by a clock that only goes forward.
  /// - Returns: Whether the place is damaged.
  mutating func readFailed(at place: Place, nowMs: Int64) -> Bool {
    faults = faults.filter { nowMs - $0.value.lastAtMs <= Self.memoryMs }
    var fault = faults[place] ?? Fault(firstAtMs: nowMs, lastAtMs: nowMs)
    fault.lastAtMs = nowMs
    if faults[place] != nil || faults.count < Self.placesMax { faults[place] = fault }
    return nowMs - fault.firstAtMs >= Self.patienceMs && faults.count <= Self.damagedPlacesMax
  }

  /// Notes that a place was read.
  mutating func readSucceeded(at place: Place) { faults[place] = nil }
}
