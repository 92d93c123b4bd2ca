import Foundation
import HTTPServer
import RelayServer
import Testing

extension EndToEnd {
  @Suite("Roles", .serialized)
  struct Roles {
    /// Who may use a route.
    struct Row {
      var device = false
      var read = false
      var steer = true
      var anybody = false
    }

    private static let looking = Row(device: true, read: true)
    private static let sending = Row(device: true)
    private static let operators = Row(read: true)
    private static let steering = Row()
    private static let everybody = Row(device: true, read: true, anybody: true)

    /// Written out once more beside `AccessRules`, so that a slip in either shows.
    static let table: [String: Row] = [
      "POST /v1/envelopes": sending,
      "GET /v1/envelopes": looking,
      "POST /v1/envelopes/query": looking,
      "POST /v1/checkin": sending,
      "POST /v1/sync": sending,
      "ANY /v1/relay/{upstream}/{path…}": sending,
      "ANY /v1/relay/{upstream}": sending,
      "HEAD /v1/uploads/{id}": sending,
      "PATCH /v1/uploads/{id}": sending,
      "DELETE /v1/uploads/{id}": sending,
      "GET /v1/uploads": operators,
      "GET /v1/clients/{client}/uploads": looking,
      "GET /v1/envelopes/{id}": looking,
      "GET /v1/envelopes/{id}/response": looking,
      "GET /v1/envelopes/{id}/request": steering,
      "GET /v1/envelopes/{id}/body": steering,
      "POST /v1/envelopes/{id}/run": sending,
      "POST /v1/envelopes/{id}/resolve": sending,
      "POST /v1/envelopes/{id}/requeue": sending,
      "PATCH /v1/envelopes/{id}": sending,
      "DELETE /v1/envelopes/{id}": sending,
      "GET /v1/clients/{client}": looking,
      "GET /v1/clients/{client}/lanes/{lane}/receipt": looking,
      "GET /v1/clients/{client}/lanes/{lane}/ledger": looking,
      "DELETE /v1/clients/{client}/envelopes": sending,
      "POST /v1/clients/{client}/run": sending,
      "GET /v1/clients/{client}/envelopes/{key}": looking,
      "GET /v1/clients/{client}/envelopes/{key}/response": looking,
      "POST /v1/clients/{client}/envelopes/{key}/run": sending,
      "POST /v1/clients/{client}/envelopes/{key}/resolve": sending,
      "POST /v1/clients/{client}/envelopes/{key}/requeue": sending,
      "PATCH /v1/clients/{client}/envelopes/{key}": sending,
      "DELETE /v1/clients/{client}/envelopes/{key}": sending,
      "GET /v1/clients": operators,
      "GET /v1/lanes": operators,
      "GET /v1/audit": operators,
      "GET /v1/history": operators,
      "GET /v1/operations": operators,
      "GET /v1/operations/{id}": operators,
      "POST /v1/operations": steering,
      "DELETE /v1/operations/{id}": steering,
      "POST /v1/store/rescue": steering,
      "GET /v1/upstreams": operators,
      "POST /v1/upstreams/{upstream}/pause": steering,
      "POST /v1/upstreams/{upstream}/resume": steering,
      "POST /v1/upstreams/{upstream}/probe": steering,
      "POST /v1/upstreams/{upstream}/try": steering,
      "POST /v1/clients/{client}/pause": steering,
      "POST /v1/clients/{client}/resume": steering,
      "POST /v1/clients/{client}/lanes/{lane}/pause": steering,
      "POST /v1/clients/{client}/lanes/{lane}/resume": steering,
      "POST /v1/clients/{client}/lanes/{lane}/skip": steering,
      "GET /v1/events": looking,
      "GET /v1/tokens": operators,
      "POST /v1/tokens": steering,
      "DELETE /v1/tokens/{id}": steering,
      "POST /v1/token/renew": Row(device: true, steer: false),
      "GET /v1/status/events": operators,
      "GET /status": operators,
      "GET /status/page/{file}": everybody,
      "GET /metrics": operators,
      "GET /healthz": everybody,
      "GET /readyz": everybody,
      "GET /.well-known/waystation/keys": everybody,
    ]

    @Test("each route answers 401, 403 or neither, by who asks", .timeLimit(.minutes(2)))
    func everyRole() async throws {
      let routes = Set(Route.all.map(EndToEnd.Access.name))
      for route in routes.subtracting(Self.table.keys) {
        Issue.record("add a row for \(route) to the table in this file")
      }
      for row in Set(Self.table.keys).subtracting(routes) {
        Issue.record("the table has a row for \(row), and the relay has no such route")
      }
      let relay = try await Relay.guarded(try TestUpstream())
      let token = try await relay.token(["client": "b"]).text
      for entry in Route.all {
        let row = try #require(Self.table[EndToEnd.Access.name(of: entry)])
        let callers: [(String, String?, Bool)] = [
          ("nobody", nil, row.anybody), ("a device", token, row.device),
          ("a reader", Credentials.read, row.read), ("who steers", Credentials.steer, row.steer),
        ]
        for (who, token, mayAsk) in callers {
          let status = try await ask(entry, of: relay, token)
          let wanted = mayAsk ? 200 : token == nil ? 401 : 403
          let seen = [401, 403].contains(status) ? status : 200
          #expect(seen == wanted, "\(EndToEnd.Access.name(of: entry)) asked by \(who): \(status)")
        }
      }
    }

