import Compression
import HTTPServer
import RelayCore

/// The body of a post to `/v1/envelopes`, unpacked and whole.
struct PostBody {
  private let context: EndpointContext

  /// How many packed bytes are unpacked at a time: at the most about a thousand times as many come
  /// of them (zlib's technical notes) before the memory is counted.
  private static let packedPieceBytes = 2048
  /// Each byte is counted twice: once as it came, once in the drafts that are made of it.
  private static let bytesPerByte = 2

  init(_ context: EndpointContext) { self.context = context }

  /// Reads the body, and undoes its `Content-Encoding`.
  @inline(never)
  func read(
    _ request: HTTPRequest, _ memory: inout MemoryReservation
  ) async throws(Problem) -> [UInt8] {
    let bytesMax = context.limits.batchBytesMax
    if let length = request.body.knownLength, length > bytesMax {
      throw .batchTooLarge(bytesMax: bytesMax)
    }
    if try Self.isPacked(request.head) {
      return try await unpack(request.body, bytesMax, &memory)
    }
    return try await collect(request.body, bytesMax, &memory)
  }

  private func collect(
    _ body: RequestBody, _ bytesMax: Int, _ memory: inout MemoryReservation
  ) async throws(Problem) -> [UInt8] {
    var bytes: [UInt8] = []
    // Counted as they come: what a sender merely announces must not take others' room.
    while let piece = try await next(of: body) {
      guard piece.count <= bytesMax - bytes.count else { throw .batchTooLarge(bytesMax: bytesMax) }
      try memory.take(piece.count * Self.bytesPerByte)
      if bytes.isEmpty { bytes = piece } else { bytes.append(contentsOf: piece) }
    }
    return bytes
  }

  private func unpack(
    _ body: RequestBody, _ bytesMax: Int, _ memory: inout MemoryReservation
  ) async throws(Problem) -> [UInt8] {
    var bytes: [UInt8] = []
    var packedBytes = 0
    do {
      var decoder = try GzipDecoder(decodedBytesMax: bytesMax)
      while let piece = try await next(of: body) {
        packedBytes += piece.count
        guard packedBytes <= bytesMax else { throw Problem.batchTooLarge(bytesMax: bytesMax) }
        for start in stride(from: 0, to: piece.count, by: Self.packedPieceBytes) {
          let end = min(start + Self.packedPieceBytes, piece.count)
          let before = bytes.count
          try decoder.decode(piece[start..<end], into: &bytes)
          try memory.take((bytes.count - before) * Self.bytesPerByte)
        }
      }
      try decoder.finish()
      return bytes
    } catch let problem as Problem {
      throw problem
    } catch GzipError.tooLarge {
      throw .batchTooLarge(bytesMax: bytesMax)
    } catch GzipError.outOfMemory {
      throw .overloaded("There is not enough memory to unpack the body.")
    } catch {
      throw .badContentEncoding("Content-Encoding says gzip, but \(error).")
    }
  }

  private func next(of body: RequestBody) async throws(Problem) -> [UInt8]? {
    do throws(RequestBodyError) {
      return try await body.read()
    } catch {
      throw Problem(error, bytesMax: context.limits.batchBytesMax)
    }
  }

  /// Whether a request says that its body is packed.
  ///
  /// - Throws: `unsupported-content-encoding` for a coding that is not known.
  static func isPacked(_ head: RequestHead) throws(Problem) -> Bool {
    guard let coding = head.value(of: "Content-Encoding"), !coding.isEmpty else { return false }
    if head.count(of: "Content-Encoding") == 1 {
      if FieldSyntax.equals(coding, "identity") { return false }
      // RFC 9110 section 8.4.1.3: x-gzip is the same.
      if FieldSyntax.equals(coding, "gzip") || FieldSyntax.equals(coding, "x-gzip") { return true }
    }
    let all = head.values(of: "Content-Encoding").map { String(decoding: $0, as: UTF8.self) }
    throw .unsupportedContentEncoding(all.joined(separator: ", "))
  }
}
