/// Queries, cursors, event ids, and the bodies of calls that steer.
enum HostileCalls {
  static let rows = queries + events + bodies + patches + unknown

  private static let id = "01890a5d-ac96-774b-bcce-b302099a8057"

  private static let queries: [HostileRow] =
    [
      ("invalid-field", "limit=0"), ("invalid-field", "limit=-1"), ("invalid-field", "limit=201"),
      ("invalid-field", "limit=1e2"), ("invalid-field", "limit=99999999999999999999"),
      ("invalid-field", "limit=%31%30%30%30"), ("invalid-field", "limit="),
      ("invalid-field", "limit=+5"),
      ("invalid-field", "limit=1&limit=2"), ("invalid-field", "state=exploded"),
      ("invalid-field", "state="),
      ("invalid-field", "state=queued,,held"), ("invalid-field", "client="),
      ("invalid-field", "client=%00"),
      ("invalid-field", "client=%ff"), ("invalid-field", "client=a%2"),
      ("invalid-field", "client=%zz"),
      ("invalid-field", "client=a&client=b"), ("invalid-field", "cursor=x"),
      ("invalid-field", "cursor="),
      ("invalid-field", "cursor=AAAAAAAAAAAAAAAAAAAAAA"), ("invalid-field", "cursor=%00%00%00"),
      ("invalid-field", "cursor=////////////////////////"), ("unknown-field", "LIMIT=1"),
      ("unknown-field", "__proto__=1"), ("unknown-field", "=1"),
      ("unknown-field", String(repeating: "a", count: 8000)),
      ("invalid-field", "tag=" + String(repeating: "a", count: 129)),
      ("invalid-field", "lane=a%20b"), ("invalid-field", "upstream=%F0%9F%92%A9"),
    ].map {
      .answered(
        422, $0.0, "a list by ?\($0.1.prefix(40))", Wire.request("GET /v1/envelopes?\($0.1)"))
    } + [
      .answered(
        200, nil, "a list by three thousand empty parameters",
        Wire.request("GET /v1/envelopes?" + String(repeating: "&", count: 3000))),
      .answered(422, "invalid-field", "wait=-1", Wire.request("GET /v1/envelopes/\(id)?wait=-1")),
      .answered(422, "invalid-field", "wait=61", Wire.request("GET /v1/envelopes/\(id)?wait=61")),
      .answered(
        422, "invalid-field", "wait=20 digits",
        Wire.request("GET /v1/envelopes/\(id)?wait=99999999999999999999")),
      .answered(
        422, "invalid-field", "wait twice", Wire.request("GET /v1/envelopes/\(id)?wait=1&wait=0")),
      .answered(
        422, "unknown-field", "a parameter that a change does not take",
        Wire.request("DELETE /v1/clients/hostile/envelopes?state=x")),
      .answered(
        422, "invalid-field", "a lane that cannot be",
        Wire.request("DELETE /v1/clients/hostile/envelopes?lane=%00")),
    ]

  private static let events: [HostileRow] =
    [
      "x", "0-0-0", "00000000-0-0", "00000000-1", "zzzzzzzz-1-1", "00000000-1-1-1", "00000000--1-1",
      "00000000-99999999999999999999-1", "\u{FF}", String(repeating: "0", count: 10_000),
    ].map {
      .answered(
        422, "invalid-field", "Last-Event-ID \($0.debugDescription.prefix(30))",
        Wire.request("GET /v1/events", ["Last-Event-ID: \($0)"]))
    } + [
      .answered(422, "invalid-field", "after=x", Wire.request("GET /v1/events?after=x")),
      .answered(422, "unknown-field", "since=x", Wire.request("GET /v1/events?since=x")),
      .answered(
        404, "unknown-envelope", "events of no envelope",
        Wire.request("GET /v1/events?envelope=x")),
    ]

  private static func call(
    _ path: String, _ body: String, status: Int = 422, _ problem: String = "invalid-field"
  ) -> HostileRow {
    .answered(
      status, problem,
      "\(path.split(separator: "/").last ?? "") with \(body.prefix(44)), \(body.count) bytes",
      Wire.request("POST \(path)", ["Content-Type: application/json"], body: Wire.bytes(body)))
  }

  private static let run = "/v1/clients/hostile/run"