    /// The status of a call that is good but for what it is about.
    private func ask(
      _ entry: Route, of relay: Relay, _ token: String?
    ) async throws -> Int {
      let target = entry.pattern.replacingOccurrences(of: "{upstream}", with: "default")
        .replacingOccurrences(of: "{path…}", with: "x")
        .replacingOccurrences(of: "{client}", with: "b")
        .replacingOccurrences(of: "{lane}", with: "default")
        .replacingOccurrences(of: "{key}", with: "none")
        .replacingOccurrences(of: "{file}", with: "page.js")
        .replacingOccurrences(of: "{id}", with: "019f0000-0000-7000-8000-000000400000")
      if ["/v1/events", "/v1/status/events"].contains(entry.pattern) {
        let connection = try Connection(port: relay.port)
        let field = token.map { "Authorization: Bearer \($0)\r\n" } ?? ""
        return try await onThread {
          try connection.write(Array("GET \(target) HTTP/1.1\r\nHost: r\r\n\(field)\r\n".utf8))
          let head = String(decoding: try connection.read(through: "\r\n") ?? [], as: UTF8.self)
          connection.close()
          return Int(head.split(separator: " ").dropFirst().first ?? "") ?? 0
        }
      }
      let method = entry.method?.description ?? "PUT"
      // An empty object is no body to calls that take none, and a poor one to the others.
      let body = method == "GET" ? nil : Array("{}".utf8)
      let fields = body == nil ? [:] : ["Content-Type": "application/json"]
      let device = relay.device("b", token: token)
      return try await device.request(method, target, headers: fields, body: body).status
    }

    @Test("a call that needs no credential does not look at one that is not good")
    func needless() async throws {
      let folder = try TemporaryFolder()
      let receipts = ["issuer": "https://relay.example", "keys": folder.path + "/keys"]
      let relay = try await Relay.guarded(try TestUpstream(), more: ["receipts": receipts])
      for entry in Route.all {
        let row = try #require(Self.table[EndToEnd.Access.name(of: entry)])
        guard row.anybody else { continue }
        for token in ["nonsense", "wst_1_2", Credentials.steer + "0"] {
          let status = try await ask(entry, of: relay, token)
          #expect(status == 200, "\(EndToEnd.Access.name(of: entry)) with \(token)")
        }
      }
    }

    @Test("what is refused says how to be let in, and in which way it falls short")
    func challenges() async throws {
      let relay = try await Relay.guarded(try TestUpstream())
      let nobody = try await relay.device().get("/status")
      #expect(nobody.status == 401 && nobody.problem == "unauthenticated")
      #expect(nobody["WWW-Authenticate"] == #"Bearer realm="waystation""#)
      for token in ["nonsense", "wst_1_2", Credentials.steer + "0", "wso_" + Credentials.secret] {
        let wrong = try await relay.device("d", token: token).get("/status")
        #expect(wrong.status == 401 && wrong.problem == "unauthenticated", "\(token)")
        #expect(wrong["WWW-Authenticate"] == #"Bearer realm="waystation", error="invalid_token""#)
        #expect(!wrong.text.contains(token))
      }
      let reader = try await relay.reading.request("POST", "/v1/upstreams/default/pause")
      #expect(reader.status == 403 && reader.problem == "forbidden")
      #expect(
        reader["WWW-Authenticate"] == #"Bearer realm="waystation", error="insufficient_scope""#)
      let twice = try await relay.device().raw(
        Array(
          """
          GET /status HTTP/1.1\r\nHost: r\r\nAuthorization: Bearer \(Credentials.read)\r\n\
          Authorization: Bearer \(Credentials.steer)\r\n\r\n
          """.utf8))
      #expect(twice.status == 400)
    }

    @Test("whether it is alive and ready anybody may ask, and why it is not only operators")
    func health() async throws {
      let relay = try await Relay.guarded(try TestUpstream())
      #expect(try await relay.device().get("/healthz").status == 200)
      let ready = try await relay.device().get("/readyz")
      #expect(ready.status == 200 && ready.text == #"{"status":"ready"}"#)
    }

    @Test("where no credential is configured anybody may do all but see to tokens")
    func open() async throws {
      let relay = try await Relay.started(try TestUpstream())
      #expect(try await relay.device().get("/status").status == 200)
      for (method, target) in [
        ("GET", "/v1/tokens"), ("DELETE", "/v1/tokens/0123456789abcdef"),
        ("POST", "/v1/token/renew"),
      ] {
        let answer = try await relay.device().request(method, target)
        #expect(answer.status == 401, "\(answer)")
      }
      // A token is looked at wherever one is shown.
      #expect(try await relay.device("d", token: Credentials.steer).get("/status").status == 401)
    }

    @Test(
      "a relay that anybody could reach and use does not start, unless that is said to be meant")
    func listening() async throws {
      let folder = try TemporaryFolder()
      let arguments = [
        "serve", "--listen", "0.0.0.0:0", "--upstream", "a=http://127.0.0.1:9", "--data",
        folder.path + "/data",
      ]
      let refused = try ChildProcess(Waystation.path, arguments)
      #expect(try await refused.ending() == .exit(1))
      for word in ["0.0.0.0", "access.operators", "--allow-anonymous", "WAYSTATION_ANONYMOUS"] {
        #expect(refused.errors.contains(word), "\(refused.errors)")
      }
      #expect(!FileManager.default.fileExists(atPath: folder.path + "/data"))
      let digest = AccessToken.configuredDigest(of: Credentials.steer) ?? ""
      let meant: [([String], [String: String])] = [
        (["--allow-anonymous"], [:]), ([], ["WAYSTATION_ANONYMOUS": "allow"]),
        ([], ["WAYSTATION_OPERATORS": "ops=steer:\(digest)"]),
      ]
      for (flags, variables) in meant {
        let started = try ChildProcess(
          Waystation.path, arguments + flags, environment: variables)
        #expect(try await started.firstLine().hasPrefix("listening on http://0.0.0.0:"))
        started.signal(SIGTERM)
        #expect(try await started.ending() == .exit(0))
      }
    }
  }
}
