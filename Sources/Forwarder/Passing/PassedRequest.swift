import RelayCore

/// A request that another relay is to answer in this one's place.
package struct PassedRequest: Sendable {
  /// How its body comes.
  package enum Body: Sendable {
    /// All of it is here.
    case whole([UInt8])
    /// It is handed over piece by piece; the length is nil if the sender has not stated it.
    case pieces(length: Int64?)
  }

  /// The method, as on the request line.
  package let method: String
  /// The target, as on the request line.
  package let target: [UInt8]
  /// All fields that it carries, also `Host`, but none that belongs to the connection.
  package let fields: HeaderBlock
  /// The body.
  package let body: Body
  /// Whether it may go together with others: its body is here, and its answer comes soon and is
  /// short.
  package let goesWithOthers: Bool

  /// Puts the parts together.
  package init(
    method: String, target: [UInt8], fields: HeaderBlock, body: Body, goesWithOthers: Bool = false
  ) {
    self.method = method
    self.target = target
    self.fields = fields
    self.body = body
    self.goesWithOthers = goesWithOthers
  }
}

/// The beginning of another relay's answer.
package struct PassedAnswer: Sendable {
  /// The status.
  package let status: Int
  /// The fields, without those of the connection.
  package let fields: HeaderBlock
  /// The length of the body, if the answer states it.
  package let contentLength: Int64?

  /// Puts the parts together.
  package init(status: Int, fields: HeaderBlock, contentLength: Int64?) {
    self.status = status
    self.fields = fields
    self.contentLength = contentLength
  }
}

/// Why another relay has not answered, or not to the end.
package struct PassingFailure: Error, Equatable, Sendable {
  /// A sentence, without a full stop.
  package let reason: String
  /// Whether the other relay may have got the request, or a part of it.
  package let isWritten: Bool

  /// The same of a request that was begun, and cannot be begun again.
  package var written: PassingFailure { PassingFailure(reason: reason, isWritten: true) }

  /// There is nobody to pass it on to.
  package static func nobody(_ reason: String) -> PassingFailure {
    PassingFailure(reason: reason, isWritten: false)
  }
}
