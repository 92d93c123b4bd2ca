import JSON
import RelayCore

// Problems with a request as such: its route, its framing, its form.

extension Problem {
  /// Not proper HTTP/1.1, or ambiguous.
  package static func malformedRequest(_ detail: String) -> Problem {
    Problem(.malformedRequest, detail, fix: "Send one request as RFC 9112 has it.")
  }

  /// The body, or the item of a batch that `text` is, is no JSON.
  ///
  /// - Parameter line: The line of the body in which an item begins; 1 for a whole body; nil where
  ///   it begins within a line, so that the place is told within the item.
  package static func malformedJSON(
    _ error: JSONError, in text: ArraySlice<UInt8>, from line: Int? = 1
  ) -> Problem {
    let offset = min(max(error.offset - text.startIndex, 0), text.count)
    let place = TextPlace(of: offset, in: text)
    let within = line == nil ? " of the item" : ""
    return Problem(
      .malformedJSON,
      "At line \(place.line + (line ?? 1) - 1), column \(place.column)\(within): \(error.reason).",
      field: error.path.isEmpty ? nil : error.path,
      fix: error.kind == .duplicateName
        ? "Give each member once." : "Send JSON as RFC 8259 has it, in UTF-8.")
  }

  /// The body is not packed as `Content-Encoding` says.
  package static func badContentEncoding(_ detail: String) -> Problem {
    Problem(
      .badContentEncoding, detail, field: "Content-Encoding",
      fix: "Pack the body with gzip again, or send it as it is and leave Content-Encoding out.")
  }

  /// There is no such route.
  package static func notFound() -> Problem {
    Problem(
      .notFound, "The relay has no route with this path.",
      fix: "See openapi.yaml for the routes. The page for operators is /status, in a browser.")
  }

  /// The lane has no receipt.
  static func noReceipt(_ lane: LaneName) -> Problem {
    Problem(
      .notFound, "There is no receipt of the lane \(lane.lane.quoted) of \(lane.client.quoted).",
      fix: "Post the lane's next envelope with its \"sequence\", and the numbers that it waits for:"
        + " what is parked is not covered, and a receipt is kept for a while only.")
  }

  /// The relay signs no receipts.
  static func noReceiptKeys() -> Problem {
    Problem(
      .notFound, "The relay signs no receipts, so it has none to show, and no keys.",
      fix: "Ask the operator to configure \"receipts\".")
  }

  /// The route has no such method.
  package static func methodNotAllowed(allow: String) -> Problem {
    var problem = Problem(
      .methodNotAllowed, "This route has the methods \(allow) only.", fix: "Use one of those.")
    problem.allow = allow
    return problem
  }

  /// A request to the upstream that would have it send back its own credentials.
  static func traceNotRelayed() -> Problem {
    var problem = Problem(
      .methodNotAllowed, "TRACE is not relayed: it would bring back the upstream's credentials.",
      fix: "Use another method.")
    problem.allow = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"
    return problem
  }

  /// The request did not come in whole in time.
  package static func requestTimeout(_ detail: String) -> Problem {
    Problem(.requestTimeout, detail, fix: "Send the request again.")
  }

  /// The request target is too long.
  package static func uriTooLong(_ detail: String) -> Problem {
    Problem(
      .uriTooLong, detail,
      fix: "Shorten it, or ask the operator to raise limits.requestLineBytesMax.")
  }

  /// An `Expect` that is not known.
  package static func expectationFailed(_ detail: String) -> Problem {
    Problem(
      .expectationFailed, detail, field: "Expect", fix: "Leave Expect out, or send 100-continue.")
  }

  /// Too many header fields, or too many bytes of them.
  package static func headerFieldsTooLarge(_ detail: String) -> Problem {
    Problem(.headerFieldsTooLarge, detail, fix: "Send fewer or shorter header fields.")
  }

  /// A transfer coding or method that the relay does not have.
  package static func notImplemented(_ detail: String) -> Problem {
    Problem(.notImplemented, detail, fix: "Send the body with a length, or chunked.")
  }

  /// Neither HTTP/1.1 nor HTTP/1.0.
  package static func httpVersionNotSupported(_ detail: String) -> Problem {
    Problem(.httpVersionNotSupported, detail, fix: "Use HTTP/1.1.")
  }

  /// Neither JSON nor NDJSON; or, where `accepted` names others, none of those.
  package static func unsupportedMediaType(
    _ found: String?, accepted: [String] = ["application/json", "application/x-ndjson"]
  ) -> Problem {
    let words =
      found.map { "\($0.quoted) is not taken here." } ?? "The request has no Content-Type."
    var problem = Problem(
      .unsupportedMediaType, words, field: "Content-Type",
      fix: "Set Content-Type to \(accepted.joined(separator: " or ")).")
    problem.accept = accepted.joined(separator: ", ")
    return problem
  }

  /// Packed in a way that the relay cannot unpack.
  package static func unsupportedContentEncoding(_ found: String) -> Problem {
    Problem(
      .unsupportedContentEncoding, "\(found.quoted) is not taken here.", field: "Content-Encoding",
      fix: "Pack the body with gzip, or send it as it is and leave Content-Encoding out.")
  }

  /// One envelope's body is over the limit.
  package static func bodyTooLarge(bytesMax: Int, field: String? = nil) -> Problem {
    Problem(
      .bodyTooLarge, "The body may have \(bytesMax) bytes at the most.", field: field,
      fix: "Send less, or ask the operator to raise limits.bodyBytesMax.")
  }

  /// A post to `/v1/envelopes` has too many bytes, before or after it was unpacked.
  package static func batchTooLarge(bytesMax: Int) -> Problem {
    Problem(
      .batchTooLarge, "A post may have \(bytesMax) bytes at the most, packed and unpacked.",
      fix: "Send less at once, or ask the operator to raise limits.batchBytesMax.")
  }

  /// A batch has too many items.
  package static func batchTooLarge(countMax: Int) -> Problem {
    Problem(
      .batchTooLarge, "A batch may have \(countMax) envelopes at the most.",
      fix: "Split the batch, or ask the operator to raise limits.batchCountMax.")
  }
}
