import JSON
import RelayCore

/// The results of a batch's items, in their order (`BatchResult` in `openapi.yaml`).
package struct BatchResults: Sendable, Equatable {
  /// The result of one item.
  package enum Item: Sendable, Equatable {
    /// Stored now.
    case accepted(id: EnvelopeID, state: EnvelopeState)
    /// Stored now, and kept out of line until these numbers have come.
    case parked(id: EnvelopeID, missing: MissingNumbers)
    /// Stored before under the same key or number; nil if it is not kept any more.
    case duplicate(id: EnvelopeID?, state: EnvelopeState?)
    /// Stored in the place of an earlier post that waits.
    case coalesced(id: EnvelopeID, state: EnvelopeState)
    /// A number that counts as come from now on, without an envelope.
    case void
    /// Not stored.
    case rejected(Problem)

    /// The envelope that it came to; nil for none that is kept.
    var id: EnvelopeID? {
      switch self {
      case .accepted(let id, _), .parked(let id, _), .coalesced(let id, _): id
      case .duplicate(let id, _): id
      case .void, .rejected: nil
      }
    }
  }

  /// One result an item.
  package var items: [Item]
  /// The receipts of their lanes, if they were asked for; nil if not.
  package var receipts: [ReceiptView]?

  /// Results in the batch's order.
  package init(_ items: [Item]) { self.items = items }

  /// The number of items that were not stored.
  package var rejectedCount: Int { problems.count }

  /// The object that a batch is answered with.
  package func json() -> [UInt8] {
    var json = JSONWriter(reserving: bytesExpected)
    json.object { json in
      json.name("results")
      write(to: &json)
      if let receipts {
        json.memberArray("receipts") { json in
          for receipt in receipts { receipt.write(to: &json) }
        }
      }
    }
    return json.finish()
  }

  /// The results alone, as a JSON array.
  func array() -> [UInt8] {
    var json = JSONWriter(reserving: bytesExpected)
    write(to: &json)
    return json.finish()
  }

  private var bytesExpected: Int {
    let resultBytes = 112
    return 16 + items.count * resultBytes
  }

  private func write(to json: inout JSONWriter) {
    json.array { json in
      for (index, item) in items.enumerated() { Self.write(item, index, to: &json) }
    }
  }

  /// The problem to answer if no item counts as taken; nil if the results are the answer.
  ///
  /// If only room was missing, the answer says so: the same batch may succeed later.
  ///
  /// - Parameter isStrict: Whether one item that was not taken kept the others out.
  package func problem(isStrict: Bool) -> Problem? {
    let problems = problems
    let isRefused = isStrict ? !problems.isEmpty : problems.count == items.count
    guard isRefused else { return nil }
    let own = problems.filter { $0.kind != .batchRejected }
    if let first = own.first, own.allSatisfy(\.kind.isLackOfRoom) { return first }
    return .batchRejected(
      rejectedCount: own.count, count: items.count, isStrict: isStrict, results: array())
  }

  /// After how many seconds those items may be sent again that were refused for now; nil if none
  /// was.
  package var retryAfterSeconds: Int? { problems.compactMap(\.retryAfterSeconds).max() }

  private var problems: [Problem] {
    items.compactMap { if case .rejected(let problem) = $0 { problem } else { nil } }
  }

  private static func write(_ item: Item, _ index: Int, to json: inout JSONWriter) {
    json.object { json in
      json.member("index", index)
      switch item {
      case .accepted(let id, let state):
        json.member("result", PostResult.accepted.rawValue)
        json.member("id", id.description)
        json.member("state", state.rawValue)
      case .duplicate(let id, let state):
        json.member("result", PostResult.duplicate.rawValue)
        if let id { json.member("id", id.description) }
        if let state { json.member("state", state.rawValue) }
      case .parked(let id, let missing):
        json.member("result", PostResult.accepted.rawValue)
        json.member("id", id.description)
        json.member("state", EnvelopeState.parked.rawValue)
        json.member(missing)
      case .coalesced(let id, let state):
        json.member("result", PostResult.coalesced.rawValue)
        json.member("id", id.description)
        json.member("state", state.rawValue)
      case .void: json.member("result", PostResult.void.rawValue)
      case .rejected(let problem):
        json.member("result", "rejected")
        json.member("problem") { problem.write(to: &$0) }
      }
    }
  }
}
