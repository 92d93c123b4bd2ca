import RelayCore
import Synchronization

/// Has surveys of all lanes made, piece by piece, for whoever asks how dispatching stands.
///
/// Between two pieces everybody else has a turn: at the scheduler, and on the event loop. Where
/// there are so many lanes that it takes several pieces, one survey at a time is under way, which
/// all get who ask meanwhile; and no more than a twentieth of the time is spent on them.
package final class LaneSurveyor: Sendable {
  private struct State {
    /// The last survey that took several pieces, and until when it is given out.
    var last: (survey: LaneSurvey, validUntil: MonotonicTime)?
    var isUnderWay = false
    var waiting: [UnsafeContinuation<LaneSurvey, Never>] = []
  }

  /// The time for which a survey's result is used again, as a multiple of the time that it took.
  static let restFactor: Int64 = 20

  private let state = Mutex(State())
  private let clock: @Sendable () -> MonotonicTime

  /// One that has surveyed nothing yet.
  package init(clock: @escaping @Sendable () -> MonotonicTime) { self.clock = clock }

  /// A survey that is over: one of now, or the last one if there are many lanes.
  ///
  /// - Parameter look: Goes on with it by one piece.
  package func survey(_ look: (inout LaneSurvey) -> Void) async -> LaneSurvey {
    let begin = clock()
    if let last = state.withLock({ $0.last }), begin < last.validUntil { return last.survey }
    var survey = LaneSurvey(backlogsMax: DispatcherSnapshot.shownMax)
    // The lanes and the clients of most relays.
    look(&survey)
    if !survey.isOver { look(&survey) }
    if survey.isOver { return survey }
    if let other = await otherSurvey() { return other }
    var tookNs = clock().nanoseconds - begin.nanoseconds
    while !survey.isOver {
      await Task.yield()
      let begin = clock()
      look(&survey)
      tookNs += clock().nanoseconds - begin.nanoseconds
    }
    finish(survey, tookNs)
    return survey
  }

  /// The survey that is under way, once it is over; nil if there is none, and the caller is to make
  /// one.
  private func otherSurvey() async -> LaneSurvey? {
    let begins = state.withLock { state in
      defer { state.isUnderWay = true }
      return !state.isUnderWay
    }
    guard !begins else { return nil }
    return await withUnsafeContinuation { continuation in
      let last = state.withLock { state -> LaneSurvey? in
        // It may be over by now.
        guard state.isUnderWay else { return state.last?.survey }
        state.waiting.append(continuation)
        return nil
      }
      if let last { continuation.resume(returning: last) }
    }
  }

  private func finish(_ survey: LaneSurvey, _ tookNs: Int64) {
    let end = clock()
    let waiting = state.withLock { state in
      state.isUnderWay = false
      let rest = tookNs * Self.restFactor
      state.last = (survey, MonotonicTime(nanoseconds: end.nanoseconds + rest))
      defer { state.waiting = [] }
      return state.waiting
    }
    for continuation in waiting { continuation.resume(returning: survey) }
  }
}
