/// What upstreams made of envelopes lately: counts of the last minutes, for each.
///
/// A pure value: it is told of committed transitions, and of the time. Its size is bounded by the
/// number of upstreams.
package struct OutcomeWindow: Sendable {
  /// The counts of an upstream over the window.
  package struct Figures: Sendable, Equatable {
    /// Envelopes that it took.
    package var delivered = 0
    /// Envelopes that it refused for good: they ended as dead letters, or block their lanes.
    package var refused = 0
    /// Answers that settled nothing, such as a 503: mostly the envelope is tried again.
    package var retried = 0
    /// Envelopes whose deadlines passed.
    package var expired = 0

    /// The attempts that were answered.
    package var answered: Int { delivered + refused + retried }
    /// The answered attempts by which nothing got through.
    package var failing: Int { refused + retried }

    /// Nothing yet.
    package init() {}

    fileprivate mutating func add(_ other: Figures) {
      delivered += other.delivered
      refused += other.refused
      retried += other.retried
      expired += other.expired
    }
  }

  /// Dead letters that came of attempts, and are still there as they ended.
  package struct DeadLetters: Sendable, Equatable {
    /// Their number since the first of them.
    package var count = 0
    /// When the first of them ended.
    package var since: WallTime
    /// The latest; its envelope is nil if that is no dead letter any more.
    package var last: Sample
    /// Whether others of them were answered something else, or not at all.
    package var isMixed = false
  }

  /// The latest answer of one kind, with the envelope that got it.
  package struct Sample: Sendable, Equatable {
    /// The envelope; nil if it does not show any more what is meant.
    package var serial: Serial?
    /// The status that the upstream answered; nil if it did not answer.
    package var status: Int?
    /// The reason in words.
    package var reason: String
    /// The state that the envelope was left in; nil if it is tried again.
    package var left: EnvelopeState?
    /// When.
    package var at: WallTime
  }

  /// The time over which is counted, in milliseconds, and the length of one step of it.
  package static let windowMs: Int64 = 10 * 60_000
  static let stepMs: Int64 = 30_000
  /// The time after the latest dead letter for which they are told, in milliseconds.
  package static let deadLettersMs: Int64 = 24 * 3_600_000
  fileprivate static let stepCount = Int(windowMs / stepMs)

  fileprivate struct Row {
    var steps = [Figures](repeating: Figures(), count: OutcomeWindow.stepCount)
    var step: Int64
    var failing: Sample?
    var deadLetters: DeadLetters?
    var expired: Sample?
    /// When nothing but failures began, after the last delivery.
    var failingSince: WallTime?
  }

  private var rows: [UpstreamNumber: Row] = [:]

  /// Begins with nothing counted.
  package init() {}

  /// Counts committed transitions.
  package mutating func count(_ transitions: [Transition], at now: Now) {
    // Most of what ends was delivered, one after the other to the same upstream.
    var deliveries: (upstream: UpstreamNumber, count: Int)?
    for transition in transitions where !transition.isMoot {
      let isDelivery = transition.change.isDelivery
      if isDelivery, deliveries?.upstream == transition.upstream {
        deliveries?.count += 1
        continue
      }
      count(deliveries, at: now)
      deliveries = isDelivery ? (transition.upstream, 1) : nil
      if !isDelivery { count(transition, at: now) }
    }
    count(deliveries, at: now)
  }

  private mutating func count(
    _ deliveries: (upstream: UpstreamNumber, count: Int)?, at now: Now
  ) {
    guard let deliveries else { return }
    change(deliveries.upstream, at: now) { row, figures in
      figures.delivered += deliveries.count
      row.failingSince = nil
    }
  }

  private mutating func count(_ transition: Transition, at now: Now) {
    switch transition.change {
    case .end(.failed, let reason):
      // What a person discards needs nobody.
      guard transition.attempt != nil else { return }
      change(transition.upstream, at: now) { row, figures in
        row.noteDeadLetter(Sample(transition, reason))
        // What could not even be sent says nothing of the upstream.
        guard transition.hasReachedUpstream else { return }
        figures.refused += 1
        row.noteFailure(Sample(transition, reason))
      }
    case .end(.expired, let reason):
      change(transition.upstream, at: now) { row, figures in
        figures.expired += 1
        row.expired = Sample(transition, reason)
        guard transition.hasReachedUpstream else { return }
        figures.retried += 1
        row.noteFailure(Sample(transition, reason))
      }
    case .block(let reason):
      guard transition.hasReachedUpstream else { return }
      change(transition.upstream, at: now) { row, figures in
        figures.refused += 1
        row.noteFailure(Sample(transition, reason))
      }
    case .retry:
      guard transition.isAnswered, let attempt = transition.attempt else { return }
      change(transition.upstream, at: now) { row, figures in
        figures.retried += 1
        // The upstream's own words are found by the envelope.
        let reason = attempt.status.map(AttemptReport.sentence(ofAnswer:)) ?? attempt.error
        row.noteFailure(Sample(transition, reason ?? "the upstream asked to try again"))
      }
    // What is put back in line is told as an end that is gone.
    case .end, .begin, .release, .edit, .requeue: break
    }
  }

  /// Counts dead letters that are none any more, or another upstream's.
  package mutating func count(_ changes: [EndChange]) {
    for change in changes where change.state == .failed && change.isTried {
      guard var sample = rows[change.upstream]?.forgetDeadLetter(change) else { continue }
      guard case .redirected(let upstream) = change.result else { continue }
      (sample.serial, sample.at) = (change.serial, change.endedAt)
      var row = rows[upstream] ?? Row(step: 0)
      row.noteDeadLetter(sample, isLatest: false)
      rows[upstream] = row
    }
  }

  private mutating func change(
    _ upstream: UpstreamNumber, at now: Now, _ body: (inout Row, inout Figures) -> Void
  ) {
    let step = Self.step(of: now.monotonic)
    var row = rows.removeValue(forKey: upstream) ?? Row(step: step)
    row.advance(to: step)
    var figures = row.steps[Int(step % Int64(Self.stepCount))]
    body(&row, &figures)
    row.steps[Int(step % Int64(Self.stepCount))] = figures
    rows[upstream] = row
  }

  private static func step(of now: MonotonicTime) -> Int64 {
    max(0, now.nanoseconds / 1_000_000 / stepMs)
  }

  /// An upstream's counts over the window that ends now.
  package mutating func figures(of upstream: UpstreamNumber, at now: MonotonicTime) -> Figures {
    rows[upstream]?.advance(to: Self.step(of: now))
    var sum = Figures()
    for step in rows[upstream]?.steps ?? [] { sum.add(step) }
    return sum
  }

  /// The latest envelope that an upstream did not take, and since when none has got through.
  package func failure(of upstream: UpstreamNumber) -> (sample: Sample, since: WallTime)? {
    guard let row = rows[upstream], let sample = row.failing else { return nil }
    return (sample, row.failingSince ?? sample.at)
  }

  /// The dead letters of an upstream; nil if there were none within ``deadLettersMs``.
  package func deadLetters(of upstream: UpstreamNumber, at now: WallTime) -> DeadLetters? {
    guard let letters = rows[upstream]?.deadLetters,
      now.milliseconds(since: letters.last.at) < Self.deadLettersMs
    else { return nil }
    return letters
  }

  /// The latest envelope of an upstream that expired.
  package func expired(of upstream: UpstreamNumber) -> Sample? { rows[upstream]?.expired }

  /// The upstreams that anything was counted of.
  package var upstreams: Set<UpstreamNumber> { Set(rows.keys) }
}

