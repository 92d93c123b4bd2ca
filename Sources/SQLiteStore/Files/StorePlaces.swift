import EventLoop
import RelayCore
import SQLite
import Synchronization

/// The places of the store's open files, so that it is noticed if something else stands there.
///
/// A file that is deleted, replaced, renamed or mounted over can still be written by the process
/// that has it open, and nothing fails: only the next start finds something else, or nothing. A
/// file whose content is overwritten keeps its place, which is not noticed.
final class StorePlaces: Sendable {
  /// A file, and what stood at its path when it was opened.
  private struct OpenFile: Sendable {
    let path: String
    let place: FilePlace
  }

  private struct State: Sendable {
    /// The files that are checked with each group of commits, and then the others.
    var files: [OpenFile] = []
    var lookedAt = MonotonicTime(nanoseconds: 0)
  }

  /// The time between two checks of the files on which no acknowledgement rests directly.
  private static let lookPauseMs: Int64 = 1000
  /// The number of files that hold the envelopes: the database and its log.
  private static let essentialCount = 2

  private let state = Mutex(State())

  /// Notes where all files are; called once all of them are open.
  func note(database: String, lock: String, bodies: String) throws(StoreError) {
    var files: [OpenFile] = []
    for path in [database, database + "-wal", database + "-shm", lock, bodies] {
      do throws(SystemError) {
        files.append(OpenFile(path: path, place: try FilePlace(path: path)))
      } catch {
        throw StoreError(errno: error.code, operation: "look at", subject: path)
      }
    }
    state.withLock { $0.files = files }
  }

  /// An error if a file is no longer in its place; nil if all are, or nothing was noted yet.
  func displacement() -> StoreError? {
    Self.displacement(of: state.withLock { $0.files }[...])
  }

  /// The same check before something is acknowledged: the database and its log are checked each
  /// time, the others once a second.
  func displacement(at now: MonotonicTime) -> StoreError? {
    let files = state.withLock { state in
      guard now.milliseconds(since: state.lookedAt) < Self.lookPauseMs else {
        state.lookedAt = now
        return state.files[...]
      }
      return state.files.prefix(Self.essentialCount)
    }
    return Self.displacement(of: files)
  }

  private static func displacement(of files: ArraySlice<OpenFile>) -> StoreError? {
    for file in files {
      do throws(SystemError) {
        guard try FilePlace(path: file.path) == file.place else {
          return displaced(
            file.path, "another file is there than the one that the relay has open")
        }
      } catch {
        return displaced(
          file.path, "the file that the relay has open is gone from there (\(error.reason))")
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
