import HTTPServer
import RelayCore

/// The upstream's answer, passed on to the device.
package enum UpstreamAnswer {
  /// An answer with the upstream's body and those of its fields that may pass.
  ///
  /// - Parameters:
  ///   - status: The status of the answer to the device: the upstream's, or 200 where only its
  ///     content was asked for.
  ///   - isToHead: Whether the device asked by HEAD. Then nobody knows how long the content would
  ///     be, and no `Content-Length` may claim that it is empty (RFC 9110 section 8.6).
  package static func response(
    _ answer: UpstreamResponse, status: Int, id: EnvelopeID, state: EnvelopeState,
    isToHead: Bool = false
  ) -> HTTPResponse {
    var response = HTTPResponse(
      status: status, body: isToHead ? .stream({ _ in }) : .bytes(answer.body))
    let listed = connectionNames(in: answer.headers)
    for field in answer.headers {
      guard passes(field.name),
        !listed.contains(where: { FieldSyntax.equalIgnoringCase($0, field.name) })
      else {
        continue
      }
      response.headers.add(name: field.name, value: field.value)
    }
    response.headers.add("Waystation-Id", id.description)
    response.headers.add("Waystation-State", state.rawValue)
    response.headers.add("Waystation-Upstream-Status", answer.status)
    if answer.isTruncated { response.headers.add("Waystation-Response-Truncated", "true") }
    // What an upstream sent must not run in a browser as if it were the relay's own page.
    response.headers.add("X-Content-Type-Options", "nosniff")
    response.headers.add("Content-Security-Policy", "sandbox")
    return response
  }

  /// Whether an upstream's field of this name goes on to the device.
  ///
  /// Those that do not concern a connection, name what only holds between the relay and the
  /// upstream, or would change how a browser treats the relay's origin.
  package static func passes(_ name: ArraySlice<UInt8>) -> Bool {
    if ConnectionField.isOne(name) { return false }
    for other in stopped where FieldSyntax.equals(name, other) { return false }
    for prefix in stoppedPrefixes where FieldSyntax.hasPrefix(name, prefix) { return false }
    return true
  }

  private static let stopped: [StaticString] = [
    "Content-Length", "Date", "Server", "Set-Cookie", "Strict-Transport-Security",
    "Public-Key-Pins", "Clear-Site-Data", "Alt-Svc", "WWW-Authenticate",
    "Content-Security-Policy", "Service-Worker-Allowed", "Refresh", "NEL", "Report-To",
    "Reporting-Endpoints", "X-Content-Type-Options",
  ]

  private static let stoppedPrefixes: [StaticString] = ["Waystation-", "Access-Control-"]

  private static func connectionNames(
    in headers: RelayCore.HeaderBlock
  ) -> [ArraySlice<UInt8>] {
    var names: [ArraySlice<UInt8>] = []
    for field in headers where field.isNamed("Connection") {
      names += ConnectionField.names(in: field.value)
    }
    return names
  }
}
