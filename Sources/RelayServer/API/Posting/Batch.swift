import RelayCore

/// The items of a batch on their way: some refused at once, the others as drafts for the store.
struct Batch {
  /// The drafts that can be handed to the store, in the batch's order.
  private(set) var drafts: [EnvelopeDraft] = []
  /// For each item its problem, or nil for one that is, or was, a draft.
  private var problems: [Problem?] = []
  /// The results of the drafts.
  private var settled: [BatchResults.Item] = []

  /// True if an item was refused.
  var hasProblems: Bool { drafts.count < problems.count }

  /// Reads the items, and takes room for each.
  ///
  /// Items that name no client are those of `client`.
  ///
  /// If an item finds no room, the items behind it in its lane are refused with it: they would be
  /// before it once it comes again. Items with a sequence number are not, since the number tells
  /// their place, unless they come in order.
  init(
    _ items: [Range<Int>], of text: [UInt8], from sender: String?,
    assuming client: String?, _ decoder: EnvelopeDecoder, at arrival: ArrivalTime,
    by origin: PostOrigin, _ claim: inout QuotaClaim
  ) async {
    drafts.reserveCapacity(items.count)
    problems.reserveCapacity(items.count)
    var sentAway: [LaneName: Problem] = [:]
    var lines = BatchItems.LineCount()
    for item in items {
      do throws(Problem) {
        var draft = try decoder.decode(
          text, in: item, from: sender, assuming: client, at: arrival
        ) { lines.line(of: $0, in: text) }
        origin.join(&draft)
        let lane = LaneName(client: draft.client, lane: draft.lane)
        if draft.sequence == nil || draft.isInOrder, let refusal = sentAway[lane] { throw refusal }
        do throws(Problem) {
          try await claim.take(for: draft.client, bytes: draft.content.byteCount)
        } catch {
          sentAway[lane] = error
          throw error
        }
        drafts.append(draft)
        problems.append(nil)
      } catch {
        problems.append(error)
      }
    }
  }

  /// Takes in what the store made of the drafts.
  mutating func settle(_ results: [AppendResult]) {
    settled = zip(results, drafts).map { result, draft in
      do throws(Problem) {
        let acceptance = try Acceptance(result, of: SenderNames(draft))
        guard let id = acceptance.id, let state = acceptance.state else {
          if acceptance.result == .void { return .void }
          return .duplicate(id: acceptance.id, state: acceptance.state)
        }
        switch acceptance.result {
        case .accepted where state == .parked: return .parked(id: id, missing: acceptance.missing)
        case .accepted: return .accepted(id: id, state: state)
        case .duplicate, .void: return .duplicate(id: id, state: state)
        case .coalesced: return .coalesced(id: id, state: state)
        }
      } catch {
        return .rejected(error)
      }
    }
  }

  /// Refuses what nothing is wrong with, since something is with another item.
  mutating func leaveOutTheRest() {
    settled = drafts.map { _ in .rejected(.leftOut()) }
  }

  /// One result an item, in the batch's order.
  var results: [BatchResults.Item] {
    var rest = settled.makeIterator()
    return problems.compactMap { problem in
      if let problem { return .rejected(problem) }
      return rest.next()
    }
  }
}
