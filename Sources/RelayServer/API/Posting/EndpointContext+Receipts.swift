import HTTPServer
import RelayCore

extension EndpointContext {
  /// The latest receipts of some lanes; none if the relay makes none.
  func receipts(of lanes: some Sequence<LaneName>) async -> [ReceiptView] {
    guard let keys = relay.receiptKeys else { return [] }
    return await relay.receipts.receipts(of: lanes, by: keys)
  }
}

extension Acceptance {
  /// Adds the receipt of its lane, if it is wanted and speaks for it.
  mutating func addReceipt(as preferences: Preferences, _ context: EndpointContext) async {
    guard preferences.wantsReceipt, let sequence else { return }
    let lane = LaneName(client: client, lane: lane)
    let latest = await context.receipts(of: CollectionOfOne(lane)).first
    receipt = latest.flatMap { $0.covers(sequence) ? $0 : nil }
  }
}

extension CheckInView {
  /// Adds the receipts of its lanes, if they are wanted.
  ///
  /// - Parameter known: Those that are there already.
  mutating func addReceipts(
    as preferences: Preferences, _ context: EndpointContext, known: [ReceiptView] = []
  ) async {
    guard preferences.wantsReceipt else { return }
    let taken = Set(known.map(\.lane))
    let others = lanes.map { [client] in LaneName(client: client, lane: $0.name) }
      .filter { !taken.contains($0) }
    let more = known.count < ReceiptDesk.receiptsMax ? await context.receipts(of: others) : []
    receipts = Array((known + more).prefix(ReceiptDesk.receiptsMax))
  }

  /// Says that the preference was met, if it was.
  func noteApplied(in response: inout HTTPResponse) {
    if receipts?.isEmpty == false { response.headers.add("Preference-Applied", "receipt") }
  }
}
