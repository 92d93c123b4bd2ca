import HTTPServer
import JSON
import RelayCore
import RelayServer
import Testing

@Suite("A problem")
struct ProblemTests {
  private func json(_ response: HTTPResponse) throws -> JSONValue {
    guard case .bytes(let bytes) = response.body else { throw Problem.internalError() }
    return try JSONValue.parse(bytes)
  }

  @Test("is answered as RFC 9457 has it")
  func rendering() throws {
    let id = EnvelopeID(serial: 1, acceptedAt: Fixture.now, random: 0)
    let problem = Problem.keyConflict("k\"1", id: id, field: "/key")
    let response = problem.response
    #expect(response.status == 422)
    #expect(response.headers.first("Content-Type") == "application/problem+json")
    let json = try json(response)
    #expect(try json["type"]?.string() == "urn:waystation:problem:key-conflict")
    #expect(try json["title"]?.string() == "The key stands for another envelope")
    #expect(try json["status"]?.int64() == 422)
    #expect(try json["detail"]?.string() == #"The key "k"1" was used before with other content."#)
    #expect(try json["field"]?.string() == "/key")
    #expect(try json["id"]?.string() == id.description)
    #expect(json["lastSequence"] == nil && json["results"] == nil)
  }

  @Test(
    "tells how many share places in the singular where there is one",
    arguments: [
      (1, "1 event stream may be open at once, and it is."),
      (2, "2 event streams may be open at once, and they are."),
    ])
  func share(total: Int, detail: String) throws {
    var places = SharedPlaces()
    let limits = PlaceLimits(total: total, perClient: total, perSource: total, reserve: 0)
    for number in 0..<total { _ = try places.take(.client("\(number)", at: nil), limits) }
    let refusal = try #require(throws: SharedPlaces.Refusal.self) {
      _ = try places.take(.client("other", at: nil), limits)
    }
    #expect(Problem.shareUsedUp(.eventStreams, refusal).detail == detail)
  }

  @Test("carries the header fields that belong to it")
  func headers() throws {
    #expect(Problem.diskFull().response.headers.first("Retry-After") == "30")
    #expect(Problem.draining().response.headers.first("Retry-After") == "5")
    #expect(
      Problem.methodNotAllowed(allow: "GET, HEAD").response.headers.first("Allow") == "GET, HEAD")
    #expect(
      Problem.unsupportedMediaType("text/plain").response.headers.first("Accept")
        == "application/json, application/x-ndjson")
    #expect(
      Problem.unsupportedContentEncoding("br").response.headers.first("Accept-Encoding") == "gzip")
  }

  @Test(
    "what the HTTP server finds has the contract's names",
    arguments: [
      (.malformedRequest, .malformedRequest), (.malformedBody, .malformedRequest),
      (.targetTooLong, .uriTooLong), (.fieldsTooLarge, .headerFieldsTooLarge),
      (.bodyTooLarge, .bodyTooLarge), (.headTimeout, .requestTimeout),
      (.bodyTimeout, .requestTimeout), (.expectationFailed, .expectationFailed),
      (.notImplemented, .notImplemented), (.tooManyConnections, .overloaded),
      (.versionNotSupported, .httpVersionNotSupported),
    ] as [(ProtocolProblem.Kind, ProblemKind)])
  func protocolProblem(_ kind: ProtocolProblem.Kind, _ expected: ProblemKind) {
    let found = ProtocolProblem(kind, "What was found.")
    let problem = Problem(found)
    #expect(problem.kind == expected)
    #expect(problem.status == found.status)
    #expect(problem.detail == "What was found.")
  }

  @Test(
    "trouble in the store is told without its files' names",
    arguments: [
      (.diskFull, .diskFull), (.closed, .draining), (.inputOutput, .storeUnavailable),
      (.corrupt, .storeUnavailable), (.inUse, .storeUnavailable), (.other, .storeUnavailable),
      (.leaseLost, .storeUnavailable), (.newerSchema, .storeUnavailable),
      (.outcomeUnknown, .storeUnavailable),
    ] as [(StoreError.Kind, ProblemKind)])
  func storeError(_ kind: StoreError.Kind, _ expected: ProblemKind) {
    let problem = Problem(
      StoreError(kind: kind, operation: "commit", subject: "/secret", detail: "no"))
    #expect(problem.kind == expected)
    #expect(!problem.detail.contains("secret"))
    #expect(problem.retryAfterSeconds != nil)
  }
}
