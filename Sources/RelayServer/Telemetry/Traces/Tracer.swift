import EventLoop
import Forwarder
import RelayCore
import Synchronization

/// Tells of envelopes in the traces that they belong to.
///
/// It is told what becomes of envelopes as the metrics are, makes spans of it, and hands them to
/// the exporter, which never waits. Where tracing is off, each of these calls costs one look at a
/// flag.
package final class Tracer: Sendable {
  /// An envelope that is being attempted, or whose attempt has ended and is not on disk yet.
  fileprivate struct Flight {
    var envelope: TracedEnvelope
    var lane: LaneNumber
    /// nil once its span was made.
    var attempt: TracedAttempt?
  }

  fileprivate struct State {
    var share = 0.0
    var flights: [Serial: Flight] = [:]
    /// Names of lanes, which attempts know by number alone.
    var lanes: [LaneNumber: String] = [:]
  }

  /// The end of an envelope that was not being attempted, and so has to be looked up.
  private struct UnknownEnd {
    var serial: Serial
    var state: EnvelopeState
    var reason: String
    var at: WallTime
  }

  /// The most lane names that are kept.
  private static let lanesMax = 10_000
  /// The most ends that are looked up at the same time.
  private static let lookUpsMax = 1000

  private let enabled = Atomic(false)
  private let state = Mutex(State())
  private let lookUps = Atomic(0)
  private let exporter: SpanExporter
  private let store: any EnvelopeStore
  private let loop: EventLoop

  /// Makes one that is off.
  init(
    store: any EnvelopeStore, loop: EventLoop, log: Log
  ) {
    self.store = store
    self.loop = loop
    exporter = SpanExporter(loop: loop, log: log)
  }

  /// The counts of spans so far.
  package var figures: SpanQueue.Figures { exporter.figures }

  /// Whether spans are sent.
  var isOn: Bool { enabled.load(ordering: .relaxed) }

  // MARK: - Configuration

  /// Prepares what a configuration says, so that ``go(by:_:)`` cannot fail.
  func link(
    to configuration: TracingConfiguration, _ files: UpstreamFiles
  ) throws -> SpanExporter.Link? {
    try exporter.link(to: configuration, files)
  }

  /// Goes by another configuration from now on.
  func update(to configuration: TracingConfiguration, _ link: SpanExporter.Link?) {
    state.withLock { state in
      state.share = configuration.sampleRatio
      if link == nil { state = State() }
    }
    exporter.update(to: link, configuration.queue)
    enabled.store(link != nil, ordering: .relaxed)
  }

  /// The relay is about to end: what waits goes out at once.
  func hurry() { exporter.hurry() }

  /// Tries once to export what waits, but no longer than until then.
  func stop(until deadline: MonotonicTime) async {
    await exporter.stop(until: deadline)
    enabled.store(false, ordering: .relaxed)
  }

  /// The trace of an envelope: the one that its sender names, or the one that the relay has begun.
  func traceID(of record: EnvelopeRecord) -> String? {
    let headers = record.draft.content.headers
    if let id = TraceParent.traceID(in: headers) { return id }
    guard isOn else { return nil }
    let share = state.withLock { $0.share }
    return TracedEnvelope.ownTrace(of: record.id, headers: headers, share: share)?.description
  }

  // MARK: - Acceptance

  private func accepted(_ envelopes: [AcceptedEnvelope], at now: WallTime) {
    exporter.export(
      envelopes.compactMap { envelope in
        guard let draft = envelope.draft, envelope.movedFrom == nil else { return nil }
        return span(
          of: envelope.id, envelope.revision, draft, envelope.entry, from: envelope.id.acceptedAt,
          to: now)
      })
  }

  private func coalesced(_ envelopes: [CoalescedEnvelope], at now: WallTime) {
    exporter.export(
      envelopes.compactMap {
        span(of: $0.id, $0.revision, $0.draft, $0.entry, from: now, to: now)
      })
  }

  /// The span of an acceptance; nil if it is not told.
  private func span(
    of id: EnvelopeID, _ revision: Int64, _ draft: EnvelopeDraft, _ entry: LineEntry,
    from start: WallTime, to end: WallTime
  ) -> TraceSpan? {
    let share = state.withLock { state in
      state.name(entry.lane, draft.lane, countMax: Self.lanesMax)
      return state.share
    }
    let envelope = TracedEnvelope(
      id, revision: revision, headers: draft.content.headers, client: draft.client,
      upstream: draft.upstream, share: share)
    return envelope?.accepted(
      lane: draft.lane, state: entry.standing.state, from: start, to: end)
  }

  // MARK: - Attempts

  /// An attempt is about to begin: the upstream is told its span.
  func begin(
    _ request: inout AttemptRequest, of envelope: DeliverableEnvelope, in lane: LaneNumber
  ) {
    guard isOn else { return }
    let share = state.withLock { $0.share }
    let traced = TracedEnvelope(
      envelope.id, revision: envelope.revision, headers: envelope.content.headers,
      client: envelope.client, upstream: request.target.name, share: share)
    let attempt = traced.map { _ in TracedAttempt(request) }
    if var context = traced?.context, let attempt {
      context.parent = attempt.span
      request.traceParent = context.fieldValue
    }
    let isNamed = state.withLock { state in
      state.flights[envelope.serial] = traced.map {
        Flight(envelope: $0, lane: lane, attempt: attempt)
      }
      return state.lanes[lane] != nil
    }
    if traced != nil, !isNamed { learnName(of: lane) }
  }

  private func learnName(of lane: LaneNumber) {
    Task(executorPreference: loop) { [self] in
      guard let names = try? await store.laneNames([lane]), let name = names[lane] else { return }
      state.withLock { $0.name(lane, name.lane, countMax: Self.lanesMax) }
    }
  }

  /// Attempts have ended, or were called off before they began.
  func ended(_ batch: AttemptBatch) {
    guard isOn else { return }
    let spans = state.withLock { state in
      let spans = batch.reports.compactMap { state.span(of: $0) }
      for serial in batch.withdrawn { state.flights[serial] = nil }
      return spans
    }
    exporter.export(spans)
  }

  /// Attempts were called off before the forwarder had them.
  func withdrawn(_ serials: [Serial]) {
    guard isOn else { return }
    state.withLock { state in
      for serial in serials { state.flights[serial] = nil }
    }
  }

  // MARK: - Ends

  private func changed(_ transitions: [Transition]) {
    var unknown: [UnknownEnd] = []
    let spans = state.withLock { state in
      var spans: [TraceSpan] = []
      for transition in transitions {
        if case .begin = transition.change { continue }
        let flight = state.flights.removeValue(forKey: transition.serial)
        guard case .end(let end, let reason) = transition.change, !transition.isMoot else {
          continue
        }
        if let flight {
          spans.append(
            flight.envelope.ended(
              end, reason: reason, attempts: transition.attempt?.number,
              lane: state.lanes[flight.lane], at: transition.at))
        } else if !transition.wasSent {
          unknown.append(
            UnknownEnd(serial: transition.serial, state: end, reason: reason, at: transition.at))
        }
      }
      return spans
    }
    exporter.export(spans)
    lookUp(unknown)
  }

  private func cleared(_ backlog: ClearedBacklog, at now: WallTime) {
    let reason = "it was cancelled with others of its client"
    lookUp(
      backlog.items.prefix(Self.lookUpsMax).map {
        UnknownEnd(serial: $0.serial, state: .cancelled, reason: reason, at: now)
      })
    exporter.countSkipped(max(0, backlog.items.count - Self.lookUpsMax))
  }

  /// An envelope that was not attempted just before is not in memory; its trace is in the store.
  private func lookUp(_ ends: [UnknownEnd]) {
    guard !ends.isEmpty else { return }
    let underWay = lookUps.add(ends.count, ordering: .relaxed).newValue
    let room = max(0, Self.lookUpsMax - (underWay - ends.count))
    let told = ends.prefix(room)
    exporter.countSkipped(ends.count - told.count)
    Task(executorPreference: loop) { [self] in
      let ids = (try? await store.ids(of: told.map(\.serial))) ?? [:]
      for end in told {
        if let id = ids[end.serial], let record = try? await store.envelope(id) {
          tell(end, of: record)
        }
      }
      lookUps.subtract(ends.count, ordering: .relaxed)
    }
  }

  private func tell(_ end: UnknownEnd, of record: EnvelopeRecord) {
    let share = state.withLock { $0.share }
    let draft = record.draft
    guard isOn, !record.isUnreadable,
      let envelope = TracedEnvelope(
        record.id, revision: record.revision, headers: draft.content.headers, client: draft.client,
        upstream: draft.upstream, share: share)
    else { return }
    exporter.export([
      envelope.ended(
        end.state, reason: end.reason, attempts: record.attemptCount, lane: draft.lane, at: end.at)
    ])
  }
}

