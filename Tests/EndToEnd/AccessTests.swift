import Foundation
import HTTPServer
import RelayServer
import Testing

extension EndToEnd {
  /// What another client's token can do with each route: nothing, and it is not even told whether
  /// there is anything.
  @Suite("Who may do what", .serialized, .ofNoStore)
  struct Access {
    /// How a route keeps what is another client's from a client.
    enum Defence {
      /// What is another's is answered as what there is not.
      case unknown([Call])
      /// The answer is 403, whoever is named, and whether or not there is such a one.
      case refused([Call])
      /// There is nothing of any client in it.
      case everybody
    }

    /// A call about something: `ID`, `CLIENT` and `KEY` stand for what is another's, or for what
    /// there is not.
    struct Call {
      var target: String
      var body: String?
      var headers: [String: String] = [:]
    }

    private static func id(_ rest: String = "", _ body: String? = nil) -> Defence {
      .unknown([Call(target: "/v1/envelopes/ID" + rest, body: body)])
    }

    private static func client(_ rest: String, _ body: String? = nil) -> Defence {
      .unknown([Call(target: "/v1/clients/CLIENT" + rest, body: body)])
    }

    private static func key(_ rest: String, _ body: String? = nil) -> Defence {
      .unknown(
        ["CLIENT", "b"].map {
          Call(target: "/v1/clients/\($0)/envelopes/KEY" + rest, body: body)
        })
    }

    private static func steering(_ target: String) -> Defence { .refused([Call(target: target)]) }

