#if PostgreSQL
import Foundation

/// What devices were promised, and what has arrived: what the relays owe, and what they did wrong.
final class ClusterLedger: Sendable {
  /// The lanes that each device has.
  enum Lane: String, CaseIterable {
    /// With sequence numbers from 1 on.
    case log
    /// With some that are held, and run or cancelled later.
    case work
    /// Of which only the latest content has to arrive.
    case state
  }

  /// A lane of a device.
  struct Place: Hashable, CustomStringConvertible {
    let device: String
    let lane: Lane
    var description: String { "\(device)/\(lane)" }
  }

  /// What happens to the relays during a round.
  struct Round: Sendable, Equatable {
    var number = 0
    var fault: ClusterFault?
    /// Whether another fault has come in between.
    var isMixed = false
  }

  private struct Arrival {
    let number: Int
    let key: String
    let round: Round
    let isAnswered: Bool
  }

  private struct Line {
    var acknowledged: Set<Int> = []
    var cancelled: Set<Int> = []
    /// Cancelled before anybody has let them go.
    var neverRun: Set<Int> = []
    var answered: Set<Int> = []
    var arrivals: [Arrival] = []
    var changed: [Int] = []
  }

  private struct State: CustomStringConvertible {
    var lines: [Place: Line] = [:]
    var acknowledgements = 0
    var strangers: [String] = []
    /// The rounds so far; the last one goes on.
    var rounds = [Round()]
    var description: String { "\(acknowledgements) acknowledgements" }
  }

  private let state = Monitor(State())

  // MARK: - What devices note

  /// What they post under a number.
  static func path(_ place: Place, _ number: Int) -> String { "/\(place)/\(number)" }

  /// Whether the body is large enough to be kept in pieces, and to be sent in several writes.
  private static func isLarge(_ number: Int) -> Bool { number % 50 == 20 }

  /// What is in it.
  static func body(_ place: Place, _ number: Int) -> String {
    let size = isLarge(number) ? 300_000 : number * 37 % 1500
    let word = "\(place)/\(number) "
    return String(repeating: word, count: size / word.utf8.count + 1)
  }

  /// An envelope was acknowledged.
  func acknowledge(_ place: Place, _ number: Int) {
    state.change { state in
      state.lines[place, default: Line()].acknowledged.insert(number)
      state.acknowledgements += 1
    }
  }

  /// An envelope was taken back; `wasHeld` all the time.
  func cancel(_ place: Place, _ number: Int, wasHeld: Bool) {
    state.change { state in
      state.lines[place, default: Line()].cancelled.insert(number)
      if wasHeld { state.lines[place, default: Line()].neverRun.insert(number) }
    }
  }

  /// How many were taken back of a device's.
  func cancelledCount(of device: String) -> Int {
    state.read { $0.lines[Place(device: device, lane: .work)]?.cancelled.count ?? 0 }
  }

  // MARK: - What the upstream notes

  /// A request has arrived, and will be answered by success, or not.
  func arrive(_ request: WireRequest, isAnswered: Bool) {
    let parts = request.target.split(separator: "/").map(String.init)
    state.change { state in
      guard parts.count == 3, let lane = Lane(rawValue: parts[1]), let number = Int(parts[2]) else {
        return state.strangers.append(request.target)
      }
      let place = Place(device: parts[0], lane: lane)
      let arrival = Arrival(
        number: number, key: request["Idempotency-Key"] ?? "",
        round: state.rounds[state.rounds.count - 1], isAnswered: isAnswered)
      state.lines[place, default: Line()].arrivals.append(arrival)
      if isAnswered { state.lines[place, default: Line()].answered.insert(number) }
      if request.message.text != Self.body(place, number) {
        state.lines[place, default: Line()].changed.append(number)
      }
    }
  }

  // MARK: - Rounds

  /// Begins another round.
  func begin(_ fault: ClusterFault?) {
    state.change { state in
      state.rounds.append(Round(number: state.rounds.count, fault: fault))
    }
  }

