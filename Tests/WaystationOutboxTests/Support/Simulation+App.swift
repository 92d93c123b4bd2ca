import WaystationOutboxTesting

@testable import WaystationOutbox

import struct RelayCore.SplitMix64

// What the app does.
extension Simulation {
  func act() throws {
    switch below(23) {
    case 0...10: try enqueue()
    case 11: try crash()
    case 12:
      try change { core, id in
        try core.cancel(id)
      } whenDone: {
        $0.isGivenUp = true
      }
    case 13: try change { core, id in try core.release(id) }
    case 14:
      try change { core, id in
        try core.resolve(id, retry: self.goodRequest(), discard: nil, at: self.moment)
      } whenDone: {
        $0.isRefused = false
      }
    case 15:
      try change { core, id in
        try core.resolve(id, retry: nil, discard: "no", at: self.moment)
      } whenDone: {
        $0.isGivenUp = true
      }
    case 16: relay.verdict = chance(50) ? .away : .take(status: 200, body: "done")
    case 17: relay.roomMax = chance(50) ? Int(below(4)) : nil
    case 18: try transact { $0.wake() }
    case 19: relay.rotateKeys()
    case 20: relay.makesReceipts = true
    case 22: try changeFile()
    case 21 where lies:
      relay.lie = chance(50) ? nil : RelayLie.allCases[Int(below(Int64(RelayLie.allCases.count)))]
      if relay.lie != nil { faults.append("lies at \(nowMs)") }
    default:
      guard restores else { return }
      if let backup, chance(40) {
        faults.append("restored at \(nowMs)")
        relay.restore(backup.model)
        if let tables = backup.scheduled?.tables { scheduled?.restore(tables) }
        wasRestored = true
      } else {
        backup = (relay, scheduled)
      }
    }
  }

  func newItem() -> NewItem {
    let lane = ["block", "skip", "latest", "free"][Int(below(4))]
    let number = random.next()
    let path = chance(8) ? "/invalid" : chance(8) ? "/refused" : "/good"
    let size = chance(15) ? Int(150 + below(200)) : Int(below(40))
    return NewItem(
      key: "key-\(number)", lane: lane, hold: chance(5),
      coalesce: chance(10) ? "name-\(below(2))" : nil,
      request: KeptRequest(upstream: nil, method: "POST", path: path, headers: []),
      body: body(byteCount: size))
  }

  /// A body of so many bytes; one of two that are large lies in a file.
  private func body(byteCount: Int) -> NewBody {
    guard byteCount > 0 else { return .none }
    let bytes = [UInt8](repeating: 0x61, count: byteCount)
    guard byteCount >= 150, chance(50) else { return .bytes(bytes) }
    let name = "body-\(random.next())"
    guard (try? Platform.write(bytes, toNew: "\(folder)/\(name)")) != nil else {
      return .bytes(bytes)
    }
    return .file(name: name, count: Int64(byteCount), FileSums(of: bytes))
  }

  /// Changes a byte of a file that no relay may have by now.
  private func changeFile() throws {
    guard let core else { return }
    let items = try core.file.items(after: 0, countMax: 1000)
    for item in items where item.bodyKind == .file && !item.isHanded && chance(50) {
      guard !settings.lane(core.name(of: item.lane)).evidence,
        let content = try core.file.content(of: item.id)
      else { continue }
      let path = "\(folder)/\(String(decoding: content.body, as: UTF8.self))"
      var bytes = try Platform.read(path)
      guard !bytes.isEmpty else { continue }
      bytes[Int(below(Int64(bytes.count)))] = Self.changedByte
      try Platform.overwrite(path, with: bytes)
      told[item.id]?.isChanged = true
      faults.append("file of \(item.id) at \(nowMs)")
    }
  }

  /// What no body has that was handed over.
  static let changedByte: UInt8 = 0x63

  func goodRequest() -> RequestEdit {
    RequestEdit(
      request: KeptRequest(upstream: nil, method: "POST", path: "/good", headers: []),
      body: .bytes([0x62]))
  }

  func enqueue() throws {
    let count = Int(1 + below(4))
    let items = (0..<count).map { _ in newItem() }
    var taken: [Item.ID] = []
    try transact { core in
      if case .success(let ids) = try core.enqueue(items, at: moment) { taken = ids }
    }
    for (item, id) in zip(items, taken) {
      let isRefused = item.request.path != "/good"
      told[id.raw] = Told(key: item.key, lane: item.lane, number: id.raw, isRefused: isRefused)
    }
  }

  /// Changes a random item on the device, or at the relay, as the app would.
  func change(
    _ work: (OutboxCore, Item.ID) throws -> Changing,
    whenDone: (inout Told) -> Void = { _ in }
  ) throws {
    let numbers = told.keys.sorted()
    guard !numbers.isEmpty else { return }
    let number = numbers[Int(below(Int64(numbers.count)))]
    var done = false
    var atRelay: (String, RelayChange)?
    try transact { core in
      switch try work(core, Item.ID(raw: number)) {
      case .done: done = true
      case .failed: break
      case .relay(let key, let change): atRelay = (key, change)
      }
    }
    if let (key, change) = atRelay, askRelay(key, change) {
      done = true
      try transact { core in try core.changedAtRelay(key, change, at: moment) }
    }
    if done, var item = told[number] {
      whenDone(&item)
      told[number] = item
    }
  }

  func askRelay(_ key: String, _ change: RelayChange) -> Bool {
    let path = RelayPath.envelope(key, of: "device")
    func ask(_ method: String, _ path: String, _ body: String) -> Bool {
      let response = respond(
        method, path, [("Authorization", "Bearer token")], Array(body.utf8))
      return response.status == 200
    }
    switch change {
    case .cancel: return ask("DELETE", path, "")
    case .discard: return ask("POST", path + "/resolve", #"{"action":"discard"}"#)
    case .retry(nil): return ask("POST", path + "/resolve", #"{"action":"retry"}"#)
    case .retry(.some):
      return ask("PATCH", path, #"{"path":"/good","body":"b"}"#)
        && ask("POST", path + "/resolve", #"{"action":"retry"}"#)
    case .patch: return ask("PATCH", path, #"{"path":"/good","body":"b"}"#)
    }
  }
}
