import Compression
import RelayCore

extension EnvelopeContent {
  /// The same request with its body as gzip (RFC 9110 section 8.4.1.3).
  ///
  /// - Returns: The request as it is, if there is no memory for that, or its body is in a file.
  func compressed() -> EnvelopeContent {
    guard case .inline(let bytes) = body, let packed = try? GzipEncoder.encode(bytes) else {
      return self
    }
    var content = self
    content.body = .inline(packed)
    content.headers.append(name: "Content-Encoding", value: "gzip")
    return content
  }
}
