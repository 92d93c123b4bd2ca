import JSON
import RelayCore
import WaystationOutbox

extension RelayModel {
  // MARK: - Syncs

  mutating func sync(_ body: [UInt8], wantsReceipts: Bool) -> Response {
    guard body.count <= bodyBytesMax else {
      return problem(413, "batch-too-large", "split the batch")
    }
    var lines = body.split(separator: UInt8(ascii: "\n")).map(Array.init)
    guard !lines.isEmpty, let question = try? JSONValue.parse(lines.removeFirst()).object() else {
      return problem(400, "malformed-json", "no question")
    }
    if let client = try? question["client"]?.string() {
      clientName = client
      receipts?.client = client
    }
    let results = lines.map { accept($0) }
    receipts?.commit(lanes, at: wallMs)
    handOn()
    let since = Int((try? question["since"]?.string()) ?? "0") ?? 0
    return Response(
      status: 200, headers: [("Content-Type", "application/json")],
      body: answer(
        results, since: since, asked: asked(question), wantsReceipts: wantsReceipts))
  }

  func asked(_ question: JSONObject) -> [(name: String, first: UInt64, last: UInt64)] {
    guard let lanes = try? question["lanes"]?.array() else { return [] }
    return lanes.compactMap { element in
      guard let lane = try? element.object(), let name = try? lane["lane"]?.string(),
        let first = try? lane["first"]?.int64(), let last = try? lane["last"]?.int64()
      else { return nil }
      return (name, UInt64(first), UInt64(last))
    }
  }

  enum Result {
    case taken(Envelope, isNew: Bool)
    case void
    case rejected(Int, String, String)
  }

  /// A line of a sync, as it is read.
  enum Line {
    case post(Post)
    case void(lane: String, UInt64)
    case unreadable(Result)
  }

  /// An envelope as it is posted.
  struct Post {
    let key: String
    let lane: String
    let sequence: UInt64?
    let path: String
    let body: [UInt8]
    let blocks: Bool
    let expires: Bool
    /// What a receipt covers of it.
    let digest: [UInt8]
    /// The device's signature.
    let signature: String?
  }

  mutating func accept(_ line: [UInt8]) -> Result {
    switch Self.read(line, client: clientName) {
    case .unreadable(let result): result
    case .void(let lane, let sequence): declareVoid(lane, sequence)
    case .post(let post):
      place(
        key: post.key, lane: post.lane, sequence: post.sequence, path: post.path, post.body,
        blocks: post.blocks, expires: post.expires, digest: post.digest,
        signature: post.signature)
    }
  }

  /// Reads a line.
  static func read(_ line: [UInt8], client: String) -> Line {
    guard let object = try? JSONValue.parse(line).object(),
      let lane = try? object["lane"]?.string()
    else { return .unreadable(.rejected(400, "malformed-json", "no envelope")) }
    let sequence = ((try? object["sequence"]?.int64()) ?? nil).map { UInt64($0) }
    if let sequence, (try? object["void"]?.bool()) == true { return .void(lane: lane, sequence) }
    guard let key = try? object["key"]?.string(), let path = try? object["path"]?.string() else {
      return .unreadable(.rejected(422, "missing-field", "no key or no path"))
    }
    let (body, type, signature) = content(of: object)
    let digest = digest(
      client: client, key: key, lane: lane, sequence: sequence ?? 0,
      upstream: (try? object["upstream"]?.string()) ?? nil,
      method: (try? object["method"]?.string()) ?? nil, path: path, type: type, body: body)
    return .post(
      Post(
        key: key, lane: lane, sequence: sequence, path: path, body: body,
        blocks: object["onFailure"]?.equals("block") == true, expires: object["expiresIn"] != nil,
        digest: digest, signature: signature))
  }

  private static func content(
    of object: JSONObject
  ) -> (body: [UInt8], type: String?, signature: String?) {
    var body: [UInt8] = []
    var type: String?
    var signature: String?
    if let text = try? object["body"]?.utf8() {
      body = text
      type = "text/plain; charset=utf-8"
    }
    if let text = try? object["bodyBase64"]?.string() {
      body = (try? Base64.decode(Array(text.utf8))) ?? []
    }
    if let headers = try? object["headers"]?.object() {
      for field in headers {
        switch field.name.string.lowercased() {
        case "content-type": type = try? field.value.string()
        case "item-signature": signature = try? field.value.string()
        default: break
        }
      }
    }
    return (body, type, signature)
  }

