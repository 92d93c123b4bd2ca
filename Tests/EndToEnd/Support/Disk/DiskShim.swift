import Foundation
import Glibc

/// A library between a relay and its disk: `Tests/DiskShim` has the other side, with the same
/// numbers.
///
/// It records what is done to a folder, and lets calls fail as a test says while the relay runs.
// Sound: what is shared with the relay's process is read and written as whole words, whose order
// does not matter: a test sets them, then makes a request that the relay reads them for.
final class DiskShim: @unchecked Sendable {
  /// Which calls may fail.
  struct Calls: OptionSet, Sendable {
    let rawValue: Int64
    static let open = Calls(rawValue: 1)
    static let write = Calls(rawValue: 2)
    static let truncate = Calls(rawValue: 4)
    static let sync = Calls(rawValue: 8)
    static let rename = Calls(rawValue: 16)
    static let unlink = Calls(rawValue: 32)
    static let mkdir = Calls(rawValue: 64)
    static let read = Calls(rawValue: 128)
    /// Everything that changes the disk.
    static let changes: Calls = [.open, .write, .truncate, .sync, .rename, .unlink, .mkdir]
    /// The same without syncs, one of which may be under way: a relay ends when one fails.
    static let unsyncedChanges = changes.subtracting(.sync)
  }

  private enum Slot: Int {
    case isOn, calls, error, skip, count, matched, injected, freeze, frozen, free
  }
  private static let slotCount = 16
  private static let pathBytes = 128
  private static let bytes = slotCount * 8 + pathBytes

  /// What is watched.
  let watched: String
  private let own: TemporaryFolder
  private let slots: UnsafeMutablePointer<Int64>

  /// Prepares to watch a folder.
  init(watching folder: String) throws {
    watched = folder
    own = try TemporaryFolder()
    let control = own.path + "/control"
    try Data(count: Self.bytes).write(to: URL(fileURLWithPath: control))
    let descriptor = Glibc.open(control, O_RDWR)
    defer { Glibc.close(descriptor) }
    let map = mmap(nil, Self.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0)
    guard descriptor >= 0, let map, map != MAP_FAILED else {
      throw SocketError(operation: "map \(control)", code: errno)
    }
    slots = map.assumingMemoryBound(to: Int64.self)
  }

  deinit { munmap(slots, Self.bytes) }

  private static let library: String = {
    let test = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
    return (test as NSString).deletingLastPathComponent + "/libDiskShim.so"
  }()

  /// What a process needs in its environment to be watched.
  ///
  /// - Parameter isRecorded: Whether what it does is to be found in ``journal``.
  func environment(isRecorded: Bool) -> [String: String] {
    var variables = [
      "LD_PRELOAD": Self.library, "WAYSTATION_DISK_FOLDER": watched,
      "WAYSTATION_DISK_CONTROL": own.path + "/control",
    ]
    if isRecorded { variables["WAYSTATION_DISK_JOURNAL"] = journal }
    return variables
  }

  /// The file to which everything is recorded.
  var journal: String { own.path + "/journal" }

  private subscript(slot: Slot) -> Int64 {
    get { slots[slot.rawValue] }
    set { slots[slot.rawValue] = newValue }
  }

  /// Lets calls fail from now on.
  ///
  /// - Parameters:
  ///   - error: What they fail with; 0 for writes that write only half.
  ///   - skip: How many of them succeed before.
  ///   - count: How many fail then; nil for all until ``heal()``.
  ///   - end: What a path has to end with.
  func fail(
    _ calls: Calls, with error: Int32, after skip: Int = 0, count: Int? = nil,
    ofPath end: String = ""
  ) {
    heal()
    let path = UnsafeMutableRawPointer(slots + Self.slotCount)
    memset(path, 0, Self.pathBytes)
    _ = end.withCString { memcpy(path, $0, min(strlen($0), Self.pathBytes - 1)) }
    self[.calls] = calls.rawValue
    self[.error] = Int64(error)
    self[.skip] = Int64(skip)
    self[.count] = Int64(count ?? 0)
    self[.matched] = 0
    self[.injected] = 0
    self[.isOn] = 1
  }

  /// Lets nothing fail any more.
  func heal() { self[.isOn] = 0 }

  /// How many calls would have been let fail since ``fail(_:with:after:count:ofPath:)``, ones that
  /// were let pass included.
  var matchedCount: Int { Int(self[.matched]) }

  /// How many calls failed.
  var injectedCount: Int { Int(self[.injected]) }

  /// Says how many bytes are free on the disk; nil for the truth.
  func pretend(freeBytes: Int?) { self[.free] = freeBytes.map { Int64($0) + 1 } ?? 0 }

  /// Stops the relay at the next call that changes the disk, for good.
  func freeze() {
    self[.frozen] = 0
    self[.freeze] = 1
  }

  /// Whether it has stopped.
  var isFrozen: Bool { self[.frozen] != 0 }

  /// Lets the next process run.
  func thaw() { self[.freeze] = 0 }
}
