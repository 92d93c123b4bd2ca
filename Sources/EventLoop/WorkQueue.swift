/// A queue of jobs for one or more threads, first in, first out.
package final class WorkQueue<Job: Sendable>: Sendable {
  private struct State {
    var jobs: [Job] = []
    var taken = 0
    var isClosed = false
  }

  private let monitor = Monitor(State())

  /// An empty queue.
  package init() {}

  /// Adds a job.
  ///
  /// - Returns: false if the queue has been closed; the job will not be done then.
  package func push(_ job: Job) -> Bool {
    monitor.update { state in
      guard !state.isClosed else { return false }
      state.jobs.append(job)
      return true
    }
  }

  /// Waits for the next job; nil once the queue has been closed and all jobs are done.
  package func next() -> Job? {
    let job: Job?? = monitor.wait { state in
      if state.taken < state.jobs.count {
        let job = state.jobs[state.taken]
        state.taken += 1
        if state.taken == state.jobs.count || state.taken > 1024 {
          state.jobs.removeFirst(state.taken)
          state.taken = 0
        }
        return .some(job)
      }
      return state.isClosed ? .some(nil) : nil
    }
    return job ?? nil
  }

  /// Closes the queue; queued jobs are still done.
  package func close() {
    monitor.updateWakingAll { $0.isClosed = true }
  }
}
