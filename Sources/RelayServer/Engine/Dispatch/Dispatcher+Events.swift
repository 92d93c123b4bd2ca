import EventLoop
import RelayCore
import Synchronization

/// The latest change of each upstream's reachability that has not been logged yet.
///
/// A full disk keeps it from being logged; what holds then is logged later, and what has been
/// overtaken is not.
final class ReachabilityNotes: Sendable {
  private struct Note {
    var number: UInt64
    var entry: EventEntry
  }

  private let notes = Mutex<[UpstreamNumber: Note]>([:])

  /// Puts a note in place of an earlier one.
  ///
  /// - Returns: Whether there was none, so that nobody sees to it yet.
  fileprivate func put(_ entry: EventEntry, of upstream: UpstreamNumber) -> Bool {
    notes.withLock { notes in
      let earlier = notes[upstream]
      notes[upstream] = Note(number: (earlier?.number ?? 0) + 1, entry: entry)
      return earlier == nil
    }
  }

  fileprivate func note(of upstream: UpstreamNumber) -> (number: UInt64, entry: EventEntry)? {
    notes.withLock { notes in notes[upstream].map { ($0.number, $0.entry) } }
  }

  /// Takes a note away that has been logged.
  ///
  /// - Returns: false if there is another one by now, which is left.
  fileprivate func remove(_ number: UInt64, of upstream: UpstreamNumber) -> Bool {
    notes.withLock { notes in
      guard notes[upstream]?.number == number else { return false }
      notes[upstream] = nil
      return true
    }
  }
}

// What the dispatcher has to do with events.
extension Dispatcher {
  /// Logs that the relay was started; a disk that is full keeps no relay from starting.
  func noteStart() async {
    do throws(StoreError) {
      try await store.note(EventEntry(.started))
    } catch {
      log.warning("the start could not be logged", ("error", .text(error.description)))
    }
  }

  /// Notes that an upstream cannot be reached, or can be again; under the lock, so that of two
  /// changes the later one stays.
  ///
  /// - Returns: Whether ``writeNote(of:)`` is to be called; else somebody is about it already.
  func noteReachability(of upstream: UpstreamNumber, _ isReachable: Bool, _ reason: String?)
    -> Bool
  {
    let entry = EventEntry(
      isReachable ? .reachable : .unreachable, upstream: upstream, reason: reason)
    return reachabilityNotes.put(entry, of: upstream)
  }

  /// Logs what has been noted of an upstream, however often that has to be tried.
  func writeNote(of upstream: UpstreamNumber) {
    Task(executorPreference: loop) { [self] in
      while let (number, entry) = reachabilityNotes.note(of: upstream) {
        do throws(StoreError) {
          try await store.note(entry)
          if reachabilityNotes.remove(number, of: upstream) { return }
        } catch  where error.kind == .closed {
          return
        } catch {
          let retryAt = clock().monotonic.adding(milliseconds: Self.readRetryDelayMs)
          await loop.sleep(until: retryAt)
        }
      }
    }
  }

  /// The lanes and upstreams of attempts that are under way.
  func flights(
    of serials: [Serial]
  ) -> [Serial: (lane: LaneNumber, upstream: UpstreamNumber)] {
    state.withLock { state in
      var flights: [Serial: (lane: LaneNumber, upstream: UpstreamNumber)] = [:]
      for serial in serials { flights[serial] = state.scheduler.flight(of: serial) }
      return flights
    }
  }
}
