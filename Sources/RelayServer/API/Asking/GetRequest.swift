import HTTPServer
import JSON
import RelayCore
import Synchronization

/// `GET /v1/envelopes/{id}/request` and `…/body`: what the sender handed over, for operators.
struct GetRequest {
  private let context: EndpointContext

  init(_ context: EndpointContext) { self.context = context }

  /// The request's fields, without the secrets among them.
  func respond(_ captures: PathCaptures) async throws(Problem) -> HTTPResponse {
    return .freshJSON(Self.json(try await content(captures).content))
  }

  /// The request's body, as it came.
  func respondWithBody(_ captures: PathCaptures) async throws(Problem) -> HTTPResponse {
    let (id, content) = try await content(captures)
    var response = HTTPResponse(status: 200, body: body(of: content))
    // Whatever a device has sent, it is data to be saved: no browser is to guess what it is, to
    // show it, or to run it as if it were the relay's own page.
    response.headers.add("Content-Type", "application/octet-stream")
    response.headers.add("Content-Disposition", "attachment; filename=\"\(id).bin\"")
    response.headers.add("Cache-Control", "no-store")
    response.headers.add("X-Content-Type-Options", "nosniff")
    response.headers.add("Content-Security-Policy", "sandbox; default-src 'none'")
    response.headers.add("Cross-Origin-Resource-Policy", "same-origin")
    return response
  }

  private func content(
    _ captures: PathCaptures
  ) async throws(Problem) -> (id: EnvelopeID, content: EnvelopeContent) {
    let record = try await context.record(try await context.envelopeID(captures))
    if record.isUnreadable { throw .unreadable(record.state) }
    return (record.id, record.draft.content)
  }

  private func body(of content: EnvelopeContent) -> ResponseBody {
    switch content.body {
    case .inline(let bytes): return .bytes(bytes)
    case .file(let file):
      let pieces = BodyPieces(of: file, in: context.store)
      return .source(length: file.byteCount) { try await pieces.next() }
    }
  }

  private static func json(_ content: EnvelopeContent) -> [UInt8] {
    var json = JSONWriter()
    json.object { json in
      json.memberArray("headers") { json in
        for field in content.headers {
          json.array { json in
            json.string(utf8: field.name)
            if SecretFields.isSecret(field) {
              json.string(SecretFields.mask)
            } else {
              json.string(String(decoding: field.value, as: UTF8.self))
            }
          }
        }
      }
      if let type = content.headers.first("Content-Type") { json.member("contentType", type) }
      json.member("bodyBytes", content.body.byteCount)
    }
    return json.finish()
  }
}

/// A large body, piece by piece.
final class BodyPieces: Sendable {
  /// The most bytes of the body that are in memory at a time.
  private static let pieceBytesMax = 65_536

  private let file: StoredBodyFile
  private let store: any EnvelopeStore
  private let offset = Atomic<Int64>(0)

  init(of file: StoredBodyFile, in store: any EnvelopeStore) {
    self.file = file
    self.store = store
  }

  /// The next piece; nil at the end.
  func next() async throws(StoreError) -> [UInt8]? {
    let start = offset.load(ordering: .relaxed)
    guard start < file.byteCount else { return nil }
    let bytes = try await store.bodyBytes(of: file, from: start, countMax: Self.pieceBytesMax)
    offset.store(start + Int64(bytes.count), ordering: .relaxed)
    return bytes
  }
}
