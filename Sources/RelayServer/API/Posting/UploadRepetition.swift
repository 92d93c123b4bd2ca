import Cryptography
import HTTPServer
import RelayCore

/// A request about an upload that has become an envelope.
///
/// If it brings what has come already, or nothing, it is the one whose answer was lost. Other
/// content is never taken for that.
struct UploadRepetition {
  private let context: EndpointContext
  private let upload: Upload

  init(_ context: EndpointContext, _ upload: Upload) {
    self.context = context
    self.upload = upload
  }

  /// The answer to the request that has completed the upload, once more.
  ///
  /// - Throws: `key-conflict` for other content; `completed-upload` for content that nothing is
  ///   left of to compare it with.
  func answer(
    _ append: UploadAppend, _ request: HTTPRequest, _ digest: [UInt8]?
  ) async throws(Problem) -> Acceptance {
    guard let id = upload.envelope else { throw .internalError() }
    let record = try await context.stored { () throws(StoreError) in
      try await context.store.envelope(id)
    }
    let body = record.map(\.draft.content.body)
    if let length = append.length, length != upload.offset { throw otherContent }
    if let digest, let body, try await Self.digest(of: body, context) != digest {
      throw otherContent
    }
    try await compare(append, request, with: body)
    return try Acceptance(
      record.map { .duplicate(id: id, state: $0.state) } ?? .forgotten,
      of: SenderNames(upload.terms.draft), fields: .relayed)
  }

  private func compare(
    _ append: UploadAppend, _ request: HTTPRequest, with body: EnvelopeBody?
  ) async throws(Problem) {
    var memory = MemoryReservation(context, context.origin)
    defer { memory.giveBack() }
    try memory.take(MemoryBudget.requestBytes + HTTPLimits().readBufferBytes)
    memory.waits(for: request.body)
    var place = append.offset
    while let piece = try await Self.next(of: request.body, context) {
      guard let body else {
        throw context.problem(.completed, append, upload)
      }
      guard try await Self.bytes(of: body, from: place, count: piece.count, context) == piece else {
        throw otherContent
      }
      place += Int64(piece.count)
      try memory.passesOn(piece.count)
    }
    try memory.hasArrived()
  }

  private var otherContent: Problem {
    .keyConflict(upload.terms.draft.key, with: upload, field: SenderFields.relayed.key)
  }

  private static func next(
    of body: RequestBody, _ context: EndpointContext
  ) async throws(Problem) -> [UInt8]? {
    do throws(RequestBodyError) {
      return try await body.read()
    } catch {
      throw Problem(error, bytesMax: context.limits.bodyBytesMax)
    }
  }

  /// As many bytes of a body as there are at a place, up to a number.
  private static func bytes(
    of body: EnvelopeBody, from place: Int64, count: Int, _ context: EndpointContext
  ) async throws(Problem) -> [UInt8] {
    let end = min(body.byteCount, place + Int64(count))
    guard place < end else { return [] }
    switch body {
    case .inline(let bytes): return Array(bytes[Int(place)..<Int(end)])
    case .file(let file):
      return try await context.stored { () throws(StoreError) in
        try await context.store.bodyBytes(of: file, from: place, countMax: Int(end - place))
      }
    }
  }

  private static func digest(
    of body: EnvelopeBody, _ context: EndpointContext
  ) async throws(Problem) -> [UInt8] {
    var digest = SHA256()
    var place: Int64 = 0
    while place < body.byteCount {
      let piece = try await bytes(
        of: body, from: place, count: UploadCompletion.pieceBytes, context)
      digest.update(piece)
      place += Int64(piece.count)
    }
    return digest.finish()
  }
}
