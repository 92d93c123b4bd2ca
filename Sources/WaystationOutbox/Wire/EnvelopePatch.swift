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
        if let upstream = request.upstream {
          json.member("upstream", upstream)
        } else {
          json.member("upstream") { $0.null() }
        }
        json.memberObject("headers") { write(request.headers, insteadOf: edit.former, to: &$0) }
        if body.isEmpty {
          json.member("body") { $0.null() }
        } else {
          SyncRequest.writeBody(body, to: &json)
        }
      }
      if let hold = edit.hold { json.member("hold", hold) }
      if let expires = edit.expiresMs { json.member("expiresIn", max(1, expires / 1000)) }
    }
    return json.finish()
  }

  /// The fields, and null for each one that is to go.
  private static func write(
    _ headers: [HeaderLine], insteadOf former: KeptRequest?, to json: inout JSONWriter
  ) {
    let kept = headers.filter { !$0.isNamed("idempotency-key") }
    SyncRequest.write(kept, to: &json)
    var gone: Set<String> = []
    for line in former?.headers ?? []
    where !line.isNamed("idempotency-key")
      && !kept.contains(where: { $0.isNamed(line.name.lowercased()) })
      && gone.insert(line.name.lowercased()).inserted
    { json.member(line.name) { $0.null() } }
  }
}
