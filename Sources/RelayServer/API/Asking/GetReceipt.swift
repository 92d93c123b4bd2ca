import HTTPServer
import JSON
import RelayCore

/// `GET /v1/clients/{client}/lanes/{lane}/receipt`: the latest receipt of a lane.
struct GetReceipt {
  private let context: EndpointContext

  init(_ context: EndpointContext) { self.context = context }

  func respond(_ captures: PathCaptures) async throws(Problem) -> HTTPResponse {
    let client = captures.decoded("client") ?? ""
    guard context.caller.mayKnow(of: client) else { throw .unknownClient(client) }
    guard let keys = context.relay.receiptKeys else { throw .noReceiptKeys() }
    let lane = LaneName(client: client, lane: captures.decoded("lane") ?? "")
    let receipt: ReceiptView?
    do throws(StoreError) {
      receipt = try await context.relay.receipts.receipt(of: lane, by: keys)
    } catch {
      throw context.problem(error)
    }
    guard let receipt else { throw .noReceipt(lane) }
    var json = JSONWriter()
    receipt.write(to: &json)
    return .freshJSON(json.finish())
  }
}
