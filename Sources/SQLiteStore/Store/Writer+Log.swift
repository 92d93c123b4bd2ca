import CSQLite
import EventLoop
import RelayCore
import Synchronization

// How the write-ahead log is kept short. Past a size a checkpoint begins on its own thread, and
// what that leaves over, since appends went on meanwhile, is copied here between two transactions:
// the log then starts anew at its beginning. It cannot while a reader holds on to what it says; so
// past some more the writer waits for readers, and past its limit new envelopes are refused.
extension Writer {
  /// The bytes of the log that are not known to have been copied.
  var logBytes: Int64 { max(Int64(logPages.pointee), pagesHeld) * pageBytes }

  /// Begins a checkpoint if one is wanted, or finishes the one that was begun.
  func tendLog(isCheckpointDue: Bool) {
    if isCheckpointDue {
      finishCheckpoint()
      shared.isCheckpointing.store(false, ordering: .releasing)
      return
    }
    // Where there is no room, what the log holds takes some that its end could give back.
    let bytesMax = recovery.lackOfRoom == nil ? shared.room.limits.checkpointBytes : 0
    guard Int64(logPages.pointee) * pageBytes > bytesMax,
      !shared.isCheckpointing.exchange(true, ordering: .acquiringAndReleasing)
    else { return }
    pagesHeld = max(pagesHeld, Int64(logPages.pointee))
    logPages.pointee = 0
    _ = shared.checkpoints.push(())
  }

  /// Copies what the log still holds, and notes whether that could be done.
  ///
  /// A sync that fails leaves the log as it was: SQLite counts nothing as copied then, and copies,
  /// and so writes, all of it again the next time.
  func finishCheckpoint() {
    let waitBytes = shared.room.limits.checkpointBytes * StoreTuning.logShareToWait
    let isLong = logBytes > waitBytes
    var result = connection.checkpoint()
    if isLong, result.error == nil {
      sqlite3_busy_timeout(connection.handle, StoreTuning.logWaitMs)
      result = connection.checkpoint(SQLITE_CHECKPOINT_RESTART)
      sqlite3_busy_timeout(connection.handle, StoreTuning.busyTimeoutMs)
    }
    pagesHeld = result.isComplete ? 0 : max(pagesHeld, Int64(result.pages))
    recovery.noteCheckpoint(result.error, at: MonotonicClock.now())
    if result.error != nil { publish() }
  }
}
