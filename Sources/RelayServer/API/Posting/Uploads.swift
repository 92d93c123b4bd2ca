import HTTPServer
import RelayCore

/// Uploads: envelopes whose bodies come in by several requests, by
/// `draft-ietf-httpbis-resumable-upload`.
struct Uploads {
  private let context: EndpointContext
  private var desk: UploadDesk { context.relay.uploads }

  init(_ context: EndpointContext) { self.context = context }

  /// `ANY /v1/relay/{upstream}/{path…}` that begins an upload.
  func create(
    _ request: HTTPRequest, _ captures: PathCaptures, _ fields: UploadFields
  ) async throws(Problem) -> HTTPResponse {
    let append = Self.creation(request, fields)
    let begun: UploadBeginning.Outcome
    do throws(Problem) {
      begun = try await UploadBeginning(context).begin(request, captures, append)
    } catch {
      context.relay.metrics.count(.rejected)
      throw error
    }
    switch begun {
    case .new(let id): return try await goOn(id, request, append, fields, .creation)
    case .former(let id): return try await repeated(id, request, append, fields)
    case .whole:
      var response = try await RelayRequest(context).post(request, captures, fields.length)
      response.headers.add("Upload-Complete", "?1")
      return response
    }
  }

  /// The answer to a whole request without a body that repeats another one, of which some may have
  /// come: where its upload is found.
  ///
  /// - Returns: nil if the request is none such: its empty body is the whole.
  func answer(
    toQuestion request: HTTPRequest, _ captures: PathCaptures, _ fields: UploadFields
  ) async throws(Problem) -> HTTPResponse? {
    guard let former = try await UploadBeginning(context).former(of: request.head, captures) else {
      return nil
    }
    return try await repeated(former.id, request, Self.creation(request, fields), fields)
  }

  private static func creation(_ request: HTTPRequest, _ fields: UploadFields) -> UploadAppend {
    UploadAppend(
      offset: 0, completes: fields.completes == true, contentLength: request.body.knownLength,
      length: fields.length)
  }

  /// A repeated creation finds the upload that its sender has not been told of.
  private func repeated(
    _ id: UploadID, _ request: HTTPRequest, _ append: UploadAppend, _ fields: UploadFields
  ) async throws(Problem) -> HTTPResponse {
    do throws(Problem) {
      return try await goOn(id, request, append, fields, .repeatedCreation)
    } catch {
      var problem = error
      if problem.kind == .mismatchingUploadOffset { problem.upload?.location = id.path }
      throw problem
    }
  }

  /// `PATCH /v1/uploads/{id}`: more of the body.
  func append(
    _ request: HTTPRequest, _ captures: PathCaptures
  ) async throws(Problem) -> HTTPResponse {
    let id = try id(captures)
    try Self.checkMediaType(request.head)
    let fields = try UploadFields(request.head)
    guard let completes = fields.completes else {
      throw .missingField(
        "Upload-Complete", "The request does not say whether the upload ends with it.",
        fix: "Send Upload-Complete: ?1 with the last part, and ?0 with each other one.")
    }
    guard let offset = fields.offset else {
      throw .missingField(
        "Upload-Offset", "The request does not say where its content begins.",
        fix: "Say in Upload-Offset at which byte the content begins, as a number.")
    }
    let append = UploadAppend(
      offset: offset, completes: completes, contentLength: request.body.knownLength,
      length: fields.length)
    return try await goOn(id, request, append, fields, .append)
  }

  /// `HEAD /v1/uploads/{id}`: how far it has come.
  func state(_ request: HTTPRequest, _ captures: PathCaptures) async throws(Problem) -> HTTPResponse
  {
    let id = try id(captures)
    let turn = try await turn(of: id, request)
    defer { desk.end(turn) }
    let upload = try await current(id)
    var response = HTTPResponse(status: 204)
    response.headers.add("Upload-Offset", "\(upload.offset)")
    response.headers.add("Upload-Complete", upload.envelope == nil ? "?0" : "?1")
    if let length = upload.length { response.headers.add("Upload-Length", "\(length)") }
    response.headers.add("Upload-Limit", context.uploadLimit(of: upload))
    response.headers.add("Cache-Control", "no-store")
    return response
  }

