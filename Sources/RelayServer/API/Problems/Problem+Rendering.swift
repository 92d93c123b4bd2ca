import HTTPServer
import JSON
import RelayCore

extension Problem {
  /// The problem as an answer: `application/problem+json`, with the fields that belong to it.
  ///
  /// Never inlined: a task that waits, and may answer with a problem later, would keep room for it.
  @inline(never)
  package var response: HTTPResponse {
    var response = HTTPResponse(status: status)
    response.headers.add("Content-Type", "application/problem+json")
    if let retryAfterSeconds { response.headers.add("Retry-After", retryAfterSeconds) }
    if let challenge { response.headers.add("WWW-Authenticate", challenge) }
    if let allow { response.headers.add("Allow", allow) }
    switch kind {
    // RFC 9110 section 15.5.16: which of the two was wrong is told by which field is there.
    case .unsupportedMediaType:
      response.headers.add("Accept", accept ?? "application/json")
    case .unsupportedContentEncoding: response.headers.add("Accept-Encoding", "gzip")
    default: break
    }
    upload?.add(to: &response.headers)
    var json = JSONWriter()
    write(to: &json)
    response.body = .bytes(json.finish())
    return response
  }

  /// Writes the problem as an object, as it stands in an answer or in a batch's results.
  package func write(to json: inout JSONWriter) {
    json.object { json in
      json.member("type", kind.type)
      json.member("title", kind.title)
      json.member("status", status)
      json.member("detail", detail)
      if let field { json.member("field", field) }
      if let fix { json.member("fix", fix) }
      if let id { json.member("id", id.description) }
      if let before { json.member("before", before.description) }
      if let beforeKey { json.member("beforeKey", beforeKey) }
      if let state { json.member("state", state.rawValue) }
      if let upload, let expected = upload.offset, let provided = upload.provided {
        json.member("expected-offset", expected)
        json.member("provided-offset", provided)
      }
      if let lastSequence { json.member("lastSequence", lastSequence) }
      json.member(missing)
      if let limit {
        json.member("limit", limit.name)
        if let whole = Int64(exactly: limit.max) {
          json.member("max", whole)
        } else {
          json.member("max", limit.max)
        }
      }
      if let retryAfterSeconds { json.member("retryAfterSeconds", retryAfterSeconds) }
      if let results { json.member("results", raw: results) }
    }
  }
}