    /// One row for each route of the router, by its method and pattern.
    static let table: [String: Defence] = [
      "POST /v1/envelopes": .refused([
        Call(target: "/v1/envelopes", body: #"{"client": "CLIENT", "path": "/"}"#),
        Call(target: "/v1/envelopes", body: #"{"client": "CLIENT", "path": "/", "key": "KEY"}"#),
        Call(
          target: "/v1/envelopes",
          body: #"{"client": "CLIENT", "path": "/", "coalesce": "KEY", "lane": "held"}"#),
      ]),
      "GET /v1/envelopes": .refused([
        Call(target: "/v1/envelopes?client=CLIENT"),
        Call(target: "/v1/envelopes?client=CLIENT&state=held&limit=1"),
      ]),
      "POST /v1/envelopes/query": .unknown([
        Call(target: "/v1/envelopes/query", body: #"{"ids": ["ID"]}"#),
        Call(
          target: "/v1/envelopes/query", body: #"{"ids": ["ID"], "client": "b", "keys": ["KEY"]}"#),
        Call(target: "/v1/envelopes/query", body: #"{"ids": ["ID"], "keys": ["KEY"]}"#),
        Call(target: "/v1/envelopes/query", body: #"{"client": "CLIENT", "keys": ["KEY"]}"#),
      ]),
      "POST /v1/checkin": .refused([
        Call(target: "/v1/checkin", body: #"{"client": "CLIENT"}"#),
        Call(target: "/v1/checkin", body: #"{"client": "CLIENT", "since": "9"}"#),
      ]),
      "POST /v1/sync": .refused([
        Call(
          target: "/v1/sync", body: #"{"client": "CLIENT"}"#,
          headers: ["Content-Type": "application/x-ndjson"])
      ]),
      "ANY /v1/relay/{upstream}/{path…}": .refused([
        Call(target: "/v1/relay/default/x", headers: ["Waystation-Client": "CLIENT"]),
        Call(
          target: "/v1/relay/default/x",
          headers: ["Waystation-Client": "CLIENT", "Idempotency-Key": "KEY", "Prefer": "wait=1"]),
      ]),
      "ANY /v1/relay/{upstream}": .refused([
        Call(target: "/v1/relay/default", headers: ["Waystation-Client": "CLIENT"])
      ]),
      "HEAD /v1/uploads/{id}": .unknown([Call(target: "/v1/uploads/ID")]),
      "PATCH /v1/uploads/{id}": .unknown([
        Call(
          target: "/v1/uploads/ID",
          headers: [
            "Content-Type": "application/partial-upload", "Upload-Offset": "0",
            "Upload-Complete": "?1",
          ])
      ]),
      "DELETE /v1/uploads/{id}": .unknown([Call(target: "/v1/uploads/ID")]),
      "GET /v1/uploads": steering("/v1/uploads"),
      "GET /v1/clients/{client}/uploads": client("/uploads"),
      "GET /v1/envelopes/{id}": .unknown([
        Call(target: "/v1/envelopes/ID"), Call(target: "/v1/envelopes/ID?wait=1"),
      ]),
      "GET /v1/envelopes/{id}/response": id("/response"),
      "GET /v1/envelopes/{id}/request": steering("/v1/envelopes/ID/request"),
      "GET /v1/envelopes/{id}/body": steering("/v1/envelopes/ID/body"),
      "POST /v1/envelopes/{id}/run": id("/run"),
      "POST /v1/envelopes/{id}/resolve": .unknown([
        Call(target: "/v1/envelopes/ID/resolve", body: #"{"action": "retry"}"#),
        Call(target: "/v1/envelopes/ID/resolve", body: #"{"action": "discard"}"#),
      ]),
      "POST /v1/envelopes/{id}/requeue": id("/requeue"),
      "PATCH /v1/envelopes/{id}": id("", #"{"path": "/stolen"}"#),
      "DELETE /v1/envelopes/{id}": id(),
      "GET /v1/clients/{client}": client(""),
      "GET /v1/clients/{client}/lanes/{lane}/receipt": client("/lanes/held/receipt"),
      "GET /v1/clients/{client}/lanes/{lane}/ledger": client("/lanes/held/ledger"),
      "DELETE /v1/clients/{client}/envelopes": .unknown([
        Call(target: "/v1/clients/CLIENT/envelopes"),
        Call(target: "/v1/clients/CLIENT/envelopes?lane=held"),
      ]),
      "POST /v1/clients/{client}/run": .unknown([
        Call(target: "/v1/clients/CLIENT/run", body: "{}"),
        Call(target: "/v1/clients/CLIENT/run", body: #"{"ids": ["ID"]}"#),
        Call(target: "/v1/clients/b/run", body: #"{"ids": ["ID"]}"#),
      ]),
      "GET /v1/clients/{client}/envelopes/{key}": key(""),
      "GET /v1/clients/{client}/envelopes/{key}/response": key("/response"),
      "POST /v1/clients/{client}/envelopes/{key}/run": key("/run"),
      "POST /v1/clients/{client}/envelopes/{key}/resolve": key(
        "/resolve", #"{"action": "discard"}"#),
      "POST /v1/clients/{client}/envelopes/{key}/requeue": key("/requeue"),
      "PATCH /v1/clients/{client}/envelopes/{key}": key("", #"{"path": "/stolen"}"#),
      "DELETE /v1/clients/{client}/envelopes/{key}": key(""),
      "GET /v1/clients": .refused([
        Call(target: "/v1/clients"), Call(target: "/v1/clients?search=CLIENT"),
      ]),
      "GET /v1/lanes": .refused([
        Call(target: "/v1/lanes"), Call(target: "/v1/lanes?client=CLIENT&state=waiting"),
      ]),
      "GET /v1/audit": .refused([
        Call(target: "/v1/audit"), Call(target: "/v1/audit?subject=envelopes/ID"),
      ]),
      "GET /v1/operations": steering("/v1/operations"),
      "GET /v1/operations/{id}": steering("/v1/operations/1"),
      "POST /v1/operations": .refused([
        Call(
          target: "/v1/operations",
          body: #"{"action": "cancel", "filter": {"client": "CLIENT"}}"#),
        Call(
          target: "/v1/operations?dryRun=true",
          body: #"{"action": "cancel", "filter": {"client": "CLIENT"}}"#),
      ]),
      "DELETE /v1/operations/{id}": steering("/v1/operations/1"),
      "POST /v1/store/rescue": .refused([
        Call(target: "/v1/store/rescue", body: #"{"to": "/tmp/rescued"}"#)
      ]),
      "GET /v1/history": .refused([
        Call(target: "/v1/history"), Call(target: "/v1/history?span=day&upstream=default"),
      ]),
      "GET /v1/upstreams": steering("/v1/upstreams"),
      "POST /v1/upstreams/{upstream}/pause": steering("/v1/upstreams/default/pause"),
      "POST /v1/upstreams/{upstream}/resume": steering("/v1/upstreams/default/resume"),
      "POST /v1/upstreams/{upstream}/probe": steering("/v1/upstreams/default/probe"),
      "POST /v1/upstreams/{upstream}/try": steering("/v1/upstreams/default/try"),
      "POST /v1/clients/{client}/pause": steering("/v1/clients/CLIENT/pause"),
      "POST /v1/clients/{client}/resume": steering("/v1/clients/CLIENT/resume"),
      "POST /v1/clients/{client}/lanes/{lane}/pause":
        steering("/v1/clients/CLIENT/lanes/held/pause"),
      "POST /v1/clients/{client}/lanes/{lane}/resume":
        steering("/v1/clients/CLIENT/lanes/held/resume"),
      "POST /v1/clients/{client}/lanes/{lane}/skip":
        steering("/v1/clients/CLIENT/lanes/held/skip"),
      "GET /v1/events": .unknown([
        Call(target: "/v1/events?envelope=ID"), Call(target: "/v1/events?client=CLIENT"),
        Call(target: "/v1/events?client=CLIENT&envelope=ID"),
      ]),
      "GET /v1/tokens": steering("/v1/tokens?client=CLIENT"),
      "POST /v1/tokens": .refused([Call(target: "/v1/tokens", body: #"{"client": "CLIENT"}"#)]),
      "DELETE /v1/tokens/{id}": steering("/v1/tokens/TOKEN"),
      "POST /v1/token/renew": .everybody,
      "GET /v1/status/events": steering("/v1/status/events"),
      "GET /status": steering("/status"),
      "GET /status/page/{file}": .everybody,
      "GET /metrics": steering("/metrics"),
      "GET /healthz": .everybody,
      "GET /readyz": .everybody,
      "GET /.well-known/waystation/keys": .everybody,
    ]

    static func name(of entry: Route) -> String {
      "\(entry.method.map(\.description) ?? "ANY") \(entry.pattern)"
    }

    @Test("every route has its row in the table of what another client's token can do")
    func complete() {
      let routes = Set(Route.all.map(Self.name))
      for route in routes.subtracting(Self.table.keys) {
        Issue.record("add a row for \(route) to the table in this file")
      }
      for row in Set(Self.table.keys).subtracting(routes) {
        Issue.record("the table has a row for \(row), and the relay has no such route")
      }
    }

    @Test(
      "for every route another's token gets the same answer whether or not there is anything",
      .timeLimit(.minutes(2)))
    func everyRoute() async throws {
      let upstream = try TestUpstream { $0.target == "/no" ? .answer(422) : .answer(201) }
      let relay = try await Relay.guarded(upstream)
      let world = try await Stranger(relay)
      let before = try await world.whole()
      var asked = 0
      for entry in Route.all {
        let row = try #require(Self.table[Self.name(of: entry)])
        let calls: [Call]
        switch row {
        case .unknown(let these), .refused(let these): calls = these
        case .everybody: continue
        }
        for call in calls {
          for thing in world.things {
            let method = entry.method?.description ?? "POST"
            let known = try await world.answer(method, call, thing)
            let unknown = try await world.answer(method, call, world.nothing)
            #expect(known == unknown, "\(method) \(call.target) of \(thing)")
            if case .refused = row { #expect(known.hasPrefix("403 "), "\(call.target): \(known)") }
            asked += 1
          }
        }
      }
      #expect(asked > 250)
      // Nothing was changed by any of it.
      #expect(try await world.whole() == before)
      #expect(upstream.received.allSatisfy { $0.target != "/stolen" && $0.target != "/x" })
    }
  }
}
