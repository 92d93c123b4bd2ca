import RelayCore
import Synchronization

/// Takes back the messages of what needs somebody that wait for one who is not told any more.
///
/// All messages stand in one lane. One that is refused, or cannot be delivered, would else keep
/// those behind it from whoever is told by now, and who has the whole list from the first of them.
final class FormerNews: Sendable {
  private let relay: RelayParts
  /// For whom nothing is left to be taken back; nil for nobody yet.
  private let settled = Mutex<NeedNews.Receiver?>(nil)

  private static let reason = "another receiver is told of needs by now"
  private static let pageCount = 500
  private static let looksMax = 200_000

  init(_ relay: RelayParts) { self.relay = relay }

  /// Takes them back, unless that was done for the present receiver.
  ///
  /// What is being delivered, or cannot be read now, is left for the next time.
  ///
  /// - Returns: Whether any was taken back, so that the list may be another one by now.
  func takeBack() async -> Bool {
    let notify = relay.inForce.withLock { $0.settings.configuration.notify }
    guard let receiver = notify.receiver, settled.withLock({ $0 }) != receiver else {
      return false
    }
    var hasTaken = false
    do throws(Problem) {
      for id in try await waiting() {
        if try await takeBack(id, unlessFor: receiver) { hasTaken = true }
      }
      settled.withLock { $0 = receiver }
    } catch {
      return hasTaken
    }
    return hasTaken
  }

  private func waiting() async throws(Problem) -> [EnvelopeID] {
    let lane = RefusedNews.lane
    let filter = EnvelopeFilter(
      EnvelopeSelection(
        client: lane.client, lane: lane.lane,
        states: [.queued, .delivering, .blocked, .held, .parked]),
      inFlight: relay.dispatcher.inFlightSerials())
    var found: [EnvelopeID] = []
    var serial: Serial = 0
    while true {
      let page: EnvelopePage
      do throws(StoreError) {
        page = try await relay.store.list(
          filter, after: serial, countMax: Self.pageCount, looksMax: Self.looksMax)
      } catch {
        throw EndpointContext(relay).problem(error)
      }
      found += page.envelopes.map(\.id)
      guard page.hasMore else { return found }
      serial = page.scannedThrough
    }
  }

  private func takeBack(
    _ id: EnvelopeID, unlessFor receiver: NeedNews.Receiver
  ) async throws(Problem) -> Bool {
    let change = EnvelopeChange(EndpointContext(relay))
    let unchanged = try await change.perform(id) { record throws(Problem) in
      let draft = record.draft
      // No sender's envelope has the mark, whatever client and lane it names.
      guard !record.state.isEnd, draft.content.headers.first(RefusedNews.mark) != nil,
        draft.upstream != receiver.upstream || draft.content.target != Array(receiver.path.utf8)
      else { return nil }
      return (.cancel(reason: Self.reason), record.entry)
    }
    return unchanged == nil
  }
}