  /// `DELETE /v1/uploads/{id}`: gives it up.
  func cancel(
    _ request: HTTPRequest, _ captures: PathCaptures
  ) async throws(Problem) -> HTTPResponse {
    let id = try id(captures)
    let turn = try await turn(of: id, request)
    defer { desk.end(turn) }
    _ = try await find(id)
    try await context.forget(upload: id, as: .cancelled)
    return HTTPResponse(status: 204)
  }

  // MARK: - Going on

  /// Takes in what a request brings, and answers it.
  private func goOn(
    _ id: UploadID, _ request: HTTPRequest, _ append: UploadAppend, _ fields: UploadFields,
    _ kind: UploadNews.Kind
  ) async throws(Problem) -> HTTPResponse {
    let news = UploadNews(
      interopVersion: request.head.version == .http11 ? fields.interopVersion : nil, kind: kind)
    let isCreation = news.isCreation
    switch try await take(id, request, append, news) {
    case .accepted(let acceptance):
      context.accessNote?.note(acceptance.id)
      var response = await RelayRequest(context).answer(acceptance, to: request.head)
      response.headers.add("Upload-Complete", "?1")
      return response
    case .open(let upload):
      var response = HTTPResponse(status: isCreation ? 201 : 204)
      if isCreation { response.headers.add("Location", id.path) }
      response.headers.add("Upload-Offset", "\(upload.offset)")
      response.headers.add("Upload-Complete", "?0")
      if isCreation { response.headers.add("Upload-Limit", context.uploadLimit(of: upload)) }
      return response
    }
  }

  /// Has the turn for as long as the request brings something; not while it waits for an answer.
  private func take(
    _ id: UploadID, _ request: HTTPRequest, _ append: UploadAppend, _ news: UploadNews
  ) async throws(Problem) -> UploadOutcome {
    let turn = try await turn(of: id, request)
    defer { desk.end(turn) }
    guard !context.relay.isDraining else { throw .draining() }
    guard !turn.isSuperseded else { throw .supersededUpload() }
    let upload = try await current(id)
    var intake = UploadIntake(context, upload, turn, news)
    return try await intake.take(append, request)
  }

  /// Waits for the turn, which ends the requests that have it or wait for it: those of a client are
  /// ended by nobody else.
  private func turn(
    of id: UploadID, _ request: HTTPRequest
  ) async throws(Problem) -> UploadTurn {
    _ = try await find(id)
    return await desk.turn(of: id, reading: request.body)
  }

  // MARK: - Reading

  private func id(_ captures: PathCaptures) throws(Problem) -> UploadID {
    let text = captures.decoded("id") ?? ""
    guard let id = UploadID(parsing: text) else { throw .unknownUpload(text) }
    return id
  }

  /// An upload of the caller's; another's is unknown to it.
  private func find(_ id: UploadID) async throws(Problem) -> Upload {
    let upload = try await context.stored { () throws(StoreError) in
      try await context.store.upload(id)
    }
    guard let upload, context.caller.mayKnow(of: upload.client) else {
      throw .unknownUpload(id.description)
    }
    return upload
  }

  /// The same while the deadline of its envelope has not passed: after that, nothing more of it is
  /// taken for nothing.
  private func current(_ id: UploadID) async throws(Problem) -> Upload {
    let upload = try await find(id)
    let deadline = upload.terms.draft.expiresAt
    guard upload.envelope == nil, deadline <= context.relay.now().wall else { return upload }
    try await context.forget(upload: id, as: .expired)
    throw .expiredUpload(id, deadline)
  }

