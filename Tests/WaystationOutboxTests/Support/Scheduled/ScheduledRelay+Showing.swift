@testable import RelayCore
@testable import StoreModel
@testable import WaystationOutboxTesting

// What the device may be told.
extension ScheduledRelay {
  /// Has the model as the tables are.
  ///
  /// What has got its place in a lane since then is added to the model's receipts.
  mutating func show(in model: inout RelayModel) {
    for envelope in tables.envelopes.values {
      guard let key = envelope.draft.key else { continue }
      model.envelopes[key] = shown(envelope, key)
    }
    guard let record = tables.client(Self.client) else { return }
    for lane in record.lanes {
      if !model.lanes.contains(lane.name) { model.lanes.append(lane.name) }
      show(lane, in: &model)
    }
    model.ends += newEnds
    newEnds = []
  }

  private func shown(_ envelope: ModelTables.Envelope, _ key: String) -> RelayModel.Envelope {
    let state = tables.state(of: envelope)
    var body: [UInt8] = []
    if case .inline(let bytes) = envelope.draft.content.body { body = bytes }
    return RelayModel.Envelope(
      id: "\(envelope.id)", key: key, lane: envelope.draft.lane,
      sequence: envelope.draft.sequence.map { UInt64($0) },
      path: String(decoding: envelope.draft.content.target, as: UTF8.self), body: body,
      blocks: envelope.draft.onFailure == .block,
      state: RelayModel.State(rawValue: state.rawValue) ?? .queued,
      status: envelope.response?.status,
      answer: String(decoding: envelope.response?.body ?? [], as: UTF8.self), expires: false,
      digest: envelope.draft.coveredDigest, sent: signed[key]?.digest ?? [],
      signature: signed[key]?.signature)
  }

  private func show(_ record: LaneRecord, in model: inout RelayModel) {
    guard let lane = tables.lanes[record.number],
      let place = model.lanes.firstIndex(of: record.name)
    else { return }
    var shown = model.lanesByName[record.name] ?? RelayModel.Lane()
    shown.line = tables.line.filter { $0.lane == record.number && $0.standing != .parked }
      .compactMap { tables.envelopes[$0.serial]?.draft.key }
    if let last = record.lastSequence {
      shown.isNumbered = true
      for (number, serial) in lane.numbers {
        shown.keys[UInt64(number)] = tables.envelopes[serial]?.draft.key
      }
      while shown.last < UInt64(last) {
        shown.last += 1
        let envelope = shown.keys[shown.last].flatMap { model.envelopes[$0] }
        model.receipts?.add(shown.last, ModelReceipts.Came(envelope), record.name, place)
      }
      shown.skipped = []
      for range in record.skipped {
        shown.skipped.formUnion(UInt64(range.first)...UInt64(range.last))
      }
      shown.come = come(above: last, in: lane)
    }
    model.lanesByName[record.name] = shown
  }

  /// The numbers above one that have come, though others before them have not.
  private func come(above last: Int64, in lane: ModelTables.Lane) -> Set<UInt64> {
    guard let highest = lane.lastSequence, highest > last else { return [] }
    let missing = lane.gaps.filter { !$0.isSkipped }.map(\.range)
    return Set(
      (last + 1...highest).filter { number in
        !missing.contains { $0.first <= number && number <= $0.last }
      }.map { UInt64($0) })
  }
}
