import Foundation
import Glibc

/// Has a real relay do a little of everything that it does to its disk, and records it: over a
/// clean restart, a kill in the middle of a write, and a last process that forgets what has ended.
struct PowerCutWorkload {
  let relay: Relay
  let shim: DiskShim
  private let upstream: TestUpstream
  private let names = Monitor<[String: String]>([:])

  static let clients = (0..<4).map { "device-\($0)" }

  init() throws {
    let refusedOnce = Monitor<Set<String>>([])
    upstream = try TestUpstream { request in
      if request.target.hasSuffix("/refused") { return .answer(404) }
      if request.target.hasSuffix("/later"),
        refusedOnce.change({ $0.insert(request.target).inserted })
      {
        return .answer(503)
      }
      return .answer(200, body: Array("taken".utf8))
    }
    relay = try Relay(upstreams: ["default": Relay.quick(upstream)], more: Self.settings())
    shim = try DiskShim(watching: relay.folder.path)
    relay.setEnvironment(shim.environment(isRecorded: true))
  }

  /// A small threshold for files, and a small log, so that there are many of both.
  private static func settings(
    deliveredSeconds: Int = 86_400
  ) -> [String: any Sendable] {
    [
      "limits": [
        "spoolThresholdBytes": 4096, "storeLogBytesMax": 1_048_576, "diskReserveBytes": 65_536,
      ] as [String: any Sendable],
      "retention": ["deliveredSeconds": deliveredSeconds] as [String: any Sendable],
    ]
  }

  /// Runs it; afterwards the relay has stopped.
  func run() async throws {
    try await relay.start()
    let listener = try await Listener(relay)
    try await hold()
    try await number()
    try await post(0..<12)
    try await coalesce()
    try await clear()
    let location = try await upload()
    try await delivered()
    _ = listener
    relay.signal(SIGTERM)
    try await relay.ending()

    try await relay.start()
    try await append(6000..<8000, of: 13, to: location)
    try await post(12..<20)
    try await kill(posting: 20..<24)

    try relay.configure(
      upstreams: ["default": Relay.quick(upstream)], more: Self.settings(deliveredSeconds: 0))
    try await relay.start()
    try await post(24..<30)
    try await delivered()
    try await forgotten()
    relay.signal(SIGTERM)
    try await relay.ending()
  }

  /// Under which key each acknowledged envelope was posted, by its id.
  var keys: [String: String] { names.read { $0 } }

  /// Notes under which keys what was taken is known.
  private func note(_ answer: WireResponse, _ keys: [String]) {
    let json = try? answer.json()
    let results = json?["results"] as? [[String: Any]]
    let ids =
      results?.map { $0["id"] as? String ?? "" }
      ?? [answer["Waystation-Id"] ?? json?["id"] as? String ?? ""]
    names.change { names in
      for (id, key) in zip(ids, keys) where names[id] == nil { names[id] = key }
    }
  }

  private func envelope(
    _ client: String, _ index: Int, _ more: [String: any Sendable] = [:]
  ) -> [String: any Sendable] {
    let key = PowerCutPost.key(client, index)
    let word = index % 10 == 3 ? "later" : index % 10 == 7 ? "refused" : ""
    return [
      "key": key, "path": PowerCutPost.path(client, index, word),
      "body": String(decoding: PowerCutPost.body(ofKey: key), as: UTF8.self),
    ].merging(more) { _, given in given }
  }