extension OutcomeWindow.Row {
  fileprivate mutating func advance(to step: Int64) {
    guard step > self.step else { return }
    let count = Int64(steps.count)
    for passed in max(self.step + 1, step - count + 1)...step {
      steps[Int(passed % count)] = OutcomeWindow.Figures()
    }
    self.step = step
  }

  fileprivate mutating func noteDeadLetter(
    _ sample: OutcomeWindow.Sample, isLatest: Bool = true
  ) {
    var letters = deadLetters ?? OutcomeWindow.DeadLetters(since: sample.at, last: sample)
    if sample.at.milliseconds(since: letters.last.at) >= OutcomeWindow.deadLettersMs {
      letters = OutcomeWindow.DeadLetters(since: sample.at, last: sample)
    }
    letters.count += 1
    letters.since = min(letters.since, sample.at)
    if letters.last.status != sample.status { letters.isMixed = true }
    if isLatest { letters.last = sample }
    deadLetters = letters
  }

  /// Takes out a dead letter, if it is one of those that are counted: what ended before is not.
  ///
  /// - Returns: The latest, as it was before; nil if it is not one of them.
  fileprivate mutating func forgetDeadLetter(_ change: EndChange) -> OutcomeWindow.Sample? {
    guard var letters = deadLetters, letters.since <= change.endedAt else { return nil }
    let last = letters.last
    letters.count -= 1
    if last.serial == change.serial { letters.last.serial = nil }
    deadLetters = letters.count > 0 ? letters : nil
    return last
  }

  fileprivate mutating func noteFailure(_ sample: OutcomeWindow.Sample) {
    if failingSince == nil { failingSince = sample.at }
    failing = sample
  }
}

extension OutcomeWindow.Sample {
  fileprivate init(_ transition: Transition, _ reason: String) {
    self.init(
      serial: transition.serial, status: transition.attempt?.status, reason: reason,
      left: transition.change.leftState, at: transition.at)
  }
}

extension Transition {
  /// Whether the upstream answered an attempt, or may have got it: not if nothing was sent, or no
  /// connection came about.
  fileprivate var hasReachedUpstream: Bool { isAnswered || attempt?.outcome == .ambiguous }
}

extension Transition.Change {
  /// Whether the upstream took the envelope.
  fileprivate var isDelivery: Bool { if case .end(.delivered, _) = self { true } else { false } }

  /// The state that it leaves the envelope in; nil if the envelope is tried again.
  fileprivate var leftState: EnvelopeState? {
    switch self {
    case .end(let state, _): state
    case .block: .blocked
    case .begin, .retry, .release, .edit, .requeue: nil
    }
  }
}
