import JSON
import RelayCore

/// A listing as JSON, made piece by piece: what is in memory is what goes out next, however long
/// the list, and however slowly its reader takes it.
struct ListingPieces: Sendable {
  /// The approximate size of a piece, in bytes.
  static let bytesPerPiece = 65_536
  /// The number of rows of the first piece; a row's path alone may take 8 KiB.
  private static let firstRows = 16
  /// The most stored envelopes that one piece looks at.
  ///
  /// A page that is not full by then continues in the next call.
  private static let looksMax = 10_000_000

  private let context: EndpointContext
  private let parameters: ListParameters
  private var filter: EnvelopeFilter
  /// Everything up to this number has been looked at.
  private var place: Serial
  /// The number of envelopes that are still wanted.
  private var left: Int
  private var rowsPerPiece = Self.firstRows
  private var hasBegun = false
  private var isOver = false

  /// A listing of which nothing has been read.
  init(_ parameters: ListParameters, in context: EndpointContext) {
    self.context = context
    self.parameters = parameters
    filter = parameters.filter
    place = parameters.start
    left = parameters.limit
  }

  /// The next piece of the text; nil behind the last one.
  mutating func next() async throws(StoreError) -> [UInt8]? {
    guard !isOver else { return nil }
    let turns = context.relay.listingTurns
    try await turns.begin()
    defer { turns.end() }
    do throws(StoreError) {
      return try await piece()
    } catch {
      // A database that stands still has taken this one seconds, and would take each.
      if context.relay.embedded == nil, error.kind == .inputOutput { turns.refuse(error) }
      throw error
    }
  }

  private mutating func piece() async throws(StoreError) -> [UInt8] {
    // What is being delivered now is shown so, as the filter has it.
    if !hasBegun { filter.inFlight = context.relay.dispatcher.inFlightSerials() }
    let countMax = min(left, rowsPerPiece)
    let page = try await context.list(
      filter, after: place, countMax: countMax, looksMax: Self.looksMax)
    place = page.scannedThrough
    left -= page.envelopes.count
    // One that is not full has come to the end of its time, as the whole page has then.
    isOver = !page.hasMore || left == 0 || page.envelopes.count < countMax
    var text = text(page.envelopes, await context.hindrances(of: page.envelopes))
    rowsPerPiece = max(1, Self.bytesPerPiece * countMax / max(1, text.count))
    if isOver { text += end(hasMore: page.hasMore) }
    return text
  }

  /// Some rows, with what stands before them.
  private mutating func text(
    _ envelopes: [EnvelopeSummary], _ hindrances: [Serial: EnvelopeView.Hindrance]
  ) -> [UInt8] {
    let now = context.relay.now().wall
    let dispatcher = context.relay.dispatcher
    var json = JSONWriter(appendingTo: hasBegun ? [] : Array(#"{"envelopes":"#.utf8))
    json.array { json in
      for envelope in envelopes {
        let serial = envelope.fate.serial
        var view = EnvelopeView(
          envelope, isInFlight: filter.inFlight.contains(serial),
          position: dispatcher.placement(of: serial, in: envelope.lane).position, now: now)
        view.hindrance = hindrances[serial]
        view.write(to: &json)
      }
    }
    var text = json.finish()
    text.removeLast()
    if hasBegun { text[0] = UInt8(ascii: ",") }
    if hasBegun, envelopes.isEmpty { text = [] }
    hasBegun = true
    return text
  }

  /// The text behind the rows.
  private func end(hasMore: Bool) -> [UInt8] {
    guard hasMore else { return Array("]}".utf8) }
    var json = JSONWriter(appendingTo: Array(#"],"next":"#.utf8))
    json.string(parameters.cursor(behind: place).text)
    return json.finish() + Array("}".utf8)
  }
}
