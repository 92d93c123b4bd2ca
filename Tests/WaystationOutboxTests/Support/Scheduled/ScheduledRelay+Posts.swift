import JSON
import WaystationOutbox

@testable import RelayCore
@testable import StoreModel
@testable import WaystationOutboxTesting

// What devices post.
extension ScheduledRelay {
  /// The answer to a request, once what it asks for is committed.
  mutating func respond(
    _ method: String, _ path: String, _ headers: [(String, String)], _ body: [UInt8],
    _ model: inout RelayModel
  ) -> WaystationOutbox.Response {
    let parts = path.split(separator: "/").map(String.init)
    let bearer = "Bearer \(model.token ?? "")"
    let isSignedIn = headers.contains { $0.0 == "Authorization" && $0.1 == bearer }
    guard isSignedIn, parts.count > 1 else { return model.respond(method, path, headers, body) }
    defer { show(in: &model) }
    switch (method, parts[1]) {
    case ("POST", "sync"):
      let wantsReceipts = headers.contains { $0.0.lowercased() == "prefer" && $0.1 == "receipt" }
      return sync(body, wantsReceipts: wantsReceipts, &model)
    case (_, "clients") where parts.count > 3: return change(method, parts, body, &model)
    default: return model.respond(method, path, headers, body)
    }
  }

  private mutating func sync(
    _ body: [UInt8], wantsReceipts: Bool, _ model: inout RelayModel
  ) -> WaystationOutbox.Response {
    guard body.count <= model.bodyBytesMax else {
      return model.problem(413, "batch-too-large", "split the batch")
    }
    var lines = body.split(separator: UInt8(ascii: "\n")).map(Array.init)
    guard !lines.isEmpty, let question = try? JSONValue.parse(lines.removeFirst()).object() else {
      return model.problem(400, "malformed-json", "no question")
    }
    var results: [RelayModel.Result] = []
    for line in lines { results.append(accept(line, &model)) }
    carryOutActions(&model)
    show(in: &model)
    model.receipts?.commit(model.lanes, at: model.wallMs)
    let since = Int((try? question["since"]?.string()) ?? "0") ?? 0
    return WaystationOutbox.Response(
      status: 200, headers: [("Content-Type", "application/json")],
      body: model.answer(
        results, since: since, asked: model.asked(question), wantsReceipts: wantsReceipts))
  }

  private mutating func accept(_ line: [UInt8], _ model: inout RelayModel) -> RelayModel.Result {
    switch RelayModel.read(line, client: Self.client) {
    case .unreadable(let result): return result
    case .void(let lane, let sequence):
      var draft = draft(lane: lane, path: "/", body: [])
      draft.sequence = Int64(sequence)
      draft.isVoid = true
      return result(of: append(draft), &model)
    case .post(let post):
      if post.path.hasPrefix("/invalid") {
        return .rejected(422, "invalid-field", "the path is invalid")
      }
      if let roomMax = model.roomMax, tables.line.count >= roomMax,
        tables.clients[Self.client].flatMap({ tables.keys[$0]?[post.key] }) == nil
      {
        return .rejected(429, "client-queue-full", "there is no room")
      }
      var draft = draft(lane: post.lane, path: post.path, body: post.body)
      draft.key = post.key
      draft.sequence = post.sequence.map { Int64($0) }
      draft.fingerprint = post.digest + Array((post.signature ?? "").utf8)
      if model.makesReceipts { draft.coveredDigest = post.digest }
      draft.onFailure = post.blocks ? .block : .skip
      let appended = append(draft)
      switch appended {
      case .accepted, .parked: signed[post.key] = (post.digest, post.signature)
      default: break
      }
      return result(of: appended, &model)
    }
  }

  private func draft(lane: String, path: String, body: [UInt8]) -> EnvelopeDraft {
    EnvelopeDraft(
      client: Self.client, lane: lane, upstream: Self.upstreamName,
      content: Self.content(path: path, body: body),
      expiresAt: clock.wall.adding(milliseconds: 604_800_000))
  }

  static func content(path: String, body: [UInt8]) -> EnvelopeContent {
    EnvelopeContent(
      method: "POST", target: Array(path.utf8), headers: HeaderBlock(), body: .inline(body))
  }

  /// Commits one envelope.
  private mutating func append(_ draft: EnvelopeDraft) -> AppendResult? {
    let (now, rules) = (clock.wall, rules)
    let entropy = random.next()
    let written = transact { tables, commit throws(StoreError) in
      let batch = try tables.plan(
        [draft], isAtomic: false, rules, now: now, random: { entropy },
        reserve: { _, _ in false })
      return tables.append(batch, rules, in: &commit)
    }
    return written.flatMap { $0.value.answers(at: $0.positions).first }
  }

  private mutating func result(
    of appended: AppendResult?, _ model: inout RelayModel
  ) -> RelayModel.Result {
    show(in: &model)
    switch appended {
    case .accepted(let id, _, _), .parked(let id, _):
      return taken(id, isNew: true, model)
    case .duplicate(let id, _): return taken(id, isNew: false, model)
    case .void: return .void
    case .keyConflict: return .rejected(422, "key-conflict", "the key was used for something else")
    case .sequenceConflict:
      return .rejected(422, "sequence-conflict", "the number was used for something else")
    case .sequencePassed: return .rejected(422, "sequence-passed", "the number was passed by")
    // A void number that counts as come already.
    case .forgotten: return .void
    case .coalesced, .overQuota, .leftOut, nil:
      return .rejected(500, "internal", "\(String(describing: appended))")
    }
  }

  private func taken(_ id: EnvelopeID, isNew: Bool, _ model: RelayModel) -> RelayModel.Result {
    guard let key = tables.record(id)?.draft.key, let envelope = model.envelopes[key] else {
      return .rejected(500, "internal", "\(id) was stored, and is not there")
    }
    return .taken(envelope, isNew: isNew)
  }
}
