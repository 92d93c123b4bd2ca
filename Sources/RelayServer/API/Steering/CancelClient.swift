import HTTPServer
import JSON
import RelayCore

/// `DELETE /v1/clients/{client}/envelopes`: forget all that waits, as one durable act.
struct CancelClient {
  private let context: EndpointContext

  /// The number of times that envelopes on their way to the disk are asked for again.
  private static let looksMax = 100
  /// The pause between two of those, in milliseconds.
  private static let pauseMs: Int64 = 10

  init(_ context: EndpointContext) { self.context = context }

  func respond(_ captures: PathCaptures) async throws(Problem) -> HTTPResponse {
    guard !context.relay.isDraining else { throw .draining() }
    let client = try await client(named: captures.decoded("client") ?? "")
    let count = try await cancelAll(of: client)
    context.act?.say("\(count) cancelled")
    var json = JSONWriter()
    json.object { $0.member("cancelled", count) }
    return .json(json.finish())
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
  private func cancelAll(of client: ClientNumber) async throws(Problem) -> Int {
    var count = 0
    var through: Serial?
    for _ in 0..<Self.looksMax {
      let report = try await cancel(client, through: through)
      count += report.count
      guard report.changingCount > 0 else { break }
      through = report.scannedThrough
      await context.relay.pause(milliseconds: Self.pauseMs)
    }
    return count
  }

  private func cancel(
    _ client: ClientNumber, through serial: Serial?
  ) async throws(Problem) -> ClearingReport {
    do throws(StoreError) {
      return try await context.store.cancelAll(
        of: client, through: serial, reason: SteerEnvelope.cancelledReason)
    } catch {
      // What is asked for is to make room, not to take any.
      let problem = context.problem(error)
      throw problem.kind == .diskFull ? .storeUnavailable() : problem
    }
  }
}
