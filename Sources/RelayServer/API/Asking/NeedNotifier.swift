import JSON
import RelayCore
import Synchronization

/// Tells an upstream of each change of what needs somebody, as `notify` says.
///
/// Each message is an envelope of the relay's own: durable, in order, tried again, and signed as
/// others for that upstream are.
final class NeedNotifier: Sendable {
  private let relay: RelayParts
  private let news = Mutex(NeedNews())

  init(_ relay: RelayParts) { self.relay = relay }

  /// Hands over what is new.
  ///
  /// Called by one at a time. What cannot be stored now is tried with the next look.
  func tell(_ needs: [Need]) async {
    guard !relay.isDraining else { return }
    let receiver = relay.inForce.withLock { $0.settings.configuration.notify.receiver }
    let now = relay.now().monotonic
    guard let message = news.withLock({ $0.message(needs, to: receiver, at: now) }), let receiver,
      let draft = draft(of: message, to: receiver)
    else { return }
    do throws(StoreError) {
      let results = try await relay.store.append([draft], isAtomic: true)
      guard case .accepted = results.first else {
        return tellRefused("the store has no room for it")
      }
      news.withLock { $0.handedOver(message, to: receiver, at: now) }
    } catch {
      tellRefused(error.description)
    }
  }

  /// The envelope of a message, on the terms of a device's; nil if there is no such upstream.
  private func draft(
    of message: NeedNews.Message, to receiver: NeedNews.Receiver
  ) -> EnvelopeDraft? {
    let rules = EndpointContext(relay).rules
    guard let upstream = rules.upstream(named: receiver.upstream) else { return nil }
    let name = RefusedNews.lane
    let start = relay.deadlineStart()
    let deadline = rules.lanes.rules(ofLane: name.lane).deadline(
      start.deadline(afterMs: upstream.deadlineMs), countingFrom: start)
    var headers = HeaderBlock()
    headers.append(name: "Content-Type", value: "application/json")
    headers.append(name: "\(RefusedNews.mark)", value: message.occasion.rawValue)
    var draft = EnvelopeDraft(
      client: name.client, lane: name.lane, upstream: upstream.name,
      content: EnvelopeContent(
        method: "POST", target: Array(receiver.path.utf8), headers: headers,
        body: .inline(json(message))),
      expiresAt: deadline)
    draft.onFailure = upstream.onFailure
    return draft
  }

  private func tellRefused(_ reason: String) {
    relay.log.warning(
      "a message of what needs somebody could not be stored", ("reason", .text(reason)))
  }

  private func json(_ message: NeedNews.Message) -> [UInt8] {
    let name = relay.inForce.withLock { $0.settings.configuration.name }
    var json = JSONWriter()
    json.object { json in
      json.member("type", message.occasion.rawValue)
      if let name { json.member("relay", name) }
      json.member("at", relay.now().wall)
      // A chat shows the sentence alone, and may be told by several relays.
      json.member("text", name.map { "\($0): \(message.sentence)" } ?? message.sentence)
      Self.write("began", message.began, to: &json)
      Self.write("changed", message.changed, to: &json)
      Self.write("ended", message.ended, to: &json)
      Self.write("needs", message.needs, to: &json)
    }
    return json.finish()
  }

  private static func write(_ name: String, _ needs: [Need], to json: inout JSONWriter) {
    json.memberArray(name) { json in
      for need in needs { NeedView(need: need).write(to: &json) }
    }
  }
}
