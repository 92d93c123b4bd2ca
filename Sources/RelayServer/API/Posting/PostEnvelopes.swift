import HTTPServer
import JSON
import RelayCore

/// `POST /v1/envelopes`: one envelope, or many in one durable commit.
struct PostEnvelopes {
  private let context: EndpointContext
  private let decoder: EnvelopeDecoder

  init(_ context: EndpointContext) {
    self.context = context
    decoder = EnvelopeDecoder(context.rules)
  }

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    do throws(Problem) {
      return try await accept(request, context.caller.client)
    } catch {
      context.relay.metrics.count(.rejected)
      throw error
    }
  }

  private enum MediaType { case json, lines }

  private func accept(
    _ request: HTTPRequest, _ sender: String?
  ) async throws(Problem) -> HTTPResponse {
    var claim = try QuotaClaim(context, sender: sender)
    defer { claim.giveBack() }
    let type = try Self.mediaType(of: request.head)
    var memory = MemoryReservation(context, request.origin)
    defer { memory.giveBack() }
    try memory.take(MemoryBudget.requestBytes)
    let body = try PostBody(request, context)
    let whole = try body.takeWhole(&memory)
    let text = if let whole { whole } else { try await body.read(&memory) }
    let countMax = context.limits.batchCountMax
    switch type {
    case .json where Self.isArray(text):
      let items = try BatchItems.ofArray(text, countMax: countMax)
      return try await acceptBatch(items, of: text, request.head, &claim)
    case .json:
      return try await acceptOne(text, request.head, sender, &claim)
    case .lines:
      let items = try BatchItems.ofLines(text, countMax: countMax)
      return try await acceptBatch(items, of: text, request.head, &claim)
    }
  }

  @inline(never)
  private func acceptOne(
    _ text: [UInt8], _ head: RequestHead, _ sender: String?, _ claim: inout QuotaClaim
  ) async throws(Problem) -> HTTPResponse {
    let draft = try draft(text, head, sender)
    let names = SenderNames(draft)
    try await claim.take(for: names.client, bytes: draft.content.byteCount)
    var intake = Intake(context)
    let results = try await intake.append([consume draft], isAtomic: false)
    return try await answer(results[0], to: names, head)
  }

  /// Never inlined, as ``draft(_:_:_:)``.
  @inline(never)
  private func answer(
    _ result: AppendResult, to names: SenderNames, _ head: RequestHead
  ) async throws(Problem) -> HTTPResponse {
    var acceptance = try Acceptance(result, of: names)
    context.relay.metrics.count(acceptance.result.counted)
    context.accessNote?.note(acceptance.id)
    await acceptance.addReceipt(as: Preferences(head.values(of: "Prefer")), context)
    var response = HTTPResponse.json(acceptance.json(), status: 202)
    if let location = acceptance.location { response.headers.add("Location", location) }
    if acceptance.receipt != nil { response.headers.add("Preference-Applied", "receipt") }
    return response
  }

  /// Never inlined: while the envelope is stored, the task that waits keeps nothing but the draft.
  @inline(never)
  private func draft(
    _ text: [UInt8], _ head: RequestHead, _ sender: String?
  ) throws(Problem) -> EnvelopeDraft {
    var draft = try decoder.decode(text, from: sender, at: context.relay.arrival())
    try PostOrigin(head, at: context.relay.pseudonym).join(&draft)
    return draft
  }

  @inline(never)
  private func acceptBatch(
    _ items: [Range<Int>], of text: [UInt8], _ head: RequestHead, _ claim: inout QuotaClaim
  ) async throws(Problem) -> HTTPResponse {
    let post = BatchPost(context, head)
    let results = try await post.store(items, of: text, &claim)
    // Not thrown: each of its envelopes has been counted by itself.
    if let problem = results.problem(isStrict: post.isStrict) { return problem.response }
    var response = HTTPResponse.json(results.json(), status: 202)
    post.noteApplied(in: &response, results)
    if let seconds = results.retryAfterSeconds { response.headers.add("Retry-After", seconds) }
    return response
  }

  /// Returns true if a text begins with an opening bracket, after white space.
  private static func isArray(_ text: [UInt8]) -> Bool {
    for byte in text where byte != 0x20 && byte != 0x0A && byte != 0x0D && byte != 0x09 {
      return byte == UInt8(ascii: "[")
    }
    return false
  }

  private static func mediaType(of head: RequestHead) throws(Problem) -> MediaType {
    guard let value = head.value(of: "Content-Type") else { throw .unsupportedMediaType(nil) }
    let name = FieldSyntax.trimmingWhitespace(value.prefix { $0 != UInt8(ascii: ";") })
    if FieldSyntax.equals(name, "application/json") { return .json }
    if FieldSyntax.equals(name, "application/x-ndjson") { return .lines }
    throw .unsupportedMediaType(String(decoding: value, as: UTF8.self))
  }
}

