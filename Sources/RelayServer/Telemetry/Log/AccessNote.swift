import HTTPServer
import RelayCore
import Synchronization

/// What the access log says of a request besides what stands in it: whose it is, and which
/// envelopes it brought.
final class AccessNote: ExchangeNote {
  /// How many envelopes are named; a larger batch is only counted.
  static let idsMax = 24

  /// What is known so far.
  struct Content: Sendable {
    /// The client that makes the request; nil where it is none, or that is not known.
    var client: String?
    /// What the caller's credential is called: no secret; nil without one.
    var credential: String?
    /// The first of the envelopes that were accepted, or had been accepted before.
    var ids: [EnvelopeID] = []
    /// How many there are in all.
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

  /// The request has brought an envelope; nil for one that is not kept any more.
  func note(_ id: EnvelopeID?) {
    guard let id else { return }
    state.withLock { content in
      content.idCount += 1
      if content.ids.count < Self.idsMax { content.ids.append(id) }
    }
  }
}
