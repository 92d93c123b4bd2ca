import RelayCore

/// An upstream with outages, bad minutes and envelopes that it will never take.
struct SimulatedUpstream {
  enum Mood: CaseIterable {
    case healthy
    case down
    case overloaded
    case flaky
    /// Takes what it gets, and never answers.
    case silent
  }

  var mood: Mood = .healthy
  /// How often each envelope arrived, by its number.
  private(set) var arrivals: [Serial: Int] = [:]
  /// What arrived last of each.
  private(set) var latest: [Serial: Int] = [:]

  /// Envelopes that it has taken since somebody last had them sent once more.
  private(set) var taken: Set<Serial> = []

  /// How an attempt ends, and after how long.
  struct Ending {
    var event: AttemptEvent
    var durationMs: Int64
    var isWritten = false
  }

  /// Somebody has it sent once more, whatever became of it before.
  mutating func forget(_ serial: Serial) { taken.remove(serial) }

  mutating func take(_ serial: Serial, _ content: Int, isPoison: Bool = false) {
    arrivals[serial, default: 0] += 1
    latest[serial] = content
    if !isPoison { taken.insert(serial) }
  }

  /// What comes of an attempt.
  mutating func attempt(_ serial: Serial, content: Int, random: inout SplitMix64) -> Ending {
    switch mood {
    case .down:
      let failure: ConnectionFailure =
        [.connect, .nameResolution, .timeout, .tls]
        .randomElement(using: &random) ?? .connect
      return Ending(
        event: .failed(failure, detail: ""), durationMs: failure == .timeout ? 10_000 : 3)
    case .overloaded:
      let status = [429, 503, 500].randomElement(using: &random) ?? 503
      return Ending(event: Self.answer(status, &random), durationMs: 20)
    case .silent:
      take(serial, content)
      return Ending(event: .failed(.timeout, detail: ""), durationMs: 10_000, isWritten: true)
    case .flaky where Bool.random(using: &random):
      let isWritten = Bool.random(using: &random)
      if isWritten, Bool.random(using: &random) { take(serial, content) }
      return Ending(event: .failed(.cut, detail: ""), durationMs: 30, isWritten: isWritten)
    case .flaky, .healthy:
      let isPoison = content % 37 == 0
      take(serial, content, isPoison: isPoison)
      return Ending(
        event: Self.answer(isPoison ? 422 : 200, &random),
        durationMs: Int64.random(in: 1...50, using: &random))
    }
  }

  /// What it says when it is asked whether it has an envelope.
  mutating func verify(_ serial: Serial, random: inout SplitMix64) -> Ending {
    switch mood {
    case .down: Ending(event: .failed(.connect, detail: ""), durationMs: 3)
    case .overloaded: Ending(event: Self.answer(503, &random), durationMs: 20)
    case .silent: Ending(event: .failed(.timeout, detail: ""), durationMs: 10_000, isWritten: true)
    case .flaky where Bool.random(using: &random):
      Ending(event: .failed(.cut, detail: ""), durationMs: 30, isWritten: true)
    case .flaky, .healthy:
      Ending(event: Self.answer(taken.contains(serial) ? 200 : 404, &random), durationMs: 5)
    }
  }

  static func answer(_ status: Int, _ random: inout SplitMix64) -> AttemptEvent {
    var headers = HeaderBlock()
    if status >= 429, Bool.random(using: &random) {
      headers.append(name: "Retry-After", value: String(Int.random(in: 0...30, using: &random)))
    }
    return .answered(UpstreamResponse(status: status, headers: headers, body: []))
  }
}
