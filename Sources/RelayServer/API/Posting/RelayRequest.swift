import HTTPServer
import RelayCore

/// `ANY /v1/relay/{upstream}/{path…}`: the request itself is the envelope.
struct RelayRequest {
  private let context: EndpointContext

  init(_ context: EndpointContext) { self.context = context }

  func respond(to request: HTTPRequest, _ captures: PathCaptures) async throws(Problem)
    -> HTTPResponse
  {
    let upload = try uploadFields(request.head)
    let small = context.limits.spoolThresholdBytes
    let begins = upload.beginsUpload(ofLength: request.body.knownLength, small: small)
    // Where none are taken, one whose body is whole is a post like any other.
    if begins, context.takesUploads || upload.completes == false {
      return try await Uploads(context).create(request, captures, upload)
    }
    if upload.completes == true, request.body.knownLength == 0,
      let answer = try await Uploads(context).answer(toQuestion: request, captures, upload)
    {
      return answer
    }
    return try await post(request, captures, upload.length)
  }

  /// Takes a request whose body is whole.
  ///
  /// - Parameter length: What `Upload-Length` says of the body.
  func post(
    _ request: HTTPRequest, _ captures: PathCaptures, _ length: Int64?
  ) async throws(Problem) -> HTTPResponse {
    do throws(Problem) {
      let acceptance = try await accept(request, captures, length)
      context.relay.metrics.count(acceptance.result.counted)
      context.accessNote?.note(acceptance.id)
      return await answer(acceptance, to: request.head)
    } catch {
      context.relay.metrics.count(.rejected)
      throw error
    }
  }

  /// The answer to a request whose envelope is accepted, once it has waited as it asks.
  func answer(_ acceptance: Acceptance, to head: RequestHead) async -> HTTPResponse {
    let preferences = Preferences(head.values(of: "Prefer"))
    var acceptance = acceptance
    await acceptance.addReceipt(as: preferences, context)
    // Where nobody else may wait, a preference is not met (RFC 7240 section 2): it is accepted.
    guard let wait = preferences.waitSeconds, let place = try? context.takeWait() else {
      return Self.accepted(acceptance)
    }
    defer { withExtendedLifetime(place) {} }
    var response = await outcome(
      of: acceptance, withinSeconds: min(wait, context.limits.waitSecondsMax),
      isHead: head.method == .head)
    response.headers.add("Preference-Applied", "wait")
    return response
  }

  private func uploadFields(_ head: RequestHead) throws(Problem) -> UploadFields {
    do throws(Problem) {
      return try UploadFields(head)
    } catch {
      context.relay.metrics.count(.rejected)
      throw error
    }
  }

  /// - Parameter length: What `Upload-Length` says of the body, which has to be whole.
  private func accept(
    _ request: HTTPRequest, _ captures: PathCaptures, _ length: Int64?
  ) async throws(Problem) -> Acceptance {
    _ = try Via(request.head, at: context.relay.pseudonym)
    var claim = try QuotaClaim(context, sender: context.caller.client)
    defer { claim.giveBack() }
    var decoded = try RelayRequestDecoder(context.rules).decode(
      request.head, upstream: captures.raw("upstream") ?? [], rest: captures.raw("path") ?? [],
      from: context.caller.client, at: context.relay.arrival())
    try check(request.body.knownLength, length)
    let client = decoded.draft.client
    // What is announced beyond that is refused before it is read.
    let announced = min(request.body.knownLength ?? 0, Int64(context.limits.bodyBytesMax))
    try await claim.take(for: client, bytes: decoded.draft.content.byteCount + announced)

    var memory = MemoryReservation(context, request.origin)
    defer { memory.giveBack() }
    try memory.take(MemoryBudget.requestBytes)
    let isRecognisable = decoded.draft.key != nil || decoded.draft.sequence != nil
    var reader = RelayedBody(
      context, isRecognisable ? decoded.fingerprint() : nil,
      isCovered: context.rules.makesReceipts && decoded.draft.sequence != nil)
    let body = try await reader.read(request.body, &memory)
    decoded.draft.content.body = body.body
    reader.finish(&decoded.draft)

    var intake = Intake(context)
    if let writer = body.writer { intake.adopt(writer, forDraftAt: 0) }
    do throws(Problem) {
      // Of a chunked body the length is known only now.
      try check(body.body.byteCount, length)
      try await claim.take(moreBytes: body.body.byteCount - announced, for: client)
      if decoded.draft.references {
        try decoded.draft.content.checkReferences(
          .relayed, bodyBytesMax: context.limits.spoolThresholdBytes)
      }
    } catch {
      intake.discard()
      throw error
    }
    let names = SenderNames(decoded.draft)
    let results = try await intake.append([decoded.draft], isAtomic: false)
    return try Acceptance(results[0], of: names, fields: .relayed)
  }

  /// Holds the length of a body, as soon as it is known, against what is said of it.
  private func check(_ known: Int64?, _ said: Int64?) throws(Problem) {
    guard let known, !UploadRules.mayComplete(at: known, length: said) else { return }
    throw .inconsistentLength(isGivenUp: false)
  }

  /// The upstream's answer, if it comes in time; else how the envelope stands.
  private func outcome(
    of acceptance: Acceptance, withinSeconds seconds: Int, isHead: Bool
  ) async -> HTTPResponse {
    guard let id = acceptance.id else { return Self.accepted(acceptance) }
    if seconds > 0 {
      _ = await context.relay.dispatcher.settled(id, withinMs: Int64(seconds) * 1000)
    }
    // The envelope is stored, whatever else happens: trouble here is none of the sender's.
    guard let record = try? await context.store.envelope(id) else {
      return Self.accepted(acceptance)
    }
    if record.state.isEnd || record.state == .blocked,
      let answer = try? await context.store.response(id)
    {
      return context.upstreamAnswer(to: record).response(
        answer, status: answer.status, isToHead: isHead)
    }
    let placement = context.relay.dispatcher.placement(of: record.entry.serial, in: record.lane)
    var acceptance = acceptance
    acceptance.state =
      record.state == .queued && placement.isInFlight ? .delivering : record.state
    let hasPlace = acceptance.result != .duplicate && !record.state.isEnd
    acceptance.position = hasPlace ? placement.position : nil
    acceptance.missing = record.missing
    acceptance.reason = record.reason
    return Self.accepted(acceptance)
  }

  private static func accepted(_ acceptance: Acceptance) -> HTTPResponse {
    var response = HTTPResponse.json(acceptance.json(), status: 202)
    if let location = acceptance.location { response.headers.add("Location", location) }
    if acceptance.receipt != nil { response.headers.add("Preference-Applied", "receipt") }
    if let id = acceptance.id { response.headers.add("Waystation-Id", id.description) }
    if let state = acceptance.state { response.headers.add("Waystation-State", state.rawValue) }
    return response
  }
}
