import Cryptography
import HTTPServer
import RelayCore

/// Reads the body of a relayed request: a small one into memory, a large one into a file of the
/// store's, piece by piece.
struct RelayedBody: ~Copyable {
  private let context: EndpointContext
  private var fingerprint: Fingerprint?
  private var digest: SHA256?
  private var byteCount = 0

  /// The most bytes of a piece: what a connection reads at a time.
  private static let pieceBytes = HTTPLimits().readBufferBytes

  /// The whole body; the writer is present if the body is in a file.
  struct Whole {
    var body: EnvelopeBody
    var writer: (any BodyWriter)?
  }

  /// - Parameters:
  ///   - fingerprint: The envelope's, to which the body is to be added; nil if none is wanted.
  ///   - isCovered: Whether the digest of the body is wanted, for a receipt.
  init(_ context: EndpointContext, _ fingerprint: consuming Fingerprint?, isCovered: Bool) {
    self.context = context
    self.fingerprint = fingerprint
    digest = if isCovered { SHA256() } else { nil }
  }

  /// Reads the body to its end; nothing of it is left if that fails.
  mutating func read(
    _ body: RequestBody, _ memory: inout MemoryReservation
  ) async throws(Problem) -> Whole {
    if let length = body.knownLength {
      guard length <= context.limits.bodyBytesMax else { throw tooLarge }
      if length > context.limits.spoolThresholdBytes {
        // While it goes into its file, one piece of it is in memory.
        try memory.take(Self.pieceBytes)
        memory.waits(for: body)
        return try await spool([], body, &memory)
      }
    }
    memory.waits(for: body)
    var bytes: [UInt8] = []
    while let piece = try await next(of: body) {
      // Counted as they come: what a sender merely announces must not take others' room.
      try memory.take(piece.count)
      if bytes.isEmpty { bytes = piece } else { bytes.append(contentsOf: piece) }
      if bytes.count > context.limits.spoolThresholdBytes {
        return try await spool(consume bytes, body, &memory)
      }
    }
    try memory.hasArrived()
    return Whole(body: .inline(bytes), writer: nil)
  }

  /// Notes in a draft what was wanted of its body.
  consuming func finish(_ draft: inout EnvelopeDraft) {
    if let digest { draft.cover(bodyDigest: digest.finish()) }
    if let fingerprint { draft.fingerprint = fingerprint.finish() }
  }

  /// Writes what was read so far, and the rest, into a file.
  private mutating func spool(
    _ beginning: consuming [UInt8], _ body: RequestBody, _ memory: inout MemoryReservation
  ) async throws(Problem) -> Whole {
    let writer: any BodyWriter
    do throws(StoreError) {
      writer = try await context.store.beginBody()
    } catch {
      throw context.problem(error)
    }
    do throws(Problem) {
      let file = try await fill(writer, consume beginning, body, &memory)
      return Whole(body: .file(file), writer: writer)
    } catch {
      writer.discard()
      throw error
    }
  }

  private mutating func fill(
    _ writer: any BodyWriter, _ beginning: consuming [UInt8], _ body: RequestBody,
    _ memory: inout MemoryReservation
  ) async throws(Problem) -> StoredBodyFile {
    var piece: [UInt8]? = consume beginning
    var isBeginning = true
    while let bytes = piece.take() {
      do throws(StoreError) {
        if !bytes.isEmpty { try await writer.append(bytes) }
      } catch {
        throw context.problem(error)
      }
      // What was held of the beginning is in the file: one piece of it is in memory from now on.
      if isBeginning { try memory.keep(MemoryBudget.requestBytes + Self.pieceBytes) }
      isBeginning = false
      piece = try await next(of: body)
      if let piece { try memory.passesOn(piece.count) }
    }
    try memory.hasArrived()
    do throws(StoreError) {
      return try await writer.finish()
    } catch {
      throw context.problem(error)
    }
  }

  private mutating func next(of body: RequestBody) async throws(Problem) -> [UInt8]? {
    let piece: [UInt8]?
    do throws(RequestBodyError) {
      piece = try await body.read()
    } catch {
      throw Problem(error, bytesMax: context.limits.bodyBytesMax)
    }
    guard let piece else { return nil }
    byteCount += piece.count
    guard byteCount <= context.limits.bodyBytesMax else { throw tooLarge }
    fingerprint?.update(piece)
    digest?.update(piece)
    return piece
  }

  private var tooLarge: Problem { .bodyTooLarge(bytesMax: context.limits.bodyBytesMax) }
}
