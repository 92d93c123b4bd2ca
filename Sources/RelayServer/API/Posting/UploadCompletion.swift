import Cryptography
import RelayCore

/// Makes an envelope of an upload of which everything has come.
struct UploadCompletion {
  private let context: EndpointContext
  private let upload: Upload

  /// The bytes of the body that are read at a time.
  static let pieceBytes = 1 << 20

  init(_ context: EndpointContext, _ upload: Upload) {
    self.context = context
    self.upload = upload
  }

  /// Has the envelope accepted; its number is taken by that.
  ///
  /// - Parameters:
  ///   - body: What has come.
  ///   - digest: What the last request says of the whole.
  func complete(
    _ body: StoredBodyFile, _ digest: [UInt8]?
  ) async throws(Problem) -> Acceptance {
    do throws(Problem) {
      return try await accept(body, digest)
    } catch {
      context.relay.metrics.count(.rejected)
      throw error
    }
  }

  private func accept(
    _ body: StoredBodyFile, _ digest: [UInt8]?
  ) async throws(Problem) -> Acceptance {
    var draft = upload.terms.draft
    guard context.rules.upstream(named: draft.upstream) != nil else {
      throw .unknownUpstream(draft.upstream, field: nil)
    }
    if let refusal = context.relay.admission.refusal() { throw .overloaded(refusal) }
    let sums = try await sums(of: body)
    for named in [upload.terms.digest, digest].compactMap(\.self) where named != sums.digest {
      try await giveUp()
      throw refused(.mismatchingDigest())
    }
    draft.content.body = .file(
      StoredBodyFile(path: body.path, byteCount: body.byteCount, checksum: sums.checksum))
    let isRecognisable = draft.key != nil || draft.sequence != nil
    draft.fingerprint = isRecognisable ? sums.fingerprint : []
    if context.rules.makesReceipts { draft.cover(bodyDigest: sums.digest) }
    let names = SenderNames(draft)
    var intake = Intake(context)
    let result = try await intake.append([draft], isAtomic: false)[0]
    return try await settle(result, names)
  }

  /// Ends the upload, as far as the store has not done that with the envelope.
  private func settle(
    _ result: AppendResult, _ names: SenderNames
  ) async throws(Problem) -> Acceptance {
    let id = upload.id
    let acceptance: Acceptance
    do throws(Problem) {
      acceptance = try Acceptance(result, of: names, fields: .relayed)
    } catch {
      // Where only room is missing, the same may succeed later.
      guard !error.kind.isLackOfRoom else { throw error }
      try await giveUp()
      throw refused(error)
    }
    switch result {
    case .duplicate(let envelope, _):
      try await context.stored { () throws(StoreError) in
        try await context.store.settleUpload(id, as: envelope)
      }
    case .forgotten, .void:
      try await context.stored { () throws(StoreError) in
        try await context.store.deleteUpload(id)
      }
    default: break
    }
    context.relay.uploads.end(id, as: .completed)
    context.relay.metrics.count(acceptance.result.counted)
    return acceptance
  }

  private func giveUp() async throws(Problem) {
    try await context.forget(upload: upload.id, as: .refused)
  }

  /// The problem is the envelope's: to go on with the upload would not help.
  private func refused(_ problem: Problem) -> Problem {
    var problem = problem
    problem.upload = UploadNote()
    problem.upload?.isComplete = true
    return problem
  }

  private struct Sums {
    var digest: [UInt8]
    var fingerprint: [UInt8]
    var checksum: Int64
  }

  /// Reads the whole once: what was summed up while it came in did not outlive its requests.
  private func sums(of body: StoredBodyFile) async throws(Problem) -> Sums {
    var digest = SHA256()
    var fingerprint = Fingerprint(said: upload.terms.said)
    var checksum = Checksum()
    var offset: Int64 = 0
    while offset < body.byteCount {
      let place = offset
      let piece = try await context.stored { () throws(StoreError) in
        try await context.store.bodyBytes(of: body, from: place, countMax: Self.pieceBytes)
      }
      digest.update(piece)
      fingerprint.update(piece)
      piece.withUnsafeBytes { checksum.append($0) }
      offset += Int64(piece.count)
    }
    checksum.endField()
    return Sums(
      digest: digest.finish(), fingerprint: fingerprint.finish(), checksum: checksum.value)
  }
}
