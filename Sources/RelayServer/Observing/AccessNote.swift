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
    /// Who makes the request; nil where that is not known.
    var caller: Caller?
    /// The first of the envelopes that were accepted, or had been accepted before.
    var ids: [EnvelopeID] = []
    /// How many there are in all.
    var idCount = 0
  }

  private let state = Mutex(Content())

  /// All that is known.
  var content: Content { state.withLock { $0 } }

  /// The request is this caller's.
  func note(_ caller: Caller) { state.withLock { $0.caller = caller } }

  /// The request has brought an envelope; nil for one that is not kept any more.
  func note(_ id: EnvelopeID?) {
    guard let id else { return }
    state.withLock { content in
      content.idCount += 1
      if content.ids.count < Self.idsMax { content.ids.append(id) }
    }
  }

  /// The same for all of a batch.
  func note(_ batch: BatchResults) {
    for item in batch.items { note(item.id) }
  }
}

extension BatchResults.Item {
  /// The envelope that it came to; nil for none that is kept.
  fileprivate var id: EnvelopeID? {
    switch self {
    case .accepted(let id, _), .parked(let id, _), .coalesced(let id, _): id
    case .duplicate(let id, _): id
    case .rejected: nil
    }
  }
}
