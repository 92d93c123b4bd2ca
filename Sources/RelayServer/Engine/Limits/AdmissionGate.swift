import EventLoop
import RelayCore
import Synchronization

/// Lets posts in as long as what waits for the store, or for an event loop, is answered in time.
package final class AdmissionGate: Sendable {
  private struct State {
    var control: AdmissionControl
    /// The number of posts that were refused since the start, by the reason.
    var refusals: [AdmissionControl.Refusal: UInt64] = [:]
  }

  private let state: Mutex<State>
  private let log: Log
  private let meter: RateMeter

  /// A gate that holds to a delay.
  package init(delayMsMax: Int, log: Log, meter: RateMeter) {
    state = Mutex(
      State(control: AdmissionControl(AdmissionLimits(delayMsMax: Int64(delayMsMax)))))
    self.log = log
    self.meter = meter
  }

  /// Holds to another delay from now on.
  package func setLimit(delayMs delayMsMax: Int) {
    state.withLock { $0.control.setLimits(AdmissionLimits(delayMsMax: Int64(delayMsMax))) }
  }

  /// Why a post may not come in just now; nil if it may.
  ///
  /// Asked before anything was read of it but its head. A refusal is counted, and logged.
  package func refusal() -> AdmissionControl.Refusal? {
    let now = MonotonicClock.now()
    let found = state.withLock { state -> (refusal: AdmissionControl.Refusal, oldestMs: Int64)? in
      guard let refusal = state.control.refusal(at: now) else { return nil }
      state.refusals[refusal, default: 0] &+= 1
      return (refusal, state.control.oldestWaitMs(at: now))
    }
    guard let found else { return nil }
    meter.count(.shed, at: now)
    log.repeating(
      .warning, "overloaded: posts are refused", about: found.refusal.label,
      RepeatPace(firstMs: 10_000, longestMs: 60_000), ("reason", .text("\(found.refusal)")),
      ("oldestWaitMs", .integer(found.oldestMs)))
    return found.refusal
  }

  /// The number of posts that were refused since the start, by the reason.
  package var refusals: [AdmissionControl.Refusal: UInt64] { state.withLock { $0.refusals } }

  /// A post begins to wait for the store.
  package func begin() -> AdmissionControl.Ticket {
    let now = MonotonicClock.now()
    return state.withLock { $0.control.begin(at: now) }
  }

  /// A post waits no longer.
  package func end(_ ticket: AdmissionControl.Ticket) {
    let now = MonotonicClock.now()
    state.withLock { $0.control.end(ticket, at: now) }
  }

  /// A request has waited so long at an event loop until it was read.
  package func noteReadDelay(_ delayMs: Int64) {
    let now = MonotonicClock.now()
    state.withLock { $0.control.noteReadDelay(delayMs, at: now) }
  }
}

extension AdmissionControl.Refusal {
  /// The name in metrics.
  var label: String {
    switch self {
    case .tooMany: "too_many"
    case .slowStore: "slow_store"
    case .slowLoops: "slow_loops"
    }
  }
}
