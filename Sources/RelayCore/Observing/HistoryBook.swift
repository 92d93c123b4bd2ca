/// Counts the events of each upstream, minute by minute, until the counts are written.
///
/// A pure value: it is told of each commit, and of the time. It needs no calls while nothing
/// happens.
package struct HistoryBook: Sendable {
  /// The upstreams that are counted separately.
  private var upstreams: Set<UpstreamNumber> = []
  private var minute = Minute(rawValue: 0)
  /// The counts of the running minute.
  private var running: [UpstreamNumber: HistoryFigures] = [:]
  /// The counts of past minutes, without the numbers of waiting envelopes.
  private var over: [HistoryPlace: HistoryFigures] = [:]
  /// Complete counts that are to be written.
  private var whole: [HistoryPlace: HistoryFigures] = [:]

  /// Begins to count; the first of these upstreams are counted separately, as far as there is room.
  package init(_ upstreams: [UpstreamNumber] = []) {
    add(upstreams)
  }

  /// Counts these separately too, as far as there is room; those that are already counted
  /// separately stay so.
  package mutating func add(_ new: [UpstreamNumber]) {
    for upstream in new where upstreams.count < HistoryLimits.upstreamsMax {
      upstreams.insert(upstream)
    }
  }

  /// Whether counts exist that are not complete yet.
  package var isRunning: Bool { !running.isEmpty || !over.isEmpty }

  /// The number under which an upstream is counted.
  package func number(of upstream: UpstreamNumber) -> UpstreamNumber {
    upstreams.contains(upstream) ? upstream : .others
  }

  // MARK: - What happens

  /// Has the number of waiting envelopes of each upstream noted anew at the end of this minute.
  package mutating func look(at now: WallTime) {
    turn(to: now)
    for upstream in upstreams { note(upstream) { _ in } }
    note(.others) { _ in }
  }

  /// Counts what a transaction did, which is on disk.
  package mutating func count(_ commit: Commit, at now: WallTime) {
    for change in commit.changes {
      switch change {
      case .changed(let transitions): count(transitions, at: now)
      case .coalesced(let envelopes): count(envelopes, at: now)
      case .accepted(let envelopes): count(envelopes, at: now)
      case .cleared(let backlog): count(backlog, at: now)
      case .unwritten, .endsChanged: break
      }
    }
  }

  /// Counts accepted envelopes; one that only moves to its place in the line was accepted before.
  private mutating func count(_ envelopes: [AcceptedEnvelope], at now: WallTime) {
    turn(to: now)
    for envelope in envelopes where envelope.postCount > 0 {
      note(envelope.entry.upstream) { $0.accepted += Int64(envelope.postCount) }
    }
  }

  /// Later posts have taken the places of these; another upstream may have one less waiting now.
  private mutating func count(_ envelopes: [CoalescedEnvelope], at now: WallTime) {
    turn(to: now)
    for envelope in envelopes {
      note(envelope.formerUpstream) { _ in }
      note(envelope.entry.upstream) { $0.accepted += Int64(envelope.postCount) }
    }
  }

  /// Counts committed transitions.
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

  /// Counts a client's backlog that was cancelled.
  private mutating func count(_ backlog: ClearedBacklog, at now: WallTime) {
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

  /// Completes the counts of past minutes.
  ///
  /// - Parameters:
  ///   - waiting: How many envelopes wait of each upstream now, and in all.
  ///   - isLast: Whether the running minute is completed too, since the relay ends.
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

  /// The complete counts that have not been written.
  package var unwritten: [HistoryRow] { whole.map { HistoryRow($0.key, $0.value) } }

  /// Removes and returns all complete counts, to be written.
  package mutating func takeWhole() -> [HistoryRow] {
    defer { whole.removeAll() }
    return unwritten.sorted {
      ($0.place.minute, $0.place.upstream) < ($1.place.minute, $1.place.upstream)
    }
  }

  /// Takes back rows that could not be written; those of the last hour are kept.
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
