import HTTPServer
import JSON
import RelayCore

/// `DELETE /v1/clients/{client}/envelopes`: forget what waits, all of it, or what is in one lane or
/// has one tag, as one durable act.
struct CancelClient {
  private let context: EndpointContext

  /// The parameters that select a part.
  static let parameters = ["lane", "tag"]

  /// The number of times that envelopes on their way to the disk are asked for again.
  private static let looksMax = 100
  /// The pause between two of those, in milliseconds.
  private static let pauseMs: Int64 = 10

  init(_ context: EndpointContext) { self.context = context }

  func respond(
    to request: HTTPRequest, _ captures: PathCaptures
  ) async throws(Problem) -> HTTPResponse {
    guard !context.relay.isDraining else { throw .draining() }
    let part = try Self.part(request.head.query)
    let client = try await client(named: captures.decoded("client") ?? "")
    let count = try await cancelAll(
      of: BacklogSelection(client, lane: part.lane, tag: part.tag))
    let words = Self.parameters.compactMap { name in
      SelectionField.named(name)?.text(part).map { " of \(name) \($0)" }
    }
    context.act?.say("\(count) cancelled" + words.joined())
    var json = JSONWriter()
    json.object { $0.member("cancelled", count) }
    return .json(json.finish())
  }

  /// Which of the client's envelopes are meant.
  ///
  /// Whatever cannot be heeded is refused, and never taken for all of them.
  private static func part(
    _ query: ArraySlice<UInt8>?
  ) throws(Problem) -> EnvelopeSelection {
    var part = EnvelopeSelection()
    var seen: Set<String> = []
    for (name, value) in try QueryItems.read(query) {
      guard parameters.contains(name), let field = SelectionField.named(name) else {
        throw .unknownParameter(name, among: parameters)
      }
      guard seen.insert(name).inserted else {
        throw .invalidField(name, "\(name) is given twice.", fix: "Give \(name) once.")
      }
      guard field.takeText(value, &part) else {
        throw .invalidField(name, "\(name) is \(value.quoted); it has to be \(field.rule).")
      }
    }
    return part
  }

  private func client(named name: String) async throws(Problem) -> ClientNumber {
    guard NameSyntax.isName(Array(name.utf8)[...]), context.caller.mayKnow(of: name) else {
      throw .unknownClient(name)
    }
    let number: ClientNumber?
    do throws(StoreError) {
      number = try await context.clientNumbers.number(
        of: name, in: context.store, forgettingCount: context.relay.quotas.forgettingCount)
    } catch {
      throw context.problem(error)
    }
    guard let number else { throw .unknownClient(name) }
    return number
  }

  /// An envelope with a change on its way to the disk, such as an attempt's outcome, is cancelled
  /// again once the change is there.
  private func cancelAll(of selection: BacklogSelection) async throws(Problem) -> Int {
    var count = 0
    var through: Serial?
    for _ in 0..<Self.looksMax {
      let report = try await cancel(selection, through: through)
      count += report.count
      guard report.changingCount > 0 else { break }
      through = report.scannedThrough
      await context.relay.pause(milliseconds: Self.pauseMs)
    }
    return count
  }

  private func cancel(
    _ selection: BacklogSelection, through serial: Serial?
  ) async throws(Problem) -> ClearingReport {
    do throws(StoreError) {
      return try await context.store.cancelAll(
        of: selection, through: serial, reason: SteerEnvelope.cancelledReason)
    } catch {
      // What is asked for is to make room, not to take any.
      let problem = context.problem(error)
      throw problem.kind == .diskFull ? .storeUnavailable() : problem
    }
  }
}
