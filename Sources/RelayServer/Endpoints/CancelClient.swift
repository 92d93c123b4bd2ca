import HTTPServer
import JSON
import RelayCore

/// `DELETE /v1/clients/{client}/envelopes`: forget all that waits.
///
/// The line is walked twice: forwards, to note which pages hold anything of the client's, and then
/// those pages backwards. So what stands behind a head is cancelled before the head is, no envelope
/// moves up meanwhile and is sent after all, and a long line costs no memory.
struct CancelClient {
  private let context: EndpointContext

  /// How many places of the line are looked at in a step.
  private static let pageCountMax = 1000
  /// How often what is on its way to the disk is asked for again.
  private static let looksMax = 100
  /// The pause between two of those, in milliseconds.
  private static let pauseMs: Int64 = 10

  init(_ context: EndpointContext) { self.context = context }

  func respond(_ captures: PathCaptures) async -> HTTPResponse {
    do throws(Problem) {
      guard !context.relay.isDraining else { throw .draining() }
      let client = try await client(named: captures.decoded("client") ?? "")
      let count = try await cancelAll(of: client)
      var json = JSONWriter()
      json.object { $0.member("cancelled", count) }
      return .json(json.finish())
    } catch {
      return error.response
    }
  }

  private func client(named name: String) async throws(Problem) -> ClientNumber {
    guard NameSyntax.isName(Array(name.utf8)[...]) else { throw .unknownClient(name) }
    let number: ClientNumber?
    do throws(StoreError) {
      number = try await context.clientNumbers.number(of: name, in: context.store)
    } catch {
      throw context.problem(error)
    }
    guard let number else { throw .unknownClient(name) }
    return number
  }

  private func cancelAll(of client: ClientNumber) async throws(Problem) -> Int {
    guard context.relay.dispatcher.waiting(of: client) > 0 else { return 0 }
    var starts: [Serial] = []
    var end: Serial = 0
    while true {
      let page = try await page(after: end)
      if page.entries.contains(where: { $0.client == client }) { starts.append(end) }
      end = page.scannedThrough
      if !page.hasMore { break }
    }
    var count = 0
    for start in starts.reversed() {
      let entries = try await page(after: start).entries
      count += try await cancel(entries.filter { $0.client == client && $0.serial <= end })
    }
    return count
  }

  private func cancel(_ entries: [LineEntry]) async throws(Problem) -> Int {
    var count = 0
    var left = entries
    for _ in 0..<Self.looksMax where !left.isEmpty {
      let cancellation = await context.relay.dispatcher.cancel(
        left, reason: SteerEnvelope.cancelledReason)
      count += cancellation.count
      if cancellation.isDelayed { throw .delayed() }
      left = cancellation.busy
      if !left.isEmpty { await context.relay.pause(milliseconds: Self.pauseMs) }
    }
    return count
  }

  private func page(after serial: Serial) async throws(Problem) -> LinePage {
    do throws(StoreError) {
      return try await context.store.line(after: serial, countMax: Self.pageCountMax)
    } catch {
      throw context.problem(error)
    }
  }
}
