import Forwarder
import Glibc
import RelayCore
import Synchronization

// A store that other relays may take: nothing is attempted while one of them could have it.
extension Dispatcher {
  /// Hands attempts back that must not begin, and lets no other one begin until ``leaseHeld()``.
  func suspend(withdrawing serials: [Serial]) {
    apply { state, now in state.scheduler.suspend(now: now) }
    withdraw(serials)
  }

  /// Goes on, where attempts had to stand still.
  package func leaseHeld() {
    guard state.withLock({ $0.scheduler.isSuspended }) else { return }
    log.info("the store can be reached again: attempts go on")
    apply { state, now in state.scheduler.resume(now: now) }
  }

  /// Breaks off what is under way: another relay may be about to attempt the same.
  package func leaseLapsed(_ reason: String?) {
    log.warning(
      "the store cannot be reached: nothing is attempted until it can",
      ("error", .text(reason ?? "")))
    let forwarder = apply { state, now in
      state.scheduler.suspend(now: now)
      return state.forwarder
    }
    forwarder?.cancelAll()
  }

  /// Says why, and ends the process as one that failed, so that whoever watches it starts it again,
  /// as a spare.
  package func leaseLost(_ error: StoreError) {
    log.error(
      "another relay has the store: this one ends", ("error", .text(error.description)))
    _exit(EXIT_FAILURE)
  }
}
