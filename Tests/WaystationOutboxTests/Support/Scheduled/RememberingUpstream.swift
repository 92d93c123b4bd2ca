import RelayCore

/// An upstream that knows a key when it comes again, with outages and bad minutes.
struct RememberingUpstream {
  enum Mood: CaseIterable {
    case healthy
    case down
    case overloaded
    case flaky
    /// Takes what it gets, and never answers.
    case silent
  }

  /// How an attempt ends, and after how long.
  struct Ending {
    let event: AttemptEvent
    let afterMs: Int64
    var isWritten = true
  }

  /// What it makes of a request that reaches it.
  enum Verdict {
    case take(String)
    case refuse(Int, String)
  }

  var mood = Mood.healthy
  /// The keys that it has taken.
  private(set) var taken: Set<String> = []

  /// - Parameter taking: Is called if it takes something that it has not taken before.
  mutating func attempt(
    _ key: String, _ verdict: Verdict, _ random: inout SplitMix64, taking: () -> Void
  ) -> Ending {
    switch mood {
    case .down:
      return Ending(event: .failed(.connect, detail: ""), afterMs: 3, isWritten: false)
    case .overloaded: return Ending(event: Self.answer(503, ""), afterMs: 20)
    case .silent:
      _ = receive(key, verdict, taking: taking)
      return Ending(event: .failed(.timeout, detail: ""), afterMs: 10_000)
    case .flaky where Bool.random(using: &random):
      if Bool.random(using: &random) { _ = receive(key, verdict, taking: taking) }
      return Ending(event: .failed(.cut, detail: ""), afterMs: 30)
    case .flaky, .healthy:
      return Ending(
        event: receive(key, verdict, taking: taking),
        afterMs: Int64.random(in: 1...50, using: &random))
    }
  }

  private mutating func receive(
    _ key: String, _ verdict: Verdict, taking: () -> Void
  ) -> AttemptEvent {
    switch verdict {
    case .refuse(let status, let body):
      return taken.contains(key) ? Self.answer(200, "") : Self.answer(status, body)
    case .take(let body):
      if taken.insert(key).inserted { taking() }
      return Self.answer(200, body)
    }
  }

  private static func answer(_ status: Int, _ body: String) -> AttemptEvent {
    .answered(
      UpstreamResponse(status: status, headers: HeaderBlock(), body: Array(body.utf8)))
  }
}
