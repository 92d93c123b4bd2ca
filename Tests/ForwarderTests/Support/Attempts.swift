import Forwarder
import RelayCore
import Testing

/// A forwarder under test, and what it reported.
final class Attempts {
  let forwarder: Forwarder
  private var batches: AsyncStream<AttemptBatch>.Iterator

  init(
    _ targets: [UpstreamTarget] = [], limits: ForwarderLimits = ForwarderLimits(),
    bodies: BodyReading? = nil, mayWrite: @escaping @Sendable () -> Bool = { true }
  ) throws {
    let (stream, continuation) = AsyncStream.makeStream(of: AttemptBatch.self)
    batches = stream.makeAsyncIterator()
    forwarder = try Forwarder(
      targets: targets, limits: limits, bodies: bodies, mayWrite: mayWrite
    ) { continuation.yield($0) }
  }

  deinit { forwarder.shutdown() }

  /// Runs one attempt to its end.
  func run(_ request: AttemptRequest) async throws -> AttemptEvent {
    let ends = try await run([request])
    return try #require(ends.reports.first).event
  }

  /// Runs attempts until all have ended in one way or the other.
  func run(_ requests: [AttemptRequest]) async throws -> AttemptBatch {
    #expect(forwarder.submit(requests))
    return try await ends(of: requests.count)
  }

  /// Waits until this many attempts have ended.
  func ends(of count: Int) async throws -> AttemptBatch {
    var all = AttemptBatch()
    while all.reports.count + all.withdrawn.count < count {
      let batch = try #require(await batches.next(isolation: #isolation))
      all.reports += batch.reports
      all.withdrawn += batch.withdrawn
    }
    return all
  }
}

/// A request, as far as a test cares for it.
func request(
  _ target: UpstreamTarget, _ method: String = "GET", _ path: String = "/",
  headers: [(String, String)] = [], body: EnvelopeBody = .inline([]), serial: Serial = 1
) -> AttemptRequest {
  var block = HeaderBlock()
  for (name, value) in headers { block.append(name: name, value: value) }
  return AttemptRequest(
    serial: serial, id: exampleID, client: "device-7", attempt: 3,
    acceptedAt: WallTime(millisecondsSinceEpoch: 1_700_000_000_000), target: target,
    content: EnvelopeContent(
      method: method, target: Array(path.utf8), headers: block, body: body))
}

extension AttemptEvent {
  /// The answer; nil if none came.
  var response: UpstreamResponse? {
    if case .answered(let response) = self { response } else { nil }
  }

  /// Why none came; nil if one did.
  var failure: ConnectionFailure? {
    if case .failed(let failure, _) = self { failure } else { nil }
  }

  /// Whether the relay itself ended the attempt.
  var isBrokenOff: Bool { failure == .brokenOff }

  /// The words that go with a failure.
  var detail: String {
    if case .failed(_, let detail) = self { detail } else { "" }
  }
}

extension UpstreamTarget {
  /// The upstream of a test.
  static func test(
    _ url: String, headers: HeaderBlock = HeaderBlock(), connectTimeoutMs: Int = 20_000,
    attemptTimeoutMs: Int? = 20_000, idleTimeoutMs: Int? = nil, mayRepeat: Bool = true,
    offersHTTP2: Bool = true, reusesConnections: Bool = true, responseBodyBytesMax: Int = 64 * 1024,
    proxy: String? = nil,
    certificates: CertificateAuthorities = .system
  ) throws -> UpstreamTarget {
    try UpstreamTarget(
      name: "default", url: UpstreamURL(url), headers: headers, connectTimeoutMs: connectTimeoutMs,
      attemptTimeoutMs: attemptTimeoutMs, idleTimeoutMs: idleTimeoutMs, mayRepeat: mayRepeat,
      offersHTTP2: offersHTTP2, reusesConnections: reusesConnections,
      responseBodyBytesMax: responseBodyBytesMax,
      proxy: proxy, certificates: certificates)
  }
}
