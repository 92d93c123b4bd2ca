import HTTPServer
import JSON
import RelayCore

/// `GET /healthz` and `GET /readyz`.
struct HealthChecks {
  private let context: EndpointContext

  init(_ context: EndpointContext) { self.context = context }

  /// Answers that the process runs.
  static let alive = HTTPResponse.freshJSON(Array(#"{"status":"ok"}"#.utf8))

  /// Answers if the relay takes envelopes.
  func readiness() async -> HTTPResponse {
    if context.relay.isDraining {
      return notReady(
        "draining", ["The relay is shutting down."],
        retryAfterSeconds: RetryHint.overloadSeconds)
    }
    let statistics = context.store.statistics()
    let shortfall = statistics.durabilityDoubt.flatMap { $0.isCertain ? $0.sentence : nil }
    if let trouble = statistics.trouble {
      return notReady(
        "store-trouble", [trouble] + (shortfall.map { [$0] } ?? []),
        retryAfterSeconds: RetryHint.troubleSeconds)
    }
    // It takes what reaches it all the same: whoever asks is to send devices elsewhere.
    if let shortfall {
      return notReady(
        NeedKind.durabilityLow.rawValue, [shortfall], retryAfterSeconds: RetryHint.troubleSeconds)
    }
    let warnings = await context.relay.needs(ageMs: NeedsKeeper.strangersMs)
      .filter { $0.severity == .critical }.map(\.sentenceWithMore)
    if !warnings.isEmpty { return readyBut(warnings) }
    return .freshJSON(Array(#"{"status":"ready"}"#.utf8))
  }

  /// It takes envelopes and delivers what it can: whoever asks is not to send devices away.
  private func readyBut(_ warnings: [String]) -> HTTPResponse {
    var json = JSONWriter()
    json.object { json in
      json.member("status", "ready")
      if AccessRules.seesReasons(context.caller, isOpen: context.relay.access.isOpen) {
        json.memberArray("warnings") { json in
          for warning in warnings { json.string(warning) }
        }
      }
    }
    return .freshJSON(json.finish())
  }

  /// Why it is not is told to those who may see `/status`.
  private func notReady(
    _ status: String, _ reasons: [String], retryAfterSeconds: Int
  ) -> HTTPResponse {
    var json = JSONWriter()
    json.object { json in
      json.member("status", status)
      if AccessRules.seesReasons(context.caller, isOpen: context.relay.access.isOpen) {
        json.memberArray("reasons") { json in
          for reason in reasons { json.string(reason) }
        }
      }
    }
    var response = HTTPResponse.freshJSON(json.finish(), status: 503)
    response.headers.add("Retry-After", retryAfterSeconds)
    return response
  }
}
