import EventLoop
import RelayCore
import Synchronization

/// Puts lines about envelopes into the log, each with its envelope's id, in the order in which they
/// were handed over.
///
/// Much of what happens to an envelope is known by the store's number of it, which means nothing to
/// anybody else. Where the id has to be looked up, that line and all after it wait for it, nobody
/// else does, and no more than ``waitingMax`` of them: the others are counted as left out.
final class EnvelopeLog: Sendable {
  /// A line on its way into the log.
  struct Line: Sendable {
    /// The envelope, as far as it is known.
    enum Subject: Sendable {
      case id(EnvelopeID)
      case serial(Serial)
    }

    var subject: Subject
    var level: LogConfiguration.Level
    var event: StaticString
    var fields: [Log.Field]

    init(
      _ subject: Subject, _ level: LogConfiguration.Level, _ event: StaticString,
      _ fields: Log.Field...
    ) {
      self.subject = subject
      self.level = level
      self.event = event
      self.fields = fields
    }

    var serial: Serial? {
      if case .serial(let serial) = subject { serial } else { nil }
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
      guard state.isLookingUp || lines.contains(where: { $0.serial != nil }) else {
        // Under the lock, so that no other line comes in between.
        for line in lines { write(line, ids: [:]) }
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
    let ids = serials.isEmpty ? [:] : try? await store.ids(of: Array(serials))
    for line in shown { write(line, ids: ids ?? [:]) }
  }

  private func write(_ line: Line, ids: [Serial: EnvelopeID]) {
    let id: String
    switch line.subject {
    case .id(let known): id = known.description
    case .serial(let serial): id = ids[serial]?.description ?? Self.unknownID
    }
    log.write(line.level, line.event, fields: [("envelope", .text(id))] + line.fields)
  }
}
