import Glibc
import RelayCore
import Synchronization

/// Where the files that the store has open were found, so that it is noticed once something else
/// stands there.
///
/// A file that is deleted, replaced, renamed or mounted over is still written to by whoever has it
/// open, and nothing fails: only the next start finds something else, or nothing. A file is known
/// again by its device and inode, which no other file gets as long as it is open (inode(7)). A file
/// whose contents are overwritten keeps both, and is not noticed.
final class StorePlaces: Sendable {
  /// A file, and what stood at its path when it was opened.
  private struct Place: Sendable {
    let path: String
    let device: dev_t
    let inode: ino_t
  }

  private struct State: Sendable {
    /// Those that are looked at with each group of commits, and then the others.
    var places: [Place] = []
    var lookedAt = MonotonicTime(nanoseconds: 0)
  }

  /// How long the places are not looked at that nothing acknowledged rests on by itself.
  private static let lookPauseMs: Int64 = 1000
  /// The database and its log: what holds the envelopes.
  private static let essentialCount = 2

  private let state = Mutex(State())

  /// Notes where everything is; called once all of it is open.
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

  /// What is not in its place any more; nil if all is, or nothing was noted yet.
  func displacement() -> StoreError? {
    Self.displacement(of: state.withLock { $0.places }[...])
  }

  /// The same before something is acknowledged: the database and its log are looked at each time,
  /// the others once a second.
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
        return displaced(place.path, "what the relay has open is not there any more (\(reason))")
      }
      guard status.st_ino == place.inode, status.st_dev == place.device else {
        return displaced(place.path, "something else stands there than what the relay has open")
      }
    }
    return nil
  }

  private static func displaced(_ path: String, _ what: String) -> StoreError {
    StoreError(
      kind: .displaced, operation: "rely on", subject: path,
      detail: "\(what). Do not stop the relay: it still holds what it accepted, and goes on "
        + "delivering. Put the very same files back, and it goes on by itself; else `waystation "
        + "store rescue --to /NEW/FOLDER` has it write a new store.")
  }
}
