import EventLoop
import RelayCore
import Synchronization

/// Puts lines about envelopes into the log, each with its envelope's id, client, lane and upstream,
/// in the order in which they were handed over.
///
/// Much of what happens to an envelope is known by the store's number of it, which means nothing to
/// anybody else. Where the id or the names have to be looked up, that line and all after it wait
/// for them, nobody else does, and no more than ``waitingMax`` of them: the others are counted as
/// left out.
final class EnvelopeLog: Sendable {
  /// A line on its way into the log.
  struct Line: Sendable {
    /// The envelope, as far as it is known.
    enum Subject: Sendable {
      case id(EnvelopeID)
      case serial(Serial)
    }

    /// The names that go with an envelope.
    struct Place: Sendable {
      var client: String
      var lane: String
      var upstream: String

      /// Its fields in the log.
      var fields: [Log.Field] {
        [("client", .text(client)), ("lane", .text(lane)), ("upstream", .text(upstream))]
      }
    }

    var subject: Subject
    /// nil where it has to be looked up.
    var place: Place?
    var level: LogConfiguration.Level
    var event: StaticString
    var fields: [Log.Field]

    init(
      _ subject: Subject, at place: Place? = nil, _ level: LogConfiguration.Level,
      _ event: StaticString, _ fields: Log.Field...
    ) {
      self.subject = subject
      self.place = place
      self.level = level
      self.event = event
      self.fields = fields
    }

    var serial: Serial? {
      if case .serial(let serial) = subject { serial } else { nil }
    }

    /// Whether it can be written without a look into the store.
    var isWhole: Bool { serial == nil && place != nil }

    fileprivate func id(by ids: [Serial: EnvelopeID]) -> EnvelopeID? {
      switch subject {
      case .id(let known): known
      case .serial(let serial): ids[serial]
      }
    }
  }

  private struct State {
    var waiting: [Line] = []
    var isLookingUp = false
    var waitsForNone: [CheckedContinuation<Void, Never>] = []
  }

  /// The most lines that wait for an id.
  static let waitingMax = 20_000
  /// The most ids that are asked for at a time.
  private static let idsPerLookMax = 1000
  /// The text for an id that the store does not know, since it is damaged or cannot be read just
  /// now.
  private static let unknownID = "unknown"

  let log: Log
  private let store: any EnvelopeStore
  private let loop: EventLoop
  private let state = Mutex(State())

  init(log: Log, store: any EnvelopeStore, loop: EventLoop) {
    self.log = log
    self.store = store
    self.loop = loop
  }

  /// Whether lines of a level are written.
  func isOn(_ level: LogConfiguration.Level) -> Bool { log.isOn(level) }

  /// Has lines written; in the order of the calls, if one comes after the other.
  func tell(_ lines: some Sequence<Line>) {
    var lines = lines.filter { log.isOn($0.level) }
    guard !lines.isEmpty else { return }
    let begins = state.withLock { state in
      guard state.isLookingUp || !lines.allSatisfy(\.isWhole) else {
        // Under the lock, so that no other line comes in between.
        for line in lines { write(line, line.id(by: [:]), line.place) }
        return false
      }
      let room = max(0, Self.waitingMax - state.waiting.count)
      if room < lines.count {
        for line in lines[room...] { log.leaveOut(1, line.level) }
        lines.removeSubrange(room...)
      }
      state.waiting += lines
      defer { state.isLookingUp = true }
      return !state.isLookingUp
    }
    if begins { Task(executorPreference: loop) { await self.lookUp() } }
  }

  /// Has one line written.
  func tell(_ line: Line) { tell(CollectionOfOne(line)) }

  /// Returns once all lines that were handed over are in the log.
  func settled() async {
    await withCheckedContinuation { continuation in
      let isOver = state.withLock { state in
        if state.isLookingUp { state.waitsForNone.append(continuation) }
        return !state.isLookingUp
      }
      if isOver { continuation.resume() }
    }
  }

  private func lookUp() async {
    while true {
      let (lines, over) = state.withLock { state -> ([Line], [CheckedContinuation<Void, Never>]) in
        let lines = Array(state.waiting.prefix(Self.idsPerLookMax))
        state.waiting.removeFirst(lines.count)
        guard lines.isEmpty else { return (lines, []) }
        defer { state.waitsForNone = [] }
        state.isLookingUp = false
        return ([], state.waitsForNone)
      }
      for continuation in over { continuation.resume() }
      if lines.isEmpty { return }
      await write(lines)
    }
  }

  private func write(_ lines: [Line]) async {
    // What would only be counted is not worth a look into the store.
    let shown = lines.filter { line in
      let hasRoom = !log.isFull(line.level)
      if !hasRoom { log.leaveOut(1, line.level) }
      return hasRoom
    }
    let serials = Set(shown.compactMap(\.serial))
    let found = serials.isEmpty ? [:] : try? await store.ids(of: Array(serials))
    let ids = found ?? [:]
    let places = await places(of: Set(shown.compactMap { $0.place == nil ? $0.id(by: ids) : nil }))
    for line in shown {
      let id = line.id(by: ids)
      write(line, id, line.place ?? id.flatMap { places[$0] })
    }
  }

  /// The names that go with envelopes; without those that the store does not know, as above.
  private func places(of ids: Set<EnvelopeID>) async -> [EnvelopeID: Line.Place] {
    guard !ids.isEmpty, let summaries = try? await store.summaries(of: Array(ids)) else {
      return [:]
    }
    return Dictionary(
      summaries.map { summary in
        let terms = summary.terms
        return (
          summary.id,
          Line.Place(client: terms.client, lane: terms.lane, upstream: terms.upstream)
        )
      }, uniquingKeysWith: { first, _ in first })
  }

  private func write(_ line: Line, _ id: EnvelopeID?, _ place: Line.Place?) {
    let envelope: Log.Field = ("envelope", .text(id?.description ?? Self.unknownID))
    log.write(
      line.level, line.event, fields: [envelope] + (place?.fields ?? []) + line.fields)
  }
}
