import HTTPServer
import RelayServer
import Testing

extension EndToEnd {
  @Suite("Parameters")
  struct Parameters {
    /// What becomes of a parameter that a call does not know.
    ///
    /// Written out once more beside the routes' records, so that a slip in either shows.
    private enum Fate { case refused, passedOver }

    /// The calls that show something, each with a target.
    private static let table: [String: (fate: Fate, target: String)] = [
      "/v1/envelopes": (.refused, "/v1/envelopes"),
      "/v1/envelopes/{id}": (.passedOver, "/v1/envelopes/ID"),
      "/v1/envelopes/{id}/response": (.passedOver, "/v1/envelopes/ID/response"),
      "/v1/envelopes/{id}/request": (.passedOver, "/v1/envelopes/ID/request"),
      "/v1/envelopes/{id}/body": (.passedOver, "/v1/envelopes/ID/body"),
      "/v1/clients": (.refused, "/v1/clients"),
      "/v1/clients/{client}": (.passedOver, "/v1/clients/device-1"),
      "/v1/clients/{client}/lanes/{lane}/receipt": (
        .passedOver, "/v1/clients/device-1/lanes/default/receipt"
      ),
      "/v1/clients/{client}/lanes/{lane}/ledger": (
        .refused, "/v1/clients/device-1/lanes/default/ledger"
      ),
      "/v1/clients/{client}/envelopes/{key}": (.passedOver, "/v1/clients/device-1/envelopes/k"),
      "/v1/clients/{client}/envelopes/{key}/response": (
        .passedOver, "/v1/clients/device-1/envelopes/k/response"
      ),
      "/v1/clients/{client}/uploads": (.refused, "/v1/clients/device-1/uploads"),
      "/v1/uploads": (.refused, "/v1/uploads"),
      "/v1/lanes": (.refused, "/v1/lanes"),
      "/v1/upstreams": (.passedOver, "/v1/upstreams"),
      "/v1/events": (.refused, "/v1/events"),
      "/v1/status/events": (.refused, "/v1/status/events"),
      "/v1/tokens": (.refused, "/v1/tokens"),
      "/v1/operations": (.refused, "/v1/operations"),
      "/v1/operations/{id}": (.passedOver, "/v1/operations/7"),
      "/v1/history": (.refused, "/v1/history"),
      "/v1/audit": (.refused, "/v1/audit"),
      "/status": (.passedOver, "/status"),
      "/status/page/{file}": (.passedOver, "/status/page/page.css"),
      "/metrics": (.passedOver, "/metrics"),
      "/healthz": (.passedOver, "/healthz"),
      "/readyz": (.passedOver, "/readyz"),
      "/.well-known/waystation/keys": (.passedOver, "/.well-known/waystation/keys"),
    ]

    @Test("what a call does not know is refused by name, or passed over, as it always was")
    func unknown() async throws {
      let relay = try await Relay.guarded(try TestUpstream())
      let device = relay.steering
      let routes = Route.all.filter { $0.method == .get }.map(\.pattern)
      for route in Set(routes).symmetricDifference(Self.table.keys).sorted() {
        Issue.record("add a row for \(route) to the table in this file, or take it out")
      }
      for (route, (fate, target)) in Self.table {
        let answer = try await device.get(target + "?nonsense=1")
        switch fate {
        case .refused:
          #expect(answer.status == 422 && answer.problem == "unknown-field", "\(route)")
        case .passedOver:
          let plain = try await device.get(target)
          #expect(answer.status == plain.status, "\(route)")
        }
      }
    }
  }
}
