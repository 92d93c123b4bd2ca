import Compression
import Forwarder
import RelayCore

extension UpstreamResponse {
  /// The body without its coding; nil if that is none that is known here, or is damaged.
  ///
  /// No more than ``BatchAnswer/bytesMax`` is made of it.
  var uncodedBody: [UInt8]? {
    switch codings {
    case []: body
    case ["gzip"], ["x-gzip"]:
      try? GzipDecoder.decode(body, decodedBytesMax: BatchAnswer.bytesMax)
    default: nil
    }
  }

  /// The codings that were applied to the body, in their order (RFC 9110 section 8.4), without
  /// `identity`, which is none.
  private var codings: [String] {
    headers.filter { $0.isNamed("Content-Encoding") }.flatMap { field in
      String(decoding: field.value, as: UTF8.self).lowercased().split(separator: ",").map {
        coding in
        String(coding.drop { $0 == " " || $0 == "\t" }.prefix { $0 != " " && $0 != "\t" })
      }
    }.filter { !["", "identity"].contains($0) }
  }

  /// What is wrong with the coding, as a sentence's part; nil if there is none.
  var codingWords: String? {
    let codings = codings
    return codings.isEmpty
      ? nil
      : "answered with a Content-Encoding that cannot be read: \(codings.joined(separator: ", "))"
  }

  /// The answer with its body as it was before something between the relays compressed it; the same
  /// if it is not compressed, or in a way that is not known here.
  ///
  /// - Parameters:
  ///   - credentials: What hides the upstream's credentials, which could not be searched for before.
  ///   - token: What hides the access token that was sent, if one was.
  func unpacked(
    hiding credentials: CredentialMask, token: CredentialMask?
  ) -> UpstreamResponse {
    guard headers.has("Content-Encoding"), let body = uncodedBody else { return self }
    var fields = HeaderBlock()
    for field in headers where !field.isNamed("Content-Encoding") {
      fields.append(name: field.name, value: field.value)
    }
    let response = UpstreamResponse(
      status: status, headers: fields, body: body, isTruncated: isTruncated)
    let masked = credentials.masked(response)
    return token?.masked(masked) ?? masked
  }
}

extension AttemptReport {
  /// Takes an upstream's answer out of its coding.
  ///
  /// - Parameter tokenMask: What hides the access token that was sent.
  mutating func unpack(from target: UpstreamTarget, _ tokenMask: CredentialMask?) {
    guard case .answered(let response) = event else { return }
    event = .answered(response.unpacked(hiding: target.credentials, token: tokenMask))
  }
}
