import RelayCore

@testable import StoreModel

// The store: the model's tables, which have what was committed. What is planned and not carried out
// yet is lost if the relay is killed, as it is on a disk.
extension Simulation {
  /// Every seventh lane starts paused, and a transaction puts little in line.
  static let rules = {
    var rules = ModelRules()
    var paused = LaneRules()
    paused.startPaused = true
    rules.startPauses.lanes = LaneRulesTable(
      stride(from: 3, to: devicesMax * 2, by: 7).map {
        LaneRulesTable.Entry(pattern: "\($0)", value: paused)
      })
    rules.placedMax = 3
    return rules
  }()

  /// Makes a transaction, and tells of it what the store would.
  ///
  /// - Returns: What `body` returned, and where what was put into lanes stands; nil if the
  ///   transaction failed, which is a violation.
  @discardableResult
  mutating func transact<Value>(
    _ body: (inout ModelTables, inout Commit) throws(StoreError) -> Value
  ) -> (value: Value, positions: CommitPositions)? {
    var commit = Commit()
    do throws(StoreError) {
      let value = try body(&store, &commit)
      return (value, tell(commit))
    } catch {
      violate("\(error)")
      return nil
    }
  }

  private mutating func tell(_ commit: Commit) -> CommitPositions {
    var positions = CommitPositions()
    for target in commit.startedPaused {
      scheduler.setPaused(true, target, now: clock)
      pauseCount += 1
    }
    if !commit.startedPaused.isEmpty { runs.lookAtAll(in: &scheduler, now: clock) }
    told.formUnion(commit.placedSerials)
    if commit.hasAccepted {
      isTold = false
      readLineBeforeTelling()
      isTold = true
    }
    for change in commit.changes {
      switch change {
      case .changed(let transitions): for transition in transitions { recorded(transition) }
      case .unwritten(let transitions): for transition in transitions { unwritten(transition) }
      case .coalesced(let envelopes):
        coalescedCount += envelopes.count
        for envelope in envelopes {
          positions.coalesced.append(scheduler.coalesced(envelope, now: clock))
        }
      case .accepted(let envelopes):
        for envelope in envelopes { positions.accepted.append(take(envelope)) }
      case .cleared(let backlog):
        for item in backlog.items {
          backoffs[BackoffName(lane: item.lane, upstream: item.upstream)] = nil
        }
        scheduler.cleared(backlog, now: clock)
        runs.cleared(backlog, in: &scheduler, now: clock)
        clearedCount += backlog.items.count
      case .endsChanged: break
      }
    }
    return positions
  }

  private mutating func take(_ envelope: AcceptedEnvelope) -> Int {
    let entry = envelope.entry
    guard envelope.movedFrom == nil else {
      placedCount += 1
      return scheduler.placed(entry, now: clock)
    }
    noteShard(of: entry.client)
    if entry.standing == .parked { awaitNumbers(before: entry) }
    return scheduler.accepted(entry, order: order(of: entry.lane), now: clock)
  }

  // MARK: - Looking

  /// The sequence number of an envelope.
  func sequence(of serial: Serial) -> Int64? { store.envelopes[serial]?.draft.sequence }

  /// The client that a lane belongs to.
  func client(of lane: LaneNumber) -> ClientNumber {
    guard let lane = store.lanes[lane] else { preconditionFailure("no lane is forgotten") }
    return lane.client
  }

  /// What an upstream gets of an envelope: a number, in place of a request.
  static func number(in content: EnvelopeContent) -> Int {
    guard case .inline(let bytes) = content.body else { preconditionFailure("no body is large") }
    return bytes.reduce(0) { $0 << 8 | Int($1) }
  }

  /// The request that has a number for its body.
  static func content(_ number: Int) -> EnvelopeContent {
    EnvelopeContent(
      method: "POST", target: [0x2F], headers: HeaderBlock(), body: .inline(bytes(of: number)))
  }

  /// A number's bytes, the first the most significant.
  static func bytes(of number: Int) -> [UInt8] {
    (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
  }

  static func index(_ upstream: UpstreamNumber) -> Int { Int(upstream.rawValue) - 1 }
}

extension Commit {
  /// What it has put in line or replaced.
  fileprivate var placedSerials: [Serial] {
    changes.flatMap { (change) -> [Serial] in
      switch change {
      case .accepted(let envelopes): envelopes.map(\.entry.serial)
      case .coalesced(let envelopes): envelopes.map(\.entry.serial)
      case .changed, .unwritten, .endsChanged, .cleared: []
      }
    }
  }

  /// Whether something is in line that nobody has been told of.
  fileprivate var hasAccepted: Bool {
    changes.contains { if case .accepted = $0 { true } else { false } }
  }
}
