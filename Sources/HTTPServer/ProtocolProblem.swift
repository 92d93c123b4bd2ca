/// A fault in the protocol that the server finds by itself, without a handler.
package struct ProtocolProblem: Error, Sendable, Equatable {
  /// The broken rule; each kind has one status and one name.
  package enum Kind: Sendable, CaseIterable {
    /// The bytes are not, or not unambiguously, a request (400).
    case malformedRequest
    /// The request line is longer than ``HTTPLimits/requestLineBytesMax`` (414).
    case targetTooLong
    /// The fields exceed ``HTTPLimits/fieldCountMax`` or ``HTTPLimits/fieldBytesMax`` (431).
    case fieldsTooLarge
    /// The body exceeds ``HTTPLimits/bodyBytesMax`` or its handler's limit (413).
    case bodyTooLarge
    /// The body is not framed properly (400).
    case malformedBody
    /// The head did not arrive in time (408).
    case headTimeout
    /// The body did not arrive, or did not go on, in time (408).
    case bodyTimeout
    /// The body did not arrive, or did not continue, in time (408).
    case expectationFailed
    /// A transfer coding or a method that this server does not know (501).
    case notImplemented
    /// A version other than HTTP/1.0 and HTTP/1.1 (505).
    case versionNotSupported
    /// ``HTTPLimits/connectionsMax`` has been reached (503).
    case tooManyConnections
  }

  /// The broken rule.
  package let kind: Kind
  /// A sentence for the sender's developer.
  package let detail: String

  /// Makes a problem of a kind, with a sentence that says what was found.
  package init(_ kind: Kind, _ detail: String) {
    self.kind = kind
    self.detail = detail
  }

  /// The head of a request, or what stands for one, is none.
  package static func malformed(_ detail: String) -> ProtocolProblem {
    ProtocolProblem(.malformedRequest, detail)
  }

  /// The status of the response.
  package var status: Int {
    switch kind {
    case .malformedRequest, .malformedBody: 400
    case .headTimeout, .bodyTimeout: 408
    case .bodyTooLarge: 413
    case .targetTooLong: 414
    case .expectationFailed: 417
    case .fieldsTooLarge: 431
    case .notImplemented: 501
    case .tooManyConnections: 503
    case .versionNotSupported: 505
    }
  }

  /// The last part of the problem's `type`, such as `malformed-request`.
  package var name: String {
    switch kind {
    case .malformedRequest: "malformed-request"
    case .malformedBody: "malformed-body"
    case .headTimeout: "head-timeout"
    case .bodyTimeout: "body-timeout"
    case .bodyTooLarge: "body-too-large"
    case .targetTooLong: "target-too-long"
    case .expectationFailed: "expectation-failed"
    case .fieldsTooLarge: "fields-too-large"
    case .notImplemented: "not-implemented"
    case .tooManyConnections: "too-many-connections"
    case .versionNotSupported: "version-not-supported"
    }
  }

  /// The problem's `title`.
  package var title: String {
    switch kind {
    case .malformedRequest: "The request is malformed"
    case .malformedBody: "The body is malformed"
    case .headTimeout: "The head took too long"
    case .bodyTimeout: "The body took too long"
    case .bodyTooLarge: "The body is too large"
    case .targetTooLong: "The request line is too long"
    case .expectationFailed: "The expectation cannot be met"
    case .fieldsTooLarge: "The fields are too large"
    case .notImplemented: "Not implemented"
    case .tooManyConnections: "Too many connections"
    case .versionNotSupported: "The HTTP version is not supported"
    }
  }

  /// The default response: a problem document (RFC 9457).
  ///
  /// Title and detail are the server's own words, and hold nothing that JSON would have to escape.
  @Sendable
  package static func response(to problem: ProtocolProblem) -> HTTPResponse {
    var response = HTTPResponse(status: problem.status)
    response.headers.add("Content-Type", "application/problem+json")
    response.body = .bytes(
      Array(
        """
        {"type":"urn:waystation:problem:\(problem.name)","title":"\(problem.title)",\
        "status":\(problem.status),"detail":"\(problem.detail)"}
        """.utf8))
    return response
  }
}
