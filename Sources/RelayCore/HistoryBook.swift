/// Counts what happens at each upstream, minute by minute, until it is written.
///
/// A pure value: it is told of what is on disk, a commit at a time, and of the time. Nothing in it
/// has to be done while nothing happens.
package struct HistoryBook: Sendable {
  /// Those that are counted apart.
  private var upstreams: Set<UpstreamNumber> = []
  private var minute = Minute(rawValue: 0)
  /// Of the running minute.
  private var running: [UpstreamNumber: HistoryFigures] = [:]
  /// Of minutes that are over, without how many waited then.
  private var over: [HistoryPlace: HistoryFigures] = [:]
  /// Whole, and yet to be written.
  private var whole: [HistoryPlace: HistoryFigures] = [:]

  /// Begins to count; the first of these upstreams are counted apart.
  package init(_ upstreams: [UpstreamNumber] = []) {
    add(upstreams)
  }

  /// Counts these apart too, as far as there is room; those that were so before stay so.
  package mutating func add(_ new: [UpstreamNumber]) {
    for upstream in new where upstreams.count < HistoryLimits.upstreamsMax {
      upstreams.insert(upstream)
    }
  }

  /// Whether something has happened that is not whole yet.
  package var isRunning: Bool { !running.isEmpty || !over.isEmpty }

  /// Under which number an upstream is counted.
  package func number(of upstream: UpstreamNumber) -> UpstreamNumber {
    upstreams.contains(upstream) ? upstream : .others
  }

  // MARK: - What happens

  /// How many wait of each upstream is to be noted anew, for whatever reason.
  package mutating func look(at now: WallTime) {
    turn(to: now)
    for upstream in upstreams { note(upstream) { _ in } }
    note(.others) { _ in }
  }

  /// These were accepted; what only moves to its place in line was so before.
  package mutating func count(_ envelopes: [AcceptedEnvelope], at now: WallTime) {
    turn(to: now)
    for envelope in envelopes where envelope.movedFrom == nil {
      note(envelope.entry.upstream) { $0.accepted += 1 }
    }
  }

  /// These changes are on disk.
  package mutating func count(_ transitions: [Transition], at now: WallTime) {
    turn(to: now)
    for transition in transitions where !transition.isMoot { count(transition) }
  }

  private mutating func count(_ transition: Transition) {
    switch transition.change {
    case .end(let state, _):
      note(transition.upstream) { figures in
        if state == .failed { figures.failed += 1 }
        guard state == .delivered else { return }
        figures.delivered += 1
        guard let acceptedAt = transition.acceptedAt else { return }
        figures.delays.observe(transition.at.milliseconds(since: acceptedAt))
      }
    case .edit(let edit):
      note(transition.upstream) { _ in }
      note(edit.entry.upstream) { _ in }
    case .requeue(let entry): note(entry.upstream) { _ in }
    case .begin, .retry, .block, .release: break
    }
  }

  /// A client's backlog was cancelled.
  package mutating func count(_ backlog: ClearedBacklog, at now: WallTime) {
    turn(to: now)
    for item in backlog.items { note(item.upstream) { _ in } }
  }

  private mutating func note(
    _ upstream: UpstreamNumber, _ change: (inout HistoryFigures) -> Void
  ) {
    change(&running[number(of: upstream), default: HistoryFigures()])
  }

  private mutating func turn(to now: WallTime) {
    let next = Minute(of: now)
    guard next != minute else { return }
    for (upstream, figures) in running {
      over[HistoryPlace(minute, upstream), default: HistoryFigures()].merge(figures)
    }
    running.removeAll(keepingCapacity: true)
    minute = next
  }

  // MARK: - What is to be written

  /// Makes what is over whole.
  ///
  /// - Parameters:
  ///   - waiting: How many wait of each upstream just now, and of all.
  ///   - isLast: Whether the running minute is over too, since the relay ends.
  package mutating func close(
    at now: WallTime, waiting: (each: [UpstreamNumber: Int], all: Int), isLast: Bool = false
  ) {
    turn(to: now)
    if isLast {
      for (upstream, figures) in running {
        over[HistoryPlace(minute, upstream), default: HistoryFigures()].merge(figures)
      }
      running.removeAll()
    }
    guard !over.isEmpty else { return }
    let apart = upstreams.reduce(0) { $0 + (waiting.each[$1] ?? 0) }
    for (place, figures) in over {
      var figures = figures
      let count =
        place.upstream == .others ? waiting.all - apart : waiting.each[place.upstream] ?? 0
      figures.waiting = Int64(max(0, count))
      whole[place, default: HistoryFigures()].merge(figures)
    }
    over.removeAll(keepingCapacity: true)
  }

  /// What is whole and not written.
  package var unwritten: [HistoryRow] { whole.map { HistoryRow($0.key, $0.value) } }

  /// Takes all that is whole, to be written.
  package mutating func takeWhole() -> [HistoryRow] {
    defer { whole.removeAll() }
    return unwritten.sorted {
      ($0.place.minute, $0.place.upstream) < ($1.place.minute, $1.place.upstream)
    }
  }

  /// These could not be written: they are kept, those of the last hour.
  package mutating func putBack(_ rows: [HistoryRow]) {
    for row in rows {
      var figures = row.figures
      if let later = whole[row.place] { figures.merge(later) }
      whole[row.place] = figures
    }
    let first = minute.adding(-HistoryLimits.minutesUnwrittenMax)
    for place in whole.keys where place.minute < first { whole[place] = nil }
  }
}
