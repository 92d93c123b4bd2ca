import EventLoop
import Forwarder
import RelayCore
import Synchronization

/// A try of an upstream without an envelope, and what it showed.
///
/// The upstream is looked up, connected to, secured and shown the relay's credentials, as for an
/// attempt: with a certificate, an access token that is fetched first, or a signature. It is asked
/// with `HEAD` for its base URL, which changes nothing (RFC 9110 section 9.2.1). Any answer shows
/// that it is there; 401 and 403 show what it thinks of the credentials, which `OPTIONS` does not
/// at servers that answer it for browsers. It is asked once more with `GET` where its answer may be
/// about the connection: nginx's about the relay's certificate, or one to plain text where TLS is
/// spoken. What another relay is asked, ``RelayTrial`` says.
package struct UpstreamTrial: Sendable {
  /// The upstream's name.
  package let upstream: String
  /// Whether envelopes could be sent, as far as that could be seen.
  package let isGood: Bool
  /// What was seen, in words that follow the name.
  package let words: String

  /// The longest time for one upstream, in milliseconds; its own limits count if they are shorter.
  package static let timeoutMs = 15_000

  /// Tries upstreams, all at once, and returns what that showed, in their order.
  ///
  /// It reads files; the calling task waits for up to three times ``timeoutMs``.
  package static func run(_ upstreams: [UpstreamConfiguration]) async -> [UpstreamTrial] {
    await run(upstreams) { upstream in try UpstreamFiles(of: upstream) }
  }

  /// Tries an upstream in the way in which a running relay seeks it, whatever its files hold now.
  ///
  /// - Parameter target: What the relay goes by.
  static func run(
    _ upstream: UpstreamConfiguration, as target: UpstreamTarget
  ) async -> UpstreamTrial? {
    await run([upstream]) { upstream in
      let files = UpstreamFiles(inForceFor: target)
      // Between the two a reload may have come.
      guard files.fit(upstream) else { throw ConfigurationChange() }
      return files
    }.first
  }

  private static func run(
    _ upstreams: [UpstreamConfiguration],
    files: (UpstreamConfiguration) throws -> UpstreamFiles
  ) async -> [UpstreamTrial] {
    var results: [Int: TrialResult] = [:]
    var targets: [Int: UpstreamTarget] = [:]
    for (index, upstream) in upstreams.enumerated() {
      do {
        targets[index] = try limited(upstream).target(files(upstream))
      } catch {
        results[index] = .failed("\(error)")
      }
    }
    results.merge(await ask(targets) { $0.batch?.isRelay == true ? RelayTrial.post : .head }) {
      _, new in new
    }
    // What is said of the connection stands in the body, which the answer to HEAD has not.
    let unclear = targets.filter { results[$0.key]?.mayBeOfConnection(to: $0.value.url) ?? false }
    for (index, result) in await ask(unclear, { _ in .get }) where result.isRefusal {
      results[index] = result
    }
    let relays = targets.filter { results[$0.key]?.response.map(RelayTrial.isOfRelay) ?? false }
    let names = await ask(relays) { _ in RelayTrial.list }
    return upstreams.enumerated().compactMap { index, upstream in
      results[index].map { result in
        UpstreamTrial(upstream, result, targets[index]?.batch?.upstream, names[index])
      }
    }
  }

  /// Asks all of them at once, and waits for what comes of it.
  private static func ask(
    _ targets: [Int: UpstreamTarget], _ question: (UpstreamTarget) -> Question
  ) async -> [Int: TrialResult] {
    guard !targets.isEmpty else { return [:] }
    let requests = targets.map { question($1).request(to: $1, number: Serial($0)) }
    let results = TrialResults(count: requests.count)
    do throws(SystemError) {
      let forwarder = try Forwarder(targets: requests.map(\.target), name: "trial") { batch in
        for var report in batch.reports {
          // Something between two relays may have compressed what the other one says.
          if let target = targets[Int(report.serial)] {
            report.unpack(
              from: target, batch.masks[report.serial], bytesMax: BatchAnswer.bytesMax)
          }
          results.set(.ended(report), of: Int(report.serial))
        }
      }
      forwarder.submit(requests)
      await results.all()
      // Its thread ends by itself: to wait for it would hold up an event loop.
      withExtendedLifetime(forwarder) {}
    } catch {
      return targets.mapValues { _ in .failed("cannot be tried: \(error)") }
    }
    return results.taken
  }

  private static func limited(_ upstream: UpstreamConfiguration) -> UpstreamConfiguration {
    var limited = upstream
    limited.attemptTimeoutMs = min(upstream.attemptTimeoutMs ?? timeoutMs, timeoutMs)
    limited.connectTimeoutMs = min(upstream.connectTimeoutMs, timeoutMs)
    return limited
  }

  /// A request that changes nothing.
  struct Question {
    var method: String
    var path = "/"
    var body = ""
    /// The most bytes of the answer's body that are needed; nil for what is kept of any.
    var answerBytesMax: Int?

    static let head = Question(method: "HEAD")
    static let get = Question(method: "GET")

    fileprivate func request(to target: UpstreamTarget, number: Serial) -> AttemptRequest {
      var headers = HeaderBlock()
      if !body.isEmpty { headers.append(name: "Content-Type", value: "application/json") }
      let content = EnvelopeContent(
        method: method, target: Array(path.utf8), headers: headers, body: .inline(Array(body.utf8)))
      var request = AttemptRequest(
        serial: number, id: EnvelopeID(high: 0, low: 0), client: "", attempt: 1,
        acceptedAt: WallClock.now(), target: target, content: content)
      request.isOwn = true
      if let answerBytesMax { request.responseBodyBytesMax = answerBytesMax }
      return request
    }
  }

  /// - Parameters:
  ///   - name: The name by which another relay is to know the upstream.
  ///   - names: What that relay said of its upstreams.
  private init(
    _ upstream: UpstreamConfiguration, _ result: TrialResult, _ name: String?,
    _ names: TrialResult?
  ) {
    self.upstream = upstream.name
    switch result {
    case .failed(let reason): (isGood, words) = (false, reason)
    case .ended(let report):
      guard let status = report.status else {
        (isGood, words) = (false, report.sentence)
        return
      }
      let answer = "answered \(status) within \(report.durationMs) ms"
      switch status {
      case 401 where upstream.showsCredentials, 403 where upstream.showsCredentials:
        let said = result.response.flatMap(Self.refusal(of:)).map { " (\($0))" } ?? ""
        (isGood, words) = (false, "\(answer): it does not accept the relay's credentials\(said)")
      case 407:
        (isGood, words) = (false, "\(answer): the proxy does not accept the relay's credentials")
      // Some servers know no HEAD, and answer what RFC 9110 section 9.1 has for that.
      case 500...599 where status != 501 || name != nil:
        (isGood, words) = (false, "\(answer): it is in trouble")
      default:
        guard let name, let response = result.response else {
          (isGood, words) = (true, status < 400 ? answer : "\(answer); it can be reached")
          return
        }
        switch RelayTrial.finding(response, names: names?.response, upstream: name) {
        case .good:
          (isGood, words) = (
            true,
            "it takes posts, and has the upstream \(name.quoted) (asked within"
              + " \(report.durationMs) ms)"
          )
        case .unseen(let reason): (isGood, words) = (true, "it takes posts; \(reason)")
        case .fault(let reason): (isGood, words) = (false, "\(answer): \(reason)")
        }
      }
    }
  }

  /// What another relay says of the token; nil if the answer is none of a relay's.
  private static func refusal(of response: UpstreamResponse) -> String? {
    guard case .ofToken(let words) = RelayRefusal(response), !words.isEmpty else { return nil }
    return words
  }
}

