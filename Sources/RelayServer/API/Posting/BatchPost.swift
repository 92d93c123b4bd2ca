import HTTPServer
import RelayCore

/// Stores the items of a batch, each by itself or all together, whichever call they came with.
struct BatchPost {
  private let context: EndpointContext
  /// What the items were posted by.
  private let head: RequestHead
  /// Whether one bad item keeps the others out.
  let isStrict: Bool
  private let wantsReceipts: Bool

  /// A post by a request.
  init(_ context: EndpointContext, _ head: RequestHead) {
    self.context = context
    self.head = head
    let preferences = Preferences(head.values(of: "Prefer"))
    isStrict = preferences.isStrict
    wantsReceipts = preferences.wantsReceipt
  }

  /// Stores the items.
  ///
  /// - Parameters:
  ///   - items: Where the items stand in `text`.
  ///   - client: The client of those that name none; nil if each has to.
  /// - Throws: What keeps all of them out, such as trouble in the store.
  @inline(never)
  func store(
    _ items: [Range<Int>], of text: [UInt8], assuming client: String? = nil,
    _ claim: inout QuotaClaim
  ) async throws(Problem) -> BatchResults {
    let origin = try PostOrigin(head, at: context.relay.pseudonym)
    var batch = await Batch(
      items, of: text, from: context.caller.client, assuming: client,
      EnvelopeDecoder(context.rules), at: context.relay.arrival(), by: origin, &claim)
    var lanes: [LaneName] = []
    if isStrict, batch.hasProblems {
      batch.leaveOutTheRest()
    } else if !batch.drafts.isEmpty {
      if wantsReceipts {
        lanes = batch.drafts.lazy.filter { $0.sequence != nil && !$0.isVoid }
          .map { LaneName(client: $0.client, lane: $0.lane) }
      }
      var intake = Intake(context)
      batch.settle(try await intake.append(batch.drafts, isAtomic: isStrict))
    }
    var results = BatchResults(batch.results)
    if wantsReceipts { results.receipts = await context.receipts(of: lanes) }
    context.relay.metrics.count(batch: results.items.lazy.map(\.counted))
    if let note = context.accessNote {
      for item in results.items { note.note(item.id) }
    }
    return results
  }

  /// Says which preferences were met.
  func noteApplied(in response: inout HTTPResponse, _ results: BatchResults) {
    if isStrict { response.headers.add("Preference-Applied", "handling=strict") }
    if results.receipts?.isEmpty == false {
      response.headers.add("Preference-Applied", "receipt")
    }
  }
}
