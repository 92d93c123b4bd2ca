import Foundation

/// An upstream for gateways that remembers which key has brought what.
final class KeyMemory: Sendable {
  /// A request that has come.
  struct Arrival: Sendable {
    let line: GatewayLine
    let key: String
    /// Whether it was answered with success, and not while the upstream was going away.
    let isAnswered: Bool
    /// How often anything had happened by then for which a relay may repeat what it had delivered.
    let interruptions: Int
  }

  private struct State: CustomStringConvertible {
    var arrivals: [Arrival] = []
    var answered: Set<GatewayLine> = []
    var interruptions = 0
    var isLeaving = false
    var violations: [String] = []
    var description: String { "\(answered.count) lines answered" }
  }

  let upstream: TestUpstream
  private let state = Monitor(State())
  private let trouble = Monitor(0.0)

  init(seed: UInt64) throws {
    upstream = try TestUpstream()
    let generator = Monitor(SeededGenerator(seed: seed))
    upstream.behave { [state, trouble] request in
      let share = trouble.read { $0 }
      let behaviour = generator.change { generator -> Behaviour in
        if generator.happens(share) { return generator.happens(0.3) ? .cut : .answer(503) }
        let isSlow = generator.happens(0.1)
        return .answer(200, delayMs: isSlow ? Int.random(in: 1...40, using: &generator) : 0)
      }
      Self.note(request, behaviour, state)
      return behaviour
    }
  }

  private static func note(
    _ request: WireRequest, _ behaviour: Behaviour, _ state: Monitor<State>
  ) {
    var isAnswered = false
    if case .answer(200, _, _, _) = behaviour { isAnswered = true }
    state.change { state in
      guard let line = GatewayLine(request), let key = request["Idempotency-Key"] else {
        return state.violations.append("nobody has sent \(request.target)")
      }
      if request.body != Array(line.text.utf8) { state.violations.append("\(line) was changed") }
      if isAnswered { state.answered.insert(line) }
      state.arrivals.append(
        Arrival(
          line: line, key: key, isAnswered: isAnswered && !state.isLeaving,
          interruptions: state.interruptions))
    }
  }

  /// Makes this share of requests fail, from 0 to 1.
  func fail(_ share: Double) { trouble.change { $0 = share } }

  /// The relay has died: what was delivered may come once more.
  ///
  /// What has come until then is noted as of before.
  func interrupted() async throws {
    try await upstream.isLeft()
    state.change { $0.interruptions += 1 }
  }

  /// Goes away.
  ///
  /// It cuts one connection after the other. So the relay may post once more on a later one what it
  /// was not answered on an earlier one.
  func goAway() {
    state.change { state in
      state.interruptions += 1
      state.isLeaving = true
    }
    upstream.stop()
  }

  /// Is there again.
  func comeBack() async throws {
    try await upstream.isLeft()
    state.change { state in
      state.interruptions += 1
      state.isLeaving = false
    }
    try upstream.start()
  }

  /// The lines that have come, and were answered with success.
  var answered: Set<GatewayLine> { state.read(\.answered) }

  /// How many requests have come.
  var arrivalCount: Int { state.read(\.arrivals.count) }

  /// What may not be of what has come.
  var violations: [String] {
    state.read { state in
      let lines = Dictionary(grouping: state.arrivals, by: \.line.gateway).values
      return state.violations + Self.mixed(state.arrivals) + Self.doubles(state.arrivals)
        + lines.flatMap(Self.disorder)
    }
  }

  /// Lines under two keys, and keys of two lines.
  private static func mixed(_ arrivals: [Arrival]) -> [String] {
    var keys: [GatewayLine: String] = [:]
    var lines: [String: GatewayLine] = [:]
    var found: [String] = []
    for arrival in arrivals {
      let key = keys[arrival.line, default: arrival.key]
      if key != arrival.key { found.append("\(arrival.line) came under two keys") }
      keys[arrival.line] = key
      let line = lines[arrival.key, default: arrival.line]
      if line != arrival.line { found.append("\(line) and \(arrival.line) came under one key") }
      lines[arrival.key] = line
    }
    return found
  }

  /// What came again although nothing had happened since it was answered.
  private static func doubles(_ arrivals: [Arrival]) -> [String] {
    var last: [String: (place: Int, interruptions: Int)] = [:]
    var found: [String] = []
    for (place, arrival) in arrivals.enumerated() {
      if let before = last[arrival.key], before.interruptions == arrival.interruptions {
        found.append(
          "\(arrival.line) came again as request \(place), answered as \(before.place)")
      }
      if arrival.isAnswered { last[arrival.key] = (place, arrival.interruptions) }
    }
    return found
  }

  /// Lines of one gateway that came first behind later ones.
  private static func disorder(_ arrivals: [Arrival]) -> [String] {
    var seen: Set<Int> = []
    var last = -1
    var found: [String] = []
    for number in arrivals.map(\.line.number) where seen.insert(number).inserted {
      if number < last { found.append("\(arrivals[0].line.gateway): \(number) after \(last)") }
      last = max(last, number)
    }
    return found
  }
}
