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

  /// The client that the messages are envelopes of.
  static let client = "waystation"
  /// Their lane.
  static let lane = "needs"

  init(_ relay: RelayParts) { self.relay = relay }

  /// Hands over what is new.
  ///
  /// Called by one at a time. What cannot be stored now is tried with the next look.
  func tell(_ needs: [Need]) async {
    let configuration = relay.inForce.withLock { $0.settings.configuration.notify }
    guard let name = configuration.upstream, !relay.isDraining,
      let upstream = EndpointContext(relay).rules.upstream(named: name),
      let message = news.withLock({ $0.message(needs, to: name) })
    else { return }
    let start = relay.deadlineStart()
    var headers = HeaderBlock()
    headers.append(name: "Content-Type", value: "application/json")
    let content = EnvelopeContent(
      method: "POST", target: Array(configuration.path.utf8), headers: headers,
      body: .inline(json(message)))
    let draft = EnvelopeDraft(
      client: Self.client, lane: Self.lane, upstream: name, content: content,
      expiresAt: start.deadline(afterMs: upstream.deadlineMs))
    do throws(StoreError) {
      let results = try await relay.store.append([draft], isAtomic: true)
      guard case .accepted = results.first else {
        return tellRefused("the store has no room for it")
      }
      news.withLock { $0.handedOver(message) }
    } catch {
      tellRefused(error.description)
    }
  }

  private func tellRefused(_ reason: String) {
    relay.log.warning(
      "a message of what needs somebody could not be stored", ("reason", .text(reason)))
  }

  private func json(_ message: NeedNews.Message) -> [UInt8] {
    var json = JSONWriter()
    json.object { json in
      json.member("type", message.isFirst ? "started" : "changed")
      json.member("at", relay.now().wall)
      json.member("text", message.sentence)
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
