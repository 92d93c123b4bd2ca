import JSON
import RelayCore

/// A change of an envelope at the relay: a merge patch (RFC 7396).
enum EnvelopePatch {
  /// The patch of an edit.
  static func json(_ edit: RequestEdit, bodies: String) throws(StoreError) -> [UInt8] {
    var body: [UInt8] = []
    switch edit.body {
    case .none: break
    case .bytes(let bytes): body = bytes
    case .file(let name, _, let sums):
      body = try BodyFile.read("\(bodies)/\(name)", sums)
    }
    var json = JSONWriter()
    json.object { json in
      if let request = edit.request {
        json.member("method", request.method)
        json.member("path", request.path)
        if let upstream = request.upstream { json.member("upstream", upstream) }
        json.memberObject("headers") { json in
          for line in request.headers where !line.isNamed("idempotency-key") {
            json.member(line.name, line.value)
          }
        }
        SyncRequest.writeBody(body, to: &json)
      }
      if let hold = edit.hold { json.member("hold", hold) }
      if let expires = edit.expiresMs { json.member("expiresIn", max(1, expires / 1000)) }
    }
    return json.finish()
  }
}