  private static let bodies: [HostileRow] = [
    call(run, "[]"), call(run, "{\"ids\":[]}"), call(run, "{\"ids\":{}}"),
    call(run, "{\"ids\":[1]}"),
    call(run, "{\"ids\":[\"\(id)x\"]}"), call(run, "{\"tag\":\"\"}"), call(run, "{\"lane\":null}"),
    call(run, "{\"lane\":\"a\",\"tag\":\"b\"}"), call(run, "{\"all\":true}", "unknown-field"),
    call(run, "{\"tag\":", status: 400, "malformed-json"),
    call(run, "{\"ids\":[\"\(id)\"\(String(repeating: ",\"\(id)\"", count: 1000))]}"),
    call("/v1/envelopes/query", "{}", "missing-field"),
    call("/v1/envelopes/query", "{\"keys\":[\"a\"]}", "missing-field"),
    call("/v1/envelopes/query", "{\"client\":\"a\"}", "missing-field"),
    call("/v1/envelopes/query", "{\"ids\":\"\(id)\"}"),
    call("/v1/envelopes/query", "{\"ids\":[null]}"),
    call(
      "/v1/envelopes/query",
      "{\"client\":\"a\",\"keys\":[\"k\"\(String(repeating: ",\"k\"", count: 1000))]}"),
    call("/v1/checkin", "{}", "missing-field"), call("/v1/checkin", "", "missing-field"),
    call("/v1/checkin", "{\"client\":\"\"}"),
    call("/v1/checkin", "{\"client\":\"c\",\"since\":-1}"),
    call("/v1/checkin", "{\"client\":\"c\",\"responses\":true}"),
    call("/v1/checkin", "{\"client\":\"c\",\"responses\":{}}", "missing-field"),
    call("/v1/checkin", "{\"client\":\"c\",\"responses\":{\"bytesMax\":65537}}"),
    call("/v1/checkin", "{\"client\":\"c\",\"responses\":{\"bytes\":1}}", "unknown-field"),
    call("/v1/checkin", "{\"client\":\"c\",\"since\":\"99999999999999999999\"}"),
    call("/v1/checkin", "{\"client\":\"c\",\"lanes\":[{\"first\":2,\"last\":1}]}"),
    call("/v1/checkin", "{\"client\":\"c\",\"lanes\":[{\"first\":1}]}", "missing-field"),
    call("/v1/checkin", "{\"client\":\"c\",\"lanes\":[{\"bytes\":-1}]}"),
    call("/v1/checkin", "{\"client\":\"c\",\"lanes\":[{\"bytes\":1e300}]}"),
    call("/v1/checkin", "{\"client\":\"c\",\"lanes\":[{},{}]}"),
    call(
      "/v1/checkin",
      "{\"client\":\"c\",\"lanes\":["
        + (0..<101).map { "{\"lane\":\"l\($0)\"}" }.joined(separator: ",") + "]}"
    ),
    call("/v1/envelopes/\(id)/resolve", "{\"action\":\"explode\"}"),
    call("/v1/envelopes/\(id)/resolve", "{}", "missing-field"),
    call("/v1/envelopes/\(id)/requeue", "{\"expiresAt\":\"never\"}"),
    call("/v1/envelopes/\(id)/run", "{\"force\":true}"),
    call("/v1/clients/hostile/pause", "[]"),
    .answered(
      422, "invalid-field", "a call without a body that comes with chunks",
      Wire.bytes(
        "DELETE /v1/clients/hostile/envelopes HTTP/1.1\r\nHost: relay\r\n"
          + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n")),
  ]

  private static func patch(
    _ body: String, status: Int = 422, _ problem: String = "invalid-field"
  ) -> HostileRow {
    .answered(
      status, problem, "a patch with \(body.prefix(44))",
      Wire.request(
        "PATCH /v1/envelopes/\(id)", ["Content-Type: application/merge-patch+json"],
        body: Wire.bytes(body)))
  }

  private static let patches: [HostileRow] = [
    patch("[]"), patch("7"), patch("{", status: 400, "malformed-json"), patch("{\"id\":\"x\"}"),
    patch("{\"client\":\"thief\"}"), patch("{\"state\":\"delivered\"}"), patch("{\"path\":null}"),
    patch("{\"x\":1}", "unknown-field"),
    patch("{\"headers\":{\"X\\n\":null}}"), patch("{\"headers\":{\"Host\":\"evil\"}}"),
    patch("{\"headers\":7}"), patch("{\"upstream\":\"evil\"}", "unknown-upstream"),
    patch("{\"headers\":{\((0..<50_000).map { "\"a\($0)\":null" }.joined(separator: ","))}}"),
    patch("{\"tag\":\"ok\"}", status: 404, "unknown-envelope"),
  ]

  private static let unknown: [HostileRow] =
    ["x", "0", "..", "%00", id + "0", id.replacing("-", with: ""), id.uppercased() + "%20"].map {
      .answered(404, "unknown-envelope", "the id \($0)", Wire.request("GET /v1/envelopes/\($0)"))
    } + [
      .answered(
        404, "unknown-envelope", "cancelling nothing", Wire.request("DELETE /v1/envelopes/\(id)")),
      .answered(
        404, "unknown-envelope", "the answer to nothing",
        Wire.request("GET /v1/envelopes/\(id)/response")),
      .answered(
        404, "unknown-client", "a client nobody knows", Wire.request("GET /v1/clients/nobody")),
      .answered(
        404, "unknown-upstream", "pausing an address",
        Wire.request("POST /v1/upstreams/http:%2f%2fevil/pause", body: [])),
      .answered(
        404, "unknown-upstream", "relaying to an address",
        Wire.request(
          "PUT /v1/relay/http:%2F%2F169.254.169.254/half", ["Waystation-Client: hostile"], body: [])
      ),
      .answered(
        404, "unknown-upstream", "relaying to an encoded name",
        Wire.request("PUT /v1/relay/%64efault/half", ["Waystation-Client: hostile"], body: [])),
    ]
}
