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
/// at servers that answer it for browsers.
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
  /// It reads files; the calling task waits for up to twice ``timeoutMs``.
  package static func run(_ upstreams: [UpstreamConfiguration]) async -> [UpstreamTrial] {
    await run(upstreams) { upstream in try UpstreamFiles(of: upstream) }
  }

  /// Tries upstreams, whose files hold what a closure says.
  static func run(
    _ upstreams: [UpstreamConfiguration],
    files: (UpstreamConfiguration) throws -> UpstreamFiles
  ) async -> [UpstreamTrial] {
    let results = TrialResults(count: upstreams.count)
    var requests: [AttemptRequest] = []
    for (index, upstream) in upstreams.enumerated() {
      do {
        requests.append(try request(to: upstream, files(upstream), number: Serial(index)))
      } catch {
        results.set(.failed("\(error)"), of: index)
      }
    }
    do throws(SystemError) {
      let forwarder = try Forwarder(targets: requests.map(\.target), name: "trial") { batch in
        for report in batch.reports { results.set(.ended(report), of: Int(report.serial)) }
      }
      forwarder.submit(requests)
      await results.all()
      // Its thread ends by itself: to wait for it would hold up an event loop.
      withExtendedLifetime(forwarder) {}
    } catch {
      return upstreams.map { UpstreamTrial($0, .failed("cannot be tried: \(error)")) }
    }
    return zip(upstreams, results.taken).map { UpstreamTrial($0, $1) }
  }

  private static func request(
    to upstream: UpstreamConfiguration, _ files: UpstreamFiles, number: Serial
  ) throws -> AttemptRequest {
    var limited = upstream
    limited.attemptTimeoutMs = min(upstream.attemptTimeoutMs ?? timeoutMs, timeoutMs)
    limited.connectTimeoutMs = min(upstream.connectTimeoutMs, timeoutMs)
    let content = EnvelopeContent(
      method: "HEAD", target: Array("/".utf8), headers: HeaderBlock(), body: .inline([]))
    var request = AttemptRequest(
      serial: number, id: EnvelopeID(high: 0, low: 0), client: "", attempt: 1,
      acceptedAt: WallClock.now(), target: try limited.target(files),
      content: content)
    request.isOwn = true
    return request
  }

  private init(_ upstream: UpstreamConfiguration, _ result: TrialResults.Result) {
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
        (isGood, words) = (false, "\(answer): it does not accept the relay's credentials")
      case 407:
        (isGood, words) = (false, "\(answer): the proxy does not accept the relay's credentials")
      case 500...599: (isGood, words) = (false, "\(answer): it is in trouble")
      default: (isGood, words) = (true, answer)
      }
    }
  }
}

extension UpstreamConfiguration {
  /// Whether the relay shows it credentials of its own: otherwise senders do.
  fileprivate var showsCredentials: Bool {
    credentials != nil || clientCertificate != nil || !headers.isEmpty
  }
}

/// The results of trials, which come in on the forwarder's thread.
private final class TrialResults: Sendable {
  enum Result: Sendable {
    case ended(AttemptReport)
    /// It could not be tried.
    case failed(String)
  }

  private struct State {
    var results: [Result?]
    var waiter: CheckedContinuation<Void, Never>?
    var isComplete: Bool { results.allSatisfy { $0 != nil } }
  }

  private let state: Mutex<State>

  init(count: Int) {
    state = Mutex(State(results: [Result?](repeating: nil, count: count)))
  }

  func set(_ result: Result, of index: Int) {
    let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
      state.results[index] = result
      guard state.isComplete else { return nil }
      defer { state.waiter = nil }
      return state.waiter
    }
    waiter?.resume()
  }

  /// Waits until there is a result for each.
  func all() async {
    await withCheckedContinuation { continuation in
      let isComplete = state.withLock { state -> Bool in
        if !state.isComplete { state.waiter = continuation }
        return state.isComplete
      }
      if isComplete { continuation.resume() }
    }
  }

  var taken: [Result] { state.withLock { $0.results.compactMap { $0 } } }
}
