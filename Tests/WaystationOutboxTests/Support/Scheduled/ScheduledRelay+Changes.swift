import JSON
import WaystationOutbox

@testable import RelayCore
@testable import StoreModel
@testable import WaystationOutboxTesting

// What is changed by key, as apps ask for it.
extension ScheduledRelay {
  mutating func change(
    _ method: String, _ parts: [String], _ body: [UInt8], _ model: inout RelayModel
  ) -> WaystationOutbox.Response {
    guard parts.count >= 5, let client = tables.clients[Self.client],
      let serial = tables.keys[client]?[parts[4]]?.serial, let envelope = tables.envelopes[serial]
    else { return model.problem(404, "unknown-envelope", "there is no such envelope") }
    guard envelope.end == nil else { return model.problem(409, "already-ended", "it has ended") }
    guard
      let command = command(
        method, parts.count > 5 ? parts[5] : "", String(decoding: body, as: UTF8.self), envelope)
    else { return model.problem(404, "not-found", "there is no such route") }
    let verdict = scheduler.obey(command, of: envelope.entry, now: clock)
    guard verdict == .recording else {
      return model.problem(409, "not-blocked", "\(verdict)")
    }
    carryOutActions(&model)
    let (former, deadline) = (life, clock.monotonic.adding(milliseconds: 1000))
    while scheduler.isChanging(envelope.entry), life == former, clock.monotonic < deadline {
      happenNext(&model)
    }
    guard life == former else { return model.problem(503, "shutting-down", "it was killed") }
    return WaystationOutbox.Response(status: 200, headers: [], body: Array("{}".utf8))
  }

  private func command(
    _ method: String, _ action: String, _ body: String, _ envelope: ModelTables.Envelope
  ) -> SteeringCommand? {
    switch (method, action) {
    case ("DELETE", ""): .cancel(reason: "cancelled")
    case ("POST", "resolve"): body.contains("discard") ? .discard(reason: "discarded") : .retry
    case ("PATCH", ""):
      .edit(
        EnvelopeEdit(
          content: Self.content(path: "/good", body: Array("b".utf8)), tag: nil,
          entry: envelope.entry, notBefore: nil))
    default: nil
    }
  }
}

extension Scheduler {
  /// Whether a change of an envelope is on its way to the disk.
  fileprivate func isChanging(_ entry: LineEntry) -> Bool {
    if changing[entry.serial] != nil { return true }
    guard let lane = lanes[entry.lane], lane.head?.serial == entry.serial else { return false }
    return lane.phase == .recording
  }
}