/// The sender's names for an envelope: all of a draft that its answer repeats.
///
/// The draft itself is the store's by then.
struct SenderNames {
  let client: String
  let lane: String
  let key: String?
  let sequence: Int64?

  init(_ draft: borrowing EnvelopeDraft) {
    client = draft.client
    lane = draft.lane
    key = draft.key
    sequence = draft.sequence
  }
}

/// The sender's names for the fields that an answer may be about.
struct SenderFields {
  let client: String
  let lane: String
  let key: String
  let sequence: String

  /// Those of an envelope in JSON.
  static let json = SenderFields(
    client: "/client", lane: "/lane", key: "/key", sequence: "/sequence")
  /// Those of a request that is the envelope itself.
  static let relayed = SenderFields(
    client: "Waystation-Client", lane: "Waystation-Lane", key: "Idempotency-Key",
    sequence: "Waystation-Sequence")
}

extension Acceptance {
  /// Returns the result of a draft.
  ///
  /// - Throws: `key-conflict`, `sequence-conflict`, `sequence-passed` or `too-many-names`.
  init(
    _ result: AppendResult, of names: SenderNames, fields: SenderFields = .json
  ) throws(Problem) {
    switch result {
    case .accepted(let id, let state, let position):
      self.init(
        result: .accepted, id: id, client: names.client, lane: names.lane, key: names.key,
        state: state, position: position)
    case .duplicate(let id, let state):
      self.init(
        result: .duplicate, id: id, client: names.client, lane: names.lane, key: names.key,
        state: state)
    case .parked(let id, let missing):
      self.init(
        result: .accepted, id: id, client: names.client, lane: names.lane, key: names.key,
        state: .parked, missing: missing)
    case .void:
      self.init(
        result: .void, id: nil, client: names.client, lane: names.lane, key: nil, state: nil)
    case .forgotten:
      self.init(
        result: .duplicate, id: nil, client: names.client, lane: names.lane, key: names.key,
        state: nil)
    case .coalesced(let id, let state, let position):
      self.init(
        result: .coalesced, id: id, client: names.client, lane: names.lane, key: names.key,
        state: state, position: position)
    case .keyConflict(let id): throw .keyConflict(names.key, id: id, field: fields.key)
    case .sequenceConflict(let id):
      throw .sequenceConflict(names.sequence, id: id, field: fields.sequence)
    case .sequencePassed(let last):
      throw .sequencePassed(names.sequence, last: last, field: fields.sequence)
    case .overQuota(let refusal):
      throw .tooManyNames(
        refusal, client: names.client,
        field: refusal.limit == .clients ? fields.client : fields.lane)
    case .leftOut: throw .leftOut()
    }
    sequence = names.sequence
  }
}

extension BatchResults.Item {
  /// The result under which an item of a batch is counted.
  var counted: PostFigures.Result {
    switch self {
    case .accepted, .parked: .accepted
    case .duplicate: .duplicate
    case .coalesced: .coalesced
    case .void: .void
    case .rejected: .rejected
    }
  }
}

extension PostResult {
  /// The result under which an envelope that was posted by itself is counted.
  var counted: PostFigures.Result {
    switch self {
    case .accepted: .accepted
    case .duplicate: .duplicate
    case .coalesced: .coalesced
    case .void: .void
    }
  }
}
