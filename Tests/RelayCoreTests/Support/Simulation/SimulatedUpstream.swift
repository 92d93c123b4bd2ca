import RelayCore

/// An upstream with outages, bad minutes and envelopes that it will never take.
struct SimulatedUpstream {
  enum Mood: CaseIterable {
    case healthy
    case down
    case overloaded
    case flaky
  }

  var mood: Mood = .healthy
  /// How often each envelope arrived, by its number.
  private(set) var arrivals: [Serial: Int] = [:]
  /// What arrived last of each.
  private(set) var latest: [Serial: Int] = [:]

  private mutating func take(_ serial: Serial, _ content: Int) {
    arrivals[serial, default: 0] += 1
    latest[serial] = content
  }

  /// What comes of an attempt, and how long it takes.
  mutating func attempt(
    _ serial: Serial, content: Int, random: inout SplitMix64
  ) -> (event: AttemptEvent, durationMs: Int64) {
    switch mood {
    case .down:
      let failure: ConnectionFailure =
        [.connect, .nameResolution, .timeout, .tls]
        .randomElement(using: &random) ?? .connect
      return (.failed(failure, detail: ""), failure == .timeout ? 10_000 : 3)
    case .overloaded:
      return (Self.answer([429, 503, 500].randomElement(using: &random) ?? 503, &random), 20)
    case .flaky where Bool.random(using: &random):
      if Bool.random(using: &random) { take(serial, content) }
      return (.failed(.cut, detail: ""), 30)
    case .flaky, .healthy:
      take(serial, content)
      let isPoison = content % 37 == 0
      return (Self.answer(isPoison ? 422 : 200, &random), Int64.random(in: 1...50, using: &random))
    }
  }

  private static func answer(_ status: Int, _ random: inout SplitMix64) -> AttemptEvent {
    var headers = HeaderBlock()
    if status >= 429, Bool.random(using: &random) {
      headers.append(name: "Retry-After", value: String(Int.random(in: 0...30, using: &random)))
    }
    return .answered(UpstreamResponse(status: status, headers: headers, body: []))
  }
}
