import Testing
import RelayCore

@testable import HTTPServer

@Suite("Routes, paths and queries")
struct RouterTests {
  private var router: Router<String> {
    var router = Router<String>()
    router.add(.post, "/v1/envelopes", "accept")
    router.add(.post, "/v1/envelopes/query", "query")
    router.add(.get, "/v1/envelopes/{id}", "show")
    router.add(.delete, "/v1/envelopes/{id}", "cancel")
    router.add(.get, "/v1/envelopes/{id}/response", "response")
    router.addAny("/v1/relay/{upstream}/{path…}", "relay")
    router.add(.get, "/", "home")
    return router
  }

  private func describe(_ method: HTTPMethod, _ path: String) -> String {
    switch router.match(method, path: Array(path.utf8)[...]) {
    case .found(let target, let captures):
      let values = captures.items.map { "\($0.name)=\(String(decoding: $0.value, as: UTF8.self))" }
      return ([target] + values).joined(separator: " ")
    case .notFound: return "404"
    case .methodNotAllowed(let allow): return "405 \(allow)"
    case .options(let allow): return "204 \(allow)"
    }
  }

  @Test(
    "a method and a path find their route",
    arguments: [
      (HTTPMethod.get, "/", "home"),
      (.post, "/v1/envelopes", "accept"),
      (.post, "/v1/envelopes/query", "query"),
      (.get, "/v1/envelopes/query", "405 POST, OPTIONS"),
      (.get, "/v1/envelopes/a%2Fb", "show id=a%2Fb"),
      (.head, "/v1/envelopes/7", "show id=7"),
      (.get, "/v1/envelopes/7/response", "response id=7"),
      (.other("BREW"), "/v1/relay/api/", "relay upstream=api path="),
      (.options, "/v1/relay/api/x", "relay upstream=api path=x"),
      (.get, "/v1/relay/api//a/../b", "relay upstream=api path=/a/../b"),
      (.get, "/v1/relay/api", "404"),
      (.get, "/v1/relay//x", "404"),
      (.get, "/v1/envelopes/", "404"),
      (.get, "/v1/envelopes/7/", "404"),
      (.get, "/V1/envelopes/7", "404"),
      (.get, "/v1//envelopes", "404"),
      (.get, "//", "404"),
      (.get, "/v1/envelopes", "405 POST, OPTIONS"),
      (.post, "/v1/envelopes/7", "405 GET, HEAD, DELETE, OPTIONS"),
      (.options, "/v1/envelopes/7", "204 GET, HEAD, DELETE, OPTIONS"),
      (.options, "*", "204 POST, GET, HEAD, DELETE, OPTIONS"),
    ])
  func routes(_ method: HTTPMethod, _ path: String, _ expected: String) {
    #expect(describe(method, path) == expected)
  }

  @Test(
    "percent-encoding is undone strictly",
    arguments: [
      ("abc", "abc"), ("a%20b", "a b"), ("%C3%A9", "\u{e9}"), ("a+b", "a+b"), ("%2f", "/"),
      ("%", nil), ("%2", nil), ("a%2", nil), ("%zz", nil), ("%FF", nil), ("%00", nil),
    ] as [(String, String?)])
  func decoding(_ text: String, _ expected: String?) {
    #expect(PercentEncoding.decode(Array(text.utf8)[...]) == expected)
  }

  @Test("a query's parameters are read in order, and a repeated one is noticed")
  func query() throws {
    let query = try QueryParameters(Array("a=1&b=x%3Dy+z&c&a=2&=v&&".utf8)[...])
    #expect(query.items.map(\.name) == ["a", "b", "c", "a", ""])
    #expect(try query.single("b") == "x=y z")
    #expect(try query.single("c") == "")
    #expect(try query.single("d") == nil)
    #expect(throws: QueryParameters.Failure.repeated("a")) { try query.single("a") }
    #expect(throws: QueryParameters.Failure.malformedEncoding) {
      try QueryParameters(Array("a=%".utf8)[...])
    }
    #expect(try QueryParameters(nil).items.isEmpty)
  }
}
