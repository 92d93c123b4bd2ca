import Glibc
import RelayCore
import Synchronization

/// The places of the store's open files, so that it is noticed if something else stands there.
///
/// A file that is deleted, replaced, renamed or mounted over can still be written by the process
/// that has it open, and nothing fails: only the next start finds something else, or nothing. A
/// file is recognised by its device and inode, which no other file gets as long as it is open
/// (inode(7)). A file whose content is overwritten keeps both, which is not noticed.
final class StorePlaces: Sendable {
  /// A file, and what stood at its path when it was opened.
  private struct Place: Sendable {
    let path: String
    let device: dev_t
    let inode: ino_t
  }

  private struct State: Sendable {
    /// The places that are checked with each group of commits, and then the others.
    var places: [Place] = []
    var lookedAt = MonotonicTime(nanoseconds: 0)
  }

  /// The time between two checks of the places on which no acknowledgement rests directly.
  private static let lookPauseMs: Int64 = 1000
  /// The number of places that hold the envelopes: the database and its log.
  private static let essentialCount = 2

  private let state = Mutex(State())

  /// Notes where all files are; called once all of them are open.
  func note(database: String, lock: String, bodies: String) throws(StoreError) {
    var places: [Place] = []
    for path in [database, database + "-wal", database + "-shm", lock, bodies] {
      var status = stat()
      guard stat(path, &status) == 0 else {
        throw StoreError(errno: errno, operation: "look at", subject: path)
      }
      places.append(Place(path: path, device: status.st_dev, inode: status.st_ino))
    }
    state.withLock { $0.places = places }
  }

  /// An error if a file is no longer in its place; nil if all are, or nothing was noted yet.
  func displacement() -> StoreError? {
    Self.displacement(of: state.withLock { $0.places }[...])
  }

  /// The same check before something is acknowledged: the database and its log are checked each
  /// time, the others once a second.
  func displacement(at now: MonotonicTime) -> StoreError? {
    let places = state.withLock { state in
      guard now.milliseconds(since: state.lookedAt) < Self.lookPauseMs else {
        state.lookedAt = now
        return state.places[...]
      }
      return state.places.prefix(Self.essentialCount)
    }
    return Self.displacement(of: places)
  }

  private static func displacement(of places: ArraySlice<Place>) -> StoreError? {
    for place in places {
      var status = stat()
      guard stat(place.path, &status) == 0 else {
        let reason = strerror(errno).map { String(cString: $0) } ?? "error \(errno)"
        return displaced(
          place.path, "the file that the relay has open is gone from there (\(reason))")
      }
      guard status.st_ino == place.inode, status.st_dev == place.device else {
        return displaced(place.path, "another file is there than the one that the relay has open")
      }
    }
    return nil
  }

  private static func displaced(_ path: String, _ what: String) -> StoreError {
    StoreError(
      kind: .displaced, operation: "rely on", subject: path,
      detail: "\(what). Do not stop the relay: it still holds what it accepted, and goes on "
        + "delivering. If you put the very same files back, it goes on by itself; otherwise "
        + "`waystation store rescue --to /NEW/FOLDER` makes it write a new store.")
  }
}
