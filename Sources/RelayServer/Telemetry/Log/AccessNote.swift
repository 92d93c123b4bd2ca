import HTTPServer
import RelayCore
import Synchronization

/// Facts for the access log that are not in the request itself: its caller, and the envelopes that
/// it brought.
final class AccessNote: ExchangeNote {
  /// The most envelopes that are named; a larger batch is only counted.
  static let idsMax = 24

  /// The facts so far.
  struct Content: Sendable {
    /// The client that makes the request; nil where it is none, or that is not known.
    var client: String?
    /// The name of the caller's credential, which is no secret; nil without one.
    var credential: String?
    /// The address of who has sent it to the relay that passes it on; nil if it came from there.
    var sender: String?
    /// The first of the envelopes that were accepted, or had been accepted before.
    var ids: [EnvelopeID] = []
    /// The number of them in all.
    var idCount = 0
  }

  private let state = Mutex(Content())

  /// All that is known.
  var content: Content { state.withLock { $0 } }

  /// The request is this client's, or whoever's credential that is.
  func note(client: String?, credential: String?) {
    state.withLock { content in
      content.client = client
      content.credential = credential
    }
  }

  /// Another relay passes the request on for this sender.
  func note(sender: String) { state.withLock { $0.sender = sender } }

  /// The request has brought an envelope; nil for one that is not kept any more.
  func note(_ id: EnvelopeID?) {
    guard let id else { return }
    state.withLock { content in
      content.idCount += 1
      if content.ids.count < Self.idsMax { content.ids.append(id) }
    }
  }
}
