import Cryptography
import EventLoop
import HTTPServer
import RelayCore

/// Takes in what one request brings of an upload, while it has the turn.
struct UploadIntake: ~Copyable {
  private let context: EndpointContext
  private let turn: UploadTurn
  private let news: UploadNews
  private var upload: Upload
  /// The bytes that have come, on disk for good or not.
  private var arrived: Int64
  /// When bytes were last put on disk for good.
  private var syncedAt: MonotonicTime
  private var claim: QuotaClaim?

  init(
    _ context: EndpointContext, _ upload: Upload, _ turn: UploadTurn, _ news: UploadNews
  ) {
    self.context = context
    self.turn = turn
    self.news = news
    self.upload = upload
    arrived = upload.offset
    syncedAt = context.relay.now().monotonic
  }

  /// Decides on a request, and does what it asks for.
  mutating func take(
    _ append: UploadAppend, _ request: HTTPRequest
  ) async throws(Problem) -> UploadOutcome {
    let isEmptyRepeat = news.kind == .repeatedCreation && append.contentLength == 0
    // Whatever it says of its end: what has come of the upload is not the whole.
    if isEmptyRepeat, upload.envelope == nil { return .open(upload) }
    let digest = try Uploads.digest(request.head)
    let verdict = UploadRules.verdict(on: append, to: upload, bytesMax: context.uploadBytesMax)
    switch verdict {
    case .append(let length): upload.length = length
    case .repeated,
      .completed where news.isCreation:
      let repetition = UploadRepetition(context, upload)
      return .accepted(try await repetition.answer(append, request, digest))
    default:
      let problem = context.problem(verdict, append, upload)
      guard problem.kind == .mismatchingUploadOffset, try await isQuestion(append, request) else {
        throw problem
      }
      return .open(upload)
    }
    let id = upload.id
    let writer = try await context.stored { () throws(StoreError) in
      try await context.store.resumeUpload(id)
    }
    guard let writer else {
      context.relay.uploads.end(id, as: .refused)
      throw .unknownUpload(id.description)
    }
    await news.tellBeginning(of: upload, context, request.body)
    try await read(request.body, into: writer)
    // A repeated creation that brings nothing only asks.
    let isQuestion = news.kind == .repeatedCreation && upload.offset == 0
    guard append.completes, !isQuestion else { return .open(upload) }
    guard UploadRules.mayComplete(at: upload.offset, length: upload.length) else {
      throw .inconsistentLength(isGivenUp: false)
    }
    let completion = UploadCompletion(context, upload)
    return .accepted(try await completion.complete(writer.body, digest))
  }

  /// Whether a repeated creation only asks where its upload has come to.
  private func isQuestion(
    _ append: UploadAppend, _ request: HTTPRequest
  ) async throws(Problem) -> Bool {
    guard news.kind == .repeatedCreation else { return false }
    if let length = append.contentLength { return length == 0 }
    do throws(RequestBodyError) {
      return try await request.body.read() == nil
    } catch {
      throw Problem(error, bytesMax: context.limits.bodyBytesMax)
    }
  }

  // MARK: - The content

  private mutating func read(
    _ body: RequestBody, into writer: any UploadWriter
  ) async throws(Problem) {
    let former = upload.length
    do throws(Problem) {
      try await readAll(body, into: writer)
    } catch {
      holdClaim()
      if error.kind == .inconsistentUploadLength {
        try await context.forget(upload: upload.id, as: .refused)
      } else if arrived > upload.offset {
        // What has come stays: whoever goes on need not send it again.
        try? await sync(writer)
      }
      throw turn.isSuperseded ? .supersededUpload() : error
    }
    holdClaim()
    if arrived > upload.offset || former != nil { try await sync(writer) }
  }