  /// Each client posts its share, alone, relayed, in batches, and waiting for the answer; all of
  /// them at once.
  private func post(_ range: Range<Int>) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for client in Self.clients {
        group.addTask { try await post(range, of: client) }
      }
      try await group.waitForAll()
    }
  }

  private func post(_ range: Range<Int>, of client: String) async throws {
    let device = relay.device(client)
    var index = range.lowerBound
    while index < range.upperBound {
      let key = PowerCutPost.key(client, index)
      switch index % 4 {
      case 0:
        note(try await device.post(envelope(client, index)), [key])
      case 1:
        let answer = try await device.relay(
          "POST", PowerCutPost.path(client, index),
          headers: ["Idempotency-Key": key, "Prefer": index % 8 == 1 ? "wait=5" : "respond-async"],
          body: PowerCutPost.body(ofKey: key))
        note(answer, [key])
      default:
        let end = min(index + 2, range.upperBound)
        let answer = try await device.post(batch: (index..<end).map { envelope(client, $0) })
        note(answer, (index..<end).map { PowerCutPost.key(client, $0) })
        index = end - 1
      }
      index += 1
    }
  }

  /// Holds some, corrects one and cancels another.
  private func hold() async throws {
    let device = relay.device("held")
    var ids: [String] = []
    for index in 0..<3 {
      let answer = try await device.post(envelope("held", index, ["hold": true, "lane": "h"]))
      note(answer, [PowerCutPost.key("held", index)])
      ids.append(try answer.json()["id"] as? String ?? "")
    }
    let path = PowerCutPost.path("held", 0) + PowerCutPost.correction
    _ = try await device.request(
      "PATCH", "/v1/envelopes/\(ids[0])",
      headers: ["Content-Type": "application/merge-patch+json"],
      body: Device.json(["path": path]))
    _ = try await device.request("DELETE", "/v1/envelopes/\(ids[1])")
  }

  /// Posts sequence numbers out of their order, so that some are parked.
  private func number() async throws {
    let device = relay.device("numbers")
    for number in [1, 3, 2, 6, 5, 4, 8] {
      let answer = try await device.post(envelope("numbers", number, ["sequence": number]))
      note(answer, [PowerCutPost.key("numbers", number)])
    }
  }

  /// Posts contents that take each other's place in a client that stands still.
  private func coalesce() async throws {
    let client = PowerCutPost.versions
    let device = relay.device(client)
    _ = try await device.request("POST", "/v1/clients/\(client)/pause")
    for index in 1..<6 {
      let answer = try await device.post(
        envelope(client, index, ["path": "/\(client)", "coalesce": "state"]))
      note(answer, [PowerCutPost.key(client, index)])
    }
    _ = try await device.request("POST", "/v1/clients/\(client)/resume")
  }

  /// Forgets a backlog.
  private func clear() async throws {
    let device = relay.device("cleared")
    _ = try await device.request("POST", "/v1/clients/cleared/pause")
    for index in 0..<5 {
      note(
        try await device.post(envelope("cleared", index)), [PowerCutPost.key("cleared", index)])
    }
    _ = try await device.request("DELETE", "/v1/clients/cleared/envelopes")
  }

  /// Sends one body in parts, and the beginning of another one.
  ///
  /// - Returns: Where the one is found that goes on.
  private func upload() async throws -> String {
    let client = PowerCutPost.uploads
    var location = ""
    for index in [4, 13] {
      let key = PowerCutPost.key(client, index)
      let answer = try await relay.device(client).relay(
        "POST", PowerCutPost.path(client, index),
        headers: ["Idempotency-Key": key, "Upload-Complete": "?0"],
        body: Array(PowerCutPost.body(ofKey: key)[..<3000]))
      location = answer["Location"] ?? ""
      try await append(3000..<6000, of: index, to: location)
      guard index == 4 else { continue }
      let end = PowerCutPost.body(ofKey: key).count
      note(try await append(6000..<end, of: index, to: location, completes: true), [key])
    }
    return location
  }

  /// Sends a part of a body.
  @discardableResult
  private func append(
    _ range: Range<Int>, of index: Int, to location: String, completes: Bool = false
  ) async throws -> WireResponse {
    let client = PowerCutPost.uploads
    let body = PowerCutPost.body(ofKey: PowerCutPost.key(client, index))
    return try await relay.device(client).request(
      "PATCH", location, headers: Uploader.appending(at: range.lowerBound, completes: completes),
      body: Array(body[range]))
  }

  /// Waits until nothing waits of those who post.
  private func delivered() async throws {
    for client in Self.clients {
      try await eventually("the end of what \(client) has posted") {
        let view = try await relay.device(client).get("/v1/clients/\(client)").json()
        return view["waiting"] as? Int == 0 ? true : nil
      }
    }
  }

  /// Kills the relay while it writes, with posts under way that nobody sees answered.
  private func kill(posting range: Range<Int>) async throws {
    async let posts: Void = post(range)
    shim.freeze()
    try await eventually("a write that is stopped") { shim.isFrozen ? true : nil }
    relay.signal(SIGKILL)
    try await relay.ending()
    shim.thaw()
    try? await posts
  }

  /// Waits until what was delivered is forgotten.
  private func forgotten() async throws {
    let device = relay.device(Self.clients[0])
    try await eventually("an envelope that is forgotten") {
      let key = PowerCutPost.key(Self.clients[0], 0)
      let answer = try await device.get("/v1/clients/\(Self.clients[0])/envelopes/\(key)")
      return answer.status == 404 ? true : nil
    }
  }
}