extension Tracer: CommitListener {
  /// Makes spans of acceptances and ends.
  package func committed(_ commit: Commit, at now: Now) {
    guard isOn else { return }
    for change in commit.changes {
      switch change {
      case .changed(let transitions): changed(transitions)
      case .coalesced(let envelopes): coalesced(envelopes, at: now.wall)
      case .accepted(let envelopes): accepted(envelopes, at: now.wall)
      case .cleared(let backlog): cleared(backlog, at: now.wall)
      case .unwritten, .endsChanged: break
      }
    }
  }
}

extension Tracer.State {
  /// Notes what a lane is called; where there are too many, the others are forgotten.
  fileprivate mutating func name(_ lane: LaneNumber, _ name: String, countMax: Int) {
    guard lanes[lane] == nil else { return }
    if lanes.count >= countMax { lanes.removeAll(keepingCapacity: true) }
    lanes[lane] = name
  }

  /// The span of an attempt that has ended; nil if it is not told, or nothing was sent.
  fileprivate mutating func span(of report: AttemptReport) -> TraceSpan? {
    guard let flight = flights[report.serial], let attempt = flight.attempt else { return nil }
    flights[report.serial]?.attempt = nil
    if case .unsendable = report.event { return nil }
    return flight.envelope.attempted(attempt, report, lane: lanes[flight.lane])
  }
}

extension Transition {
  /// Whether an attempt led to it that the forwarder has made.
  fileprivate var wasSent: Bool {
    guard let attempt else { return false }
    return attempt.outcome != .refused || attempt.status != nil
  }
}