  private mutating func readAll(
    _ body: RequestBody, into writer: any UploadWriter
  ) async throws(Problem) {
    var memory = MemoryReservation(context, context.origin)
    defer { memory.giveBack() }
    try memory.take(MemoryBudget.requestBytes + HTTPLimits().readBufferBytes)
    memory.waits(for: body)
    while let piece = try await next(of: body) {
      let end = arrived + Int64(piece.count)
      let refusal = UploadRules.refusal(
        at: end, length: upload.length, bytesMax: context.uploadBytesMax)
      if let refusal {
        let append = UploadAppend(
          offset: arrived, completes: false, contentLength: nil, length: nil)
        throw refusal == .inconsistentLength
          ? .inconsistentLength(isGivenUp: true) : context.problem(refusal, append, upload)
      }
      try await claimRoom(through: end)
      try await context.stored { () throws(StoreError) in try await writer.append(piece) }
      arrived = end
      try memory.passesOn(piece.count)
      let sinceMs = context.relay.now().monotonic.milliseconds(since: syncedAt)
      if UploadRules.isSyncDue(after: arrived - upload.offset, milliseconds: sinceMs) {
        try await sync(writer)
        await news.tellProgress(of: upload, body)
      }
    }
    try memory.hasArrived()
  }

  private func next(of body: RequestBody) async throws(Problem) -> [UInt8]? {
    do throws(RequestBodyError) {
      return try await body.read()
    } catch {
      throw Problem(error, bytesMax: context.limits.bodyBytesMax)
    }
  }

  private mutating func sync(_ writer: any UploadWriter) async throws(Problem) {
    let now = context.relay.now()
    do throws(StoreError) {
      try await writer.sync(length: upload.length, at: now.wall)
    } catch {
      try await checkIsThere()
      throw context.problem(error)
    }
    upload.offset = arrived
    upload.touchedAt = now.wall
    syncedAt = now.monotonic
  }

  /// Tells a store that is in trouble from an upload that is there no more, which alarms nobody.
  private func checkIsThere() async throws(Problem) {
    let id = upload.id
    let stored = try await context.stored { () throws(StoreError) in
      try await context.store.upload(id)
    }
    guard stored == nil else { return }
    context.relay.uploads.end(id, as: .refused)
    throw .unknownUpload(id.description)
  }

  /// Claims room for what was not announced when the upload began.
  private mutating func claimRoom(through end: Int64) async throws(Problem) {
    let claimed = context.relay.uploads.claimedBytes(of: upload.id) + (claim?.takenBytes ?? 0)
    let more = upload.terms.draft.content.byteCount + end - claimed
    guard more > 0 else { return }
    if let lack = context.relay.embedded?.lackOfRoom { throw Problem(lack) }
    if claim == nil { claim = try QuotaClaim(steering: context) }
    try await claim?.take(moreBytes: more, for: upload.client)
  }

  private mutating func holdClaim() {
    guard let held = claim?.handOver() else { return }
    context.relay.uploads.hold(held, for: upload.id)
  }
}

/// What a sender is told of its upload while it goes on, if it has asked for that: status 104.
struct UploadNews: Sendable {
  /// The version of the draft that the sender goes by; nil if it wants to be told nothing.
  let interopVersion: Int64?
  /// What the request is to the upload.
  let kind: Kind

  /// What a request is to its upload.
  enum Kind: Sendable {
    /// It has begun it.
    case creation
    /// It repeats the one that has begun it.
    case repeatedCreation
    /// It goes on with it.
    case append
  }

  /// Whether the request begins the upload, or repeats the one that has.
  var isCreation: Bool { kind != .append }

  /// Where the upload is found.
  func tellBeginning(
    of upload: Upload, _ context: EndpointContext, _ body: RequestBody
  ) async {
    guard isCreation else { return }
    await tell(
      [("Location", upload.id.path), ("Upload-Limit", context.uploadLimit(of: upload))], body)
  }

  /// How far it has come.
  func tellProgress(of upload: Upload, _ body: RequestBody) async {
    await tell([("Upload-Offset", "\(upload.offset)")], body)
  }

  private func tell(
    _ fields: [(name: StaticString, value: String)], _ body: RequestBody
  ) async {
    guard let interopVersion else { return }
    let version = [
      (name: "Upload-Draft-Interop-Version" as StaticString, value: "\(interopVersion)")
    ]
    await body.sendInterim(104, "Upload Resumption Supported", version + fields)
  }
}