extension UpstreamConfiguration {
  /// Whether the relay shows it credentials of its own, or should: otherwise senders do.
  fileprivate var showsCredentials: Bool {
    credentials != nil || clientCertificate != nil || !headers.isEmpty
      || batch.format == .waystation
  }
}

/// What came of one request.
private enum TrialResult: Sendable {
  case ended(AttemptReport)
  /// It could not be made.
  case failed(String)

  /// The answer; nil if none came.
  var response: UpstreamResponse? {
    guard case .ended(let report) = self, case .answered(let response) = report.event else {
      return nil
    }
    return response
  }

  /// Whether the answer may be about the relay's certificate, or about plain text where TLS is
  /// spoken.
  func mayBeOfConnection(to url: UpstreamURL) -> Bool {
    guard let response else { return false }
    return url.scheme == .https
      ? ClientCertificateRefusal.canBe(response) : PlainTextRefusal.canBe(response)
  }

  /// Whether the connection was refused for what it is, or shows.
  var isRefusal: Bool {
    guard case .ended(let report) = self else { return false }
    return switch report.event {
    case .failed(.credentials, _), .failed(.tls, _): true
    default: false
    }
  }
}

/// The results of trials, which come in on the forwarder's thread.
private final class TrialResults: Sendable {
  private struct State {
    var results: [Int: TrialResult] = [:]
    var waiter: CheckedContinuation<Void, Never>?
  }

  private let count: Int
  private let state = Mutex(State())

  init(count: Int) { self.count = count }

  func set(_ result: TrialResult, of index: Int) {
    let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
      state.results[index] = result
      guard state.results.count == count else { return nil }
      defer { state.waiter = nil }
      return state.waiter
    }
    waiter?.resume()
  }

  /// Waits until there is a result for each.
  func all() async {
    await withCheckedContinuation { continuation in
      let isComplete = state.withLock { state -> Bool in
        if state.results.count < count { state.waiter = continuation }
        return state.results.count == count
      }
      if isComplete { continuation.resume() }
    }
  }

  var taken: [Int: TrialResult] { state.withLock { $0.results } }
}

/// The configuration was read again while a trial began.
private struct ConfigurationChange: Error, CustomStringConvertible {
  let description = "the configuration was being read again; try once more"
}
