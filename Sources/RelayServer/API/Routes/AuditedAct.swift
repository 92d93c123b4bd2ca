import HTTPServer
import RelayCore

/// What the audit log keeps of the calls of a route.
struct AuditedAct: Sendable {
  /// What is done, as one word.
  let action: String
  /// To what it is done: a path below `/v1/`, with the captures of the route's own path in braces.
  let subject: String
  /// Whether a request only asks what there would be to do; that is not written down.
  let isTrial: @Sendable (HTTPRequest) throws(Problem) -> Bool

  init(
    _ action: String, _ subject: String,
    isTrial: @escaping @Sendable (HTTPRequest) throws(Problem) -> Bool = { _ in false }
  ) {
    self.action = action
    self.subject = subject
    self.isTrial = isTrial
  }

  /// The subject of one call, each name in percent-encoding.
  func subject(_ captures: PathCaptures) -> String {
    let segments = subject.split(separator: "/").map { segment in
      guard segment.first == "{" else { return String(segment) }
      let name = captures.decoded(String(segment.dropFirst().dropLast())) ?? ""
      return String(decoding: PercentEncoding.encode(name.utf8), as: UTF8.self)
    }
    return segments.joined(separator: "/")
  }
}
