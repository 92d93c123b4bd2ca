import HTTPServer
import RelayCore

/// Begins an upload, or finds what became of the one that the same request has begun before.
struct UploadBeginning {
  /// What a request that may begin an upload is.
  enum Outcome {
    /// It has begun this one.
    case new(UploadID)
    /// It repeats what has begun this one.
    case former(UploadID)
    /// Its key has come with an envelope already, and its body is whole: it is a post like any
    /// other, and is told from a repeat by its content.
    case whole
  }

  private let context: EndpointContext
  private var desk: UploadDesk { context.relay.uploads }

  init(_ context: EndpointContext) { self.context = context }

  /// Stores a new upload, or finds the one that this request has begun before.
  func begin(
    _ request: HTTPRequest, _ captures: PathCaptures, _ append: UploadAppend
  ) async throws(Problem) -> Outcome {
    _ = try Via(request.head, at: context.relay.pseudonym)
    var claim = try QuotaClaim(context, sender: context.caller.client)
    defer { claim.giveBack() }
    var upload = try described(by: request.head, captures)
    let verdict = UploadRules.verdict(on: append, to: upload, bytesMax: context.uploadBytesMax)
    guard case .append(let length) = verdict else { throw context.problem(verdict, append, upload) }
    upload.length = length
    if let key = upload.terms.draft.key, let former = try await find(upload.client, key) {
      _ = try same(former, as: upload)
      // An empty one may be a question; only content can be other content.
      if former.envelope != nil, append.completes, append.contentLength != 0 { return .whole }
      return .former(former.id)
    }
    if let key = upload.terms.draft.key, let refusal = try await refusal(of: key, upload.client) {
      // What its content will be is not known: it is told now, before all of it has come.
      guard append.completes else { throw refusal }
      return .whole
    }
    if upload.terms.draft.expiresAt <= upload.touchedAt {
      // A whole one is stored, and expires at once: so its number is taken, and its end is told.
      guard append.completes else { throw .pastDeadline(field: Self.fieldOfDeadline(request.head)) }
      return .whole
    }
    guard context.takesUploads else { throw .noUploads() }
    return try await begin(upload, &claim)
  }

  private static func fieldOfDeadline(_ head: RequestHead) -> String {
    head.values(of: "Waystation-Expires-At").isEmpty
      ? "Waystation-Expires-In" : "Waystation-Expires-At"
  }

  /// The upload that the same request has begun before; nil if there is none.
  func former(of head: RequestHead, _ captures: PathCaptures) async throws(Problem) -> Upload? {
    // What cannot be an upload's is refused, if need be, as the post that it is.
    guard let upload = try? described(by: head, captures), let key = upload.terms.draft.key,
      let former = try await find(upload.client, key), former.terms.said == upload.terms.said
    else { return nil }
    return former
  }

  private func begin(
    _ upload: Upload, _ claim: inout QuotaClaim
  ) async throws(Problem) -> Outcome {
    do throws(UploadDesk.Refusal) {
      try desk.begin(upload, context.uploadLimits)
    } catch {
      switch error {
      case .full(let max, let isOfClient):
        throw .tooManyUploads(max, ofClient: isOfClient ? upload.client : nil)
      case .share(let bytesMax): throw .uploadShareTaken(bytesMax, of: upload.client)
      case .numberTaken(let id): return .former(try await sameNumber(id, as: upload))
      }
    }
    do throws(Problem) {
      try await claim.take(
        for: upload.client, bytes: upload.use.bytes)
      let stored = try await context.stored { () throws(StoreError) in
        try await context.store.beginUpload(upload)
      }
      if stored.id != upload.id { _ = try same(stored, as: upload) }
      guard stored.id == upload.id else {
        desk.end(upload.id, as: nil)
        return .former(stored.id)
      }
    } catch {
      desk.end(upload.id, as: nil)
      throw error
    }
    desk.hold(claim.handOver(), for: upload.id)
    desk.count(.created)
    return .new(upload.id)
  }

  /// The upload that a request describes.
  private func described(
    by head: RequestHead, _ captures: PathCaptures
  ) throws(Problem) -> Upload {
    let decoded = try RelayRequestDecoder(context.rules).decode(
      head, upstream: captures.raw("upstream") ?? [], rest: captures.raw("path") ?? [],
      from: context.caller.client, at: context.relay.arrival())
    guard !decoded.draft.references else {
      throw .invalidField(
        "Waystation-References", "References in a body that comes in several parts are not filled.",
        fix: "Send the whole body in one request, without Upload-Complete.")
    }
    let now = context.relay.now().wall
    let random = (UInt64.random(in: .min ... .max), UInt64.random(in: .min ... .max))
    let terms = UploadTerms(
      draft: decoded.draft, said: decoded.said(), digest: try Uploads.digest(head))
    return Upload(id: UploadID(at: now, random: random), terms: terms, length: nil, at: now)
  }

  /// The name of an upload that was begun before, if it was begun by the same request.
  private func same(_ former: Upload, as upload: Upload) throws(Problem) -> UploadID {
    let digests = [former.terms.digest, upload.terms.digest].compactMap(\.self)
    guard former.terms.said == upload.terms.said, digests.first == digests.last else {
      throw .keyConflict(
        upload.terms.draft.key, with: former, field: SenderFields.relayed.key)
    }
    return former.id
  }

  /// The upload that has the number of another one, if it was begun by the same request.
  private func sameNumber(_ id: UploadID, as upload: Upload) async throws(Problem) -> UploadID {
    let former = try await context.stored { () throws(StoreError) in
      try await context.store.upload(id)
    }
    if let former, former.terms.draft.key == upload.terms.draft.key,
      let id = try? same(former, as: upload)
    {
      return id
    }
    throw .sequenceConflict(
      upload.terms.draft.sequence, with: id, field: SenderFields.relayed.sequence)
  }

  /// Why a key cannot be that of a new upload; nil if it can.
  private func refusal(of key: String, _ client: String) async throws(Problem) -> Problem? {
    let field = SenderFields.relayed.key
    // The envelope first: once it is forgotten, its key is remembered already.
    let id = try await context.stored { () throws(StoreError) in
      try await context.store.envelope(client: client, key: key)
    }
    if let id { return .keyConflict(key, id: id, field: field) }
    let isRemembered = try await context.stored { () throws(StoreError) in
      try await context.store.remembers(key: key, of: client)
    }
    return isRemembered ? .rememberedKey(key, field: field) : nil
  }

  private func find(_ client: String, _ key: String) async throws(Problem) -> Upload? {
    try await context.stored { () throws(StoreError) in
      try await context.store.upload(client: client, key: key)
    }
  }
}
