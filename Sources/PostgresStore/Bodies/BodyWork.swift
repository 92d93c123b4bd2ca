#if PostgreSQL
import EventLoop

/// What is done on the thread of bodies, which has a connection of its own: writing pieces, and
/// deleting what is left over.
final class BodyWork: Sendable {
  /// Work for the thread.
  let jobs = DatabaseJobs()
  private let isSweeping = Monitor(false)

  /// Deletes bodies that no envelope refers to any more, in steps; others have their turns between.
  ///
  /// What fails is left to the next time.
  func sweep() {
    let isFirst = isSweeping.update { isSweeping in
      defer { isSweeping = true }
      return !isSweeping
    }
    guard isFirst else { return }
    _ = jobs.queue.push { [self] reader in
      isSweeping.update { $0 = false }
      if (try? reader.sweepBodies()) == true { sweep() }
    }
  }
}
#endif