  private static func checkMediaType(_ head: RequestHead) throws(Problem) {
    let name = "application/partial-upload"
    let value = head.value(of: "Content-Type") ?? []
    let end = value.firstIndex(of: UInt8(ascii: ";")) ?? value.endIndex
    let type = FieldSyntax.trimmingWhitespace(value[..<end])
    guard FieldSyntax.equals(type, "application/partial-upload") else {
      throw .unsupportedMediaType(head.string(of: "Content-Type"), accepted: [name])
    }
  }

  /// The SHA-256 that a request says of the whole; nil if it says none.
  static func digest(_ head: RequestHead) throws(Problem) -> [UInt8]? {
    let named = StructuredItem.byteSequence("sha-256", in: head.values(of: "Repr-Digest"))
    guard let named else { return nil }
    guard let digest = named, digest.count == 32 else {
      throw .invalidField(
        "Repr-Digest",
        "It is no list of digests, as sha-256=:…: with 32 bytes in base64 between the colons.",
        fix: "Write it as RFC 9530 has it, or leave it out.")
    }
    return digest
  }
}

/// What has become of a request about an upload.
enum UploadOutcome {
  /// It goes on.
  case open(Upload)
  /// It has become an envelope.
  case accepted(Acceptance)
}

extension EndpointContext {
  /// The most bytes of an upload: those of a body.
  var uploadBytesMax: Int64 { Int64(limits.bodyBytesMax) }

  /// How much there may be of uploads.
  var uploadLimits: UploadDesk.Limits {
    UploadDesk.Limits(
      all: limits.uploadsMax, ofClient: limits.clientUploadsMax,
      roomBytes: relay.embedded?.files().roomBytes, clientPercent: limits.shares.clientPercent)
  }

  /// Whether there may be any.
  var takesUploads: Bool { limits.uploadsMax > 0 && limits.clientUploadsMax > 0 }

  /// `Upload-Limit` of an upload.
  func uploadLimit(of upload: Upload) -> String {
    let now = relay.now().wall
    let keptMs = Int64(relay.configuration.retention.uploadSeconds) * 1000
    let leftMs = min(
      keptMs - now.milliseconds(since: upload.touchedAt),
      upload.terms.draft.expiresAt.milliseconds(since: now))
    return uploadSizes + ", max-age=\(max(0, min(leftMs, keptMs)) / 1000)"
  }

  private var uploadSizes: String {
    "max-size=\(uploadBytesMax), max-append-size=\(uploadBytesMax)"
  }

  /// Has the store do something; trouble there is a problem of the request.
  func stored<Value>(
    _ body: () async throws(StoreError) -> Value
  ) async throws(Problem) -> Value {
    do throws(StoreError) {
      return try await body()
    } catch {
      throw problem(error)
    }
  }

  /// Forgets an upload, and gives back what it has claimed.
  func forget(upload id: UploadID, as event: UploadFigures.Event) async throws(Problem) {
    try await stored { () throws(StoreError) in try await store.deleteUpload(id) }
    relay.uploads.end(id, as: event)
  }

  /// The problem that a verdict is; nothing else than that to append has one.
  func problem(
    _ verdict: UploadRules.Verdict, _ append: UploadAppend, _ upload: Upload
  ) -> Problem {
    switch verdict {
    case .mismatchingOffset(let expected):
      return .mismatchingOffset(expected: expected, provided: append.offset)
    case .completed, .repeated:
      var problem = Problem.completedUpload()
      problem.upload = UploadNote()
      problem.upload?.isComplete = true
      problem.upload?.offset = upload.offset
      return problem
    case .inconsistentLength, .append: return .inconsistentLength(isGivenUp: false)
    case .tooLarge:
      var problem = Problem.bodyTooLarge(bytesMax: limits.bodyBytesMax)
      problem.upload = UploadNote()
      problem.upload?.limit = uploadSizes
      return problem
    }
  }
}