  /// Another fault has come into this round.
  func mix() { state.change { $0.rounds[$0.rounds.count - 1].isMixed = true } }

  /// Waits until so many more envelopes have been acknowledged.
  func progress(_ count: Int) async throws {
    let goal = state.read(\.acknowledgements) + count
    let _: Bool = try await state.wait("\(goal) acknowledgements", seconds: 60) {
      $0.acknowledgements >= goal ? true : nil
    }
  }

  // MARK: - What is owed

  /// What was acknowledged and has yet to arrive.
  var owed: [String] {
    state.read { state in
      state.lines.flatMap { place, line -> [String] in
        var awaited = line.acknowledged.subtracting(line.cancelled)
        if place.lane == .state { awaited = Set([awaited.max()].compactMap(\.self)) }
        return awaited.subtracting(line.answered).sorted().map { Self.path(place, $0) }
      }
    }
  }

  /// How much there was of each thing.
  var figures: String {
    state.read { state in
      let arrivals = state.lines.values.flatMap(\.arrivals)
      let names = Set(arrivals.map(\.key)).count
      let cancelled = state.lines.values.map(\.cancelled.count).reduce(0, +)
      return "\(state.rounds.count - 1) rounds, \(state.acknowledgements) acknowledged, "
        + "\(cancelled) cancelled, \(names) arrived, \(arrivals.count - names) repeats"
    }
  }

  /// What the relays did that they may not.
  var violations: [String] {
    state.read { state in
      let mixed = Set(state.rounds.filter(\.isMixed).map(\.number))
      return state.strangers.map { "\($0) was posted by nobody" }
        + state.lines.flatMap { Self.violations($0, $1, mixed: mixed) }
    }
  }

  private static func violations(_ place: Place, _ line: Line, mixed: Set<Int>) -> [String] {
    let isOfSame = { (number: Int) in "\(place)/\(number)" }
    var found = line.changed.map { isOfSame($0) + " was changed" }
    let arrived = Set(line.arrivals.map(\.number))
    found += arrived.intersection(line.neverRun).map { isOfSame($0) + " was cancelled, and came" }
    found += arrived.subtracting(line.acknowledged).map { isOfSame($0) + " was never acknowledged" }
    let keys = Dictionary(grouping: line.arrivals, by: \.number)
      .mapValues { Set($0.map(\.key)) }
    found += keys.filter { $1.count > 1 }.map { isOfSame($0) + " came under two keys: \($1)" }
    if Set(keys.values.flatMap(\.self)).count < keys.count { found.append("\(place): keys shared") }
    return found + disorder(place, line) + doubles(place, line, mixed: mixed)
  }

  /// First attempts in a wrong order, and repeats behind a later envelope's first attempt.
  ///
  /// A large body may have been written in part when its relay was frozen, and the rest comes when
  /// that one goes on. All else that a frozen relay had written is here at once.
  private static func disorder(_ place: Place, _ line: Line) -> [String] {
    var found: [String] = []
    var last = 0
    var seen: Set<Int> = []
    for arrival in line.arrivals {
      let isRepeat = !seen.insert(arrival.number).inserted
      let isRest = isRepeat && isLarge(arrival.number) && arrival.round.fault == .freezeHolder
      if arrival.number < last, !isRest {
        let words = isRepeat ? "came again" : "came first"
        found.append(
          "\(place)/\(arrival.number) \(words) behind \(last), in \(arrival.round)")
      }
      last = max(last, arrival.number)
    }
    return found
  }

  /// What a drain alone has had delivered twice.
  private static func doubles(_ place: Place, _ line: Line, mixed: Set<Int>) -> [String] {
    var seen: Set<[Int]> = []
    return line.arrivals.filter {
      $0.round.fault == .drain && !mixed.contains($0.round.number) && $0.isAnswered
        && !seen.insert([$0.number, $0.round.number]).inserted
    }.map { "\(place)/\($0.number) came twice, in \($0.round)" }
  }
}
#endif
