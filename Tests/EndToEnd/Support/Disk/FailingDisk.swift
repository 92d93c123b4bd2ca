import Foundation
import Glibc
import Testing

/// A relay whose disk fails as a test says, and a device that keeps account of what was taken.
final class FailingDisk: Sendable {
  /// What came of some posts.
  struct Answers: Sendable {
    var taken = 0
    /// Problems by their names, with the status.
    var refused: [String: Int] = [:]
  }

  let relay: Relay
  let shim: DiskShim
  let upstream: TestUpstream
  private let obligations = Monitor<[String: [UInt8]]>([:])
  private let postCount = Monitor(0)

  init(
    upstream: TestUpstream? = nil, limits: [String: any Sendable] = [:],
    prepare: (Relay) throws -> Void = { _ in }
  ) async throws {
    let upstream = try upstream ?? TestUpstream()
    self.upstream = upstream
    let all = limits.merging(["spoolThresholdBytes": 4096]) { given, _ in given }
    relay = try Relay(
      upstreams: ["default": Relay.quick(upstream)],
      more: ["limits": all, "retention": ["deliveredSeconds": 3600] as [String: any Sendable]])
    try prepare(relay)
    shim = try DiskShim(watching: relay.folder.path)
    relay.setEnvironment(shim.environment(isRecorded: false))
    try await relay.start()
  }

  /// How many envelopes were acknowledged so far.
  var obligationCount: Int { obligations.read(\.count) }

  /// Posts one envelope alone, one with a large body, and a batch of two.
  func postSome() async throws -> Answers {
    let device = relay.device("device")
    var answers = Answers()
    for bytes in [200, 9000] {
      let path = nextPath()
      let body = Self.body(path, bytes)
      let answer = try await device.relay("POST", path, body: body)
      try note(answer, [path: body], &answers)
    }
    let batch = [nextPath(), nextPath()]
    let answer = try await device.post(
      batch: batch.map {
        ["path": $0, "body": String(decoding: Self.body($0, 300), as: UTF8.self)]
      },
      headers: ["Prefer": "handling=strict"])
    try note(
      answer, Dictionary(uniqueKeysWithValues: batch.map { ($0, Self.body($0, 300)) }), &answers)
    return answers
  }

  /// What came of some work; nil if the relay ended meanwhile, since its log could not be synced.
  func unlessEnded<Result>(_ work: () async throws -> Result) async throws -> Result? {
    do {
      return try await work()
    } catch is ConnectionEnded {
    } catch let error as SocketError
      where [ECONNREFUSED, ECONNRESET, EPIPE].contains(error.code)
    {
    }
    #expect(try await relay.ending() == .exit(1))
    #expect(relay.log.contains("the store's log cannot be synced"), "\(relay.log.suffix(600))")
    return nil
  }

  /// Posts one envelope.
  func post(bytes: Int) async throws -> WireResponse {
    let path = nextPath()
    let body = Self.body(path, bytes)
    let answer = try await relay.device("device").relay("POST", path, body: body)
    var answers = Answers()
    try note(answer, [path: body], &answers)
    return answer
  }

  private func nextPath() -> String {
    "/\(postCount.change { count -> Int in count += 1; return count })"
  }

  private static func body(_ path: String, _ count: Int) -> [UInt8] {
    Array(String(repeating: "\(path) ", count: count / (path.utf8.count + 1) + 1).utf8)
  }

  /// An answer is 202, or says what is wrong and when to come back: anything else is a failure.
  private func note(
    _ answer: WireResponse, _ bodies: [String: [UInt8]], _ answers: inout Answers
  ) throws {
    if answer.status == 202 {
      answers.taken += 1
      obligations.change { $0.merge(bodies) { first, _ in first } }
      return
    }
    let name = answer.problem ?? "none"
    answers.refused[name] = answer.status
    let isExpected =
      (name, answer.status) == ("disk-full", 507)
      || (name, answer.status) == ("store-unavailable", 503)
    guard isExpected, answer["Retry-After"] != nil else {
      throw ProtocolViolation(description: "an answer that nobody expects: \(answer)")
    }
  }

  /// Waits until the relay says that it is ready.
  func isReady() async throws {
    let device = relay.device("operator")
    try await eventually("a relay that is ready again; \(relay.log.suffix(2000))") {
      try await device.get("/readyz").status == 200 ? true : nil
    }
  }

  /// Waits until all that was acknowledged has arrived, and holds it to what was posted.
  func allArrived() async throws {
    let owed = obligations.read { $0 }
    let received = try await upstream.received("all of \(owed.count)", seconds: 60) {
      Set($0.map(\.target)).isSuperset(of: owed.keys)
    }
    var keys: [String: String] = [:]
    var firsts: [Int] = []
    for request in received {
      let key = request["Idempotency-Key"] ?? ""
      if keys[request.target] == nil { firsts.append(Int(request.target.dropFirst()) ?? 0) }
      #expect(keys[request.target, default: key] == key, "\(request.target) under two keys")
      keys[request.target] = key
      if let body = owed[request.target] { #expect(request.body == body, "\(request.target)") }
    }
    #expect(firsts == firsts.sorted(), "the order of the one lane")
  }
}
