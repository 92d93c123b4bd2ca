import Compression
import HTTPServer
import RelayCore

/// The body of a post to `/v1/envelopes`, unpacked and whole.
struct PostBody {
  private let body: RequestBody
  private let isPacked: Bool
  private let bytesMax: Int

  /// The number of packed bytes that are unpacked at a time.
  ///
  /// They become at most about a thousand times as many (zlib's technical notes) before the memory
  /// is counted.
  private static let packedPieceBytes = 2048
  /// The fewest first bytes after which room is made for more: who sends fewer and pauses has none.
  private static let earnestBytesMin = 4096
  /// The most bytes for which room is made before they come.
  ///
  /// So a batch is not copied from one array to the next as it grows. What is not written to takes
  /// no memory.
  private static let reservedBytesMax = 256 * 1024
  /// Each byte is counted twice: once as it came, once in the drafts that are made of it.
  private static let bytesPerByte = 2

  /// The body of a request, of which nothing was read yet.
  ///
  /// - Throws: `batch-too-large` where its length says so, and `unsupported-content-encoding`.
  @inline(never)
  init(_ request: HTTPRequest, _ context: EndpointContext) throws(Problem) {
    bytesMax = context.limits.batchBytesMax
    body = request.body
    if let length = body.knownLength, length > bytesMax {
      throw .batchTooLarge(bytesMax: bytesMax)
    }
    isPacked = try Self.isPacked(request.head)
  }

  /// The body, where all of it is at hand as it is; nil where ``read(_:)`` has to see to it.
  ///
  /// Most bodies are like that, and a function that cannot wait costs less than one that can.
  func takeWhole(_ memory: inout MemoryReservation) throws(Problem) -> [UInt8]? {
    guard !isPacked, let whole = body.takeWhole() else { return nil }
    var bytes: [UInt8] = []
    try add(whole, to: &bytes, &memory)
    return bytes
  }

  /// Reads the body, and undoes its `Content-Encoding`.
  @inline(never)
  func read(_ memory: inout MemoryReservation) async throws(Problem) -> [UInt8] {
    memory.waits(for: body)
    let bytes = isPacked ? try await unpack(&memory) : try await readPlain(&memory)
    try memory.hasArrived()
    return bytes
  }

  private func readPlain(
    _ memory: inout MemoryReservation
  ) async throws(Problem) -> [UInt8] {
    var bytes: [UInt8] = []
    while let piece = try await next() {
      if bytes.isEmpty, piece.count >= Self.earnestBytesMin, let length = body.knownLength {
        bytes.reserveCapacity(Int(min(length, Int64(Self.reservedBytesMax))))
      }
      try add(piece, to: &bytes, &memory)
    }
    return bytes
  }

  /// Counted as they come: what a sender merely announces must not take others' room.
  private func add(
    _ piece: [UInt8], to bytes: inout [UInt8], _ memory: inout MemoryReservation
  ) throws(Problem) {
    guard piece.count <= bytesMax - bytes.count else { throw .batchTooLarge(bytesMax: bytesMax) }
    try memory.take(piece.count * Self.bytesPerByte)
    if bytes.capacity == 0 { bytes = piece } else { bytes.append(contentsOf: piece) }
  }

  private func unpack(_ memory: inout MemoryReservation) async throws(Problem) -> [UInt8] {
    var bytes: [UInt8] = []
    var packedBytes = 0
    do {
      var decoder = try GzipDecoder(decodedBytesMax: bytesMax)
      while let piece = try await next() {
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

  private func next() async throws(Problem) -> [UInt8]? {
    do throws(RequestBodyError) {
      return try await body.read()
    } catch {
      throw Problem(error, bytesMax: bytesMax)
    }
  }

  /// Returns true if a request says that its body is packed.
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