  mutating func place(
    key: String, lane name: String, sequence: UInt64?, path: String, _ body: [UInt8],
    blocks: Bool, expires: Bool, digest: [UInt8], signature: String?
  ) -> Result {
    if let known = envelopes[key] {
      guard known.path == path, known.lane == name, known.sequence == sequence,
        known.signature == signature
      else {
        return .rejected(422, "key-conflict", "the key was used for something else")
      }
      return .taken(known, isNew: false)
    }
    if path.hasPrefix("/invalid") { return .rejected(422, "invalid-field", "the path is invalid") }
    if let roomMax, envelopes.values.count(where: { !$0.state.isOver }) >= roomMax {
      return .rejected(429, "client-queue-full", "there is no room")
    }
    var lane = lanesByName[name] ?? Lane()
    if !lanes.contains(name) { lanes.append(name) }
    if let sequence {
      lane.isNumbered = true
      if lane.skipped.contains(sequence) {
        return .rejected(422, "sequence-passed", "the number was passed by")
      }
      if refusedOnce.remove(path) != nil {
        lane.skipped.insert(sequence)
        lane.come.insert(sequence)
        lanesByName[name] = lane
        moveUp(name)
        return .rejected(429, "client-queue-full", "there is no room for it")
      }
      if sequence <= lane.last || lane.come.contains(sequence) {
        return .rejected(422, "sequence-conflict", "the number was used for something else")
      }
      lane.come.insert(sequence)
      lane.keys[sequence] = key
    }
    let envelope = Envelope(
      id: "relay-\(nextID)", key: key, lane: name, sequence: sequence, path: path, body: body,
      blocks: blocks, state: sequence == nil ? .queued : .parked, expires: expires,
      digest: makesReceipts ? digest : [], sent: digest, signature: signature)
    nextID += 1
    envelopes[key] = envelope
    if sequence == nil { lane.line.append(key) }
    lanesByName[name] = lane
    if sequence != nil { moveUp(name) }
    return .taken(envelopes[key] ?? envelope, isNew: true)
  }

  mutating func declareVoid(_ name: String, _ sequence: UInt64) -> Result {
    var lane = lanesByName[name] ?? Lane()
    if !lanes.contains(name) { lanes.append(name) }
    lane.isNumbered = true
    if lane.keys[sequence] != nil {
      return .rejected(422, "sequence-conflict", "an envelope has the number")
    }
    if sequence > lane.last { lane.come.insert(sequence) }
    lanesByName[name] = lane
    moveUp(name)
    return .void
  }

  /// Lets what waited for the numbers that have come by now take its place.
  mutating func moveUp(_ name: String) {
    guard var lane = lanesByName[name], let place = lanes.firstIndex(of: name) else { return }
    while lane.come.remove(lane.last + 1) != nil {
      lane.last += 1
      let number = lane.last
      let envelope = lane.keys[number].flatMap { envelopes[$0] }
      receipts?.add(number, ModelReceipts.Came(envelope), name, place)
      guard let key = lane.keys[number] else { continue }
      if envelopes[key]?.state == .parked {
        envelopes[key]?.state = .queued
        lane.line.append(key)
      }
    }
    lanesByName[name] = lane
  }
  // MARK: - The upstream

  /// Hands on what waits, each lane in its order.
  package mutating func handOn() {
    for name in lanes {
      while let key = lanesByName[name]?.line.first, let envelope = envelopes[key] {
        if envelope.state == .blocked { break }
        if envelope.state.isOver {
          lanesByName[name]?.line.removeFirst()
          continue
        }
        guard attempt(envelope) else { break }
        lanesByName[name]?.line.removeFirst()
      }
    }
  }

  /// - Returns: Whether the lane goes on.
  mutating func attempt(_ envelope: Envelope) -> Bool {
    switch verdicts[envelope.path] ?? verdict {
    case .away: return false
    case .take(let status, let body):
      took(envelope)
      end(envelope.key, .delivered, status, body)
      return true
    case .refuse(let status, let body):
      requests.append(envelope)
      if envelope.blocks {
        envelopes[envelope.key]?.state = .blocked
        envelopes[envelope.key]?.status = status
        return false
      }
      end(envelope.key, .failed, status, body)
      return true
    }
  }

  /// The upstream has taken an envelope.
  package mutating func took(_ envelope: Envelope) {
    delivered.append(envelope)
    requests.append(envelope)
  }

  mutating func end(_ key: String, _ state: State, _ status: Int?, _ answer: String) {
    envelopes[key]?.state = state
    envelopes[key]?.status = status
    envelopes[key]?.answer = answer
    ends.append(key)
  }
}
