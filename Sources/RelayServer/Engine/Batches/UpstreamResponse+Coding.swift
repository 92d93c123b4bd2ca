import Compression
import Forwarder
import RelayCore

extension UpstreamResponse {
  /// The body without its coding; nil if that is none that is known here, or is damaged.
  ///
  /// - Parameter bytesMax: The most bytes that may be made of it, of which more are as if damaged.
  func uncodedBody(bytesMax: Int) -> [UInt8]? {
    switch codings {
    case []: body
    case ["gzip"], ["x-gzip"]: try? GzipDecoder.decode(body, decodedBytesMax: bytesMax)
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

  /// The most bytes of the codings' names that are told: they stand in the record of each envelope
  /// that went along.
  private static let codingsBytesMax = 60

  /// What is wrong with a coding that could not be undone, as a sentence's part; nil if there is
  /// none.
  ///
  /// - Parameter bytesMax: The most bytes that were to be made of the body.
  func codingWords(bytesMax: Int) -> String? {
    let codings = codings
    return switch codings {
    case []: nil
    case ["gzip"], ["x-gzip"]:
      "answered with a Content-Encoding of gzip that is damaged, or has more than \(bytesMax) bytes"
    default:
      "answered with a Content-Encoding that cannot be read: "
        + codings.joined(separator: ", ").visibleASCII(bytesMax: Self.codingsBytesMax)
    }
  }

  /// The answer with its body as it was before something between the relays compressed it; the same
  /// if it is not compressed, or in a way that is not known here.
  ///
  /// - Parameters:
  ///   - credentials: What hides the upstream's credentials: it could not search what was packed.
  ///   - token: What hides the access token that was sent, if one was.
  ///   - bytesMax: The most bytes that may be made of the body.
  func unpacked(
    hiding credentials: CredentialMask, token: CredentialMask?, bytesMax: Int
  ) -> UpstreamResponse {
    guard headers.has("Content-Encoding"), let body = uncodedBody(bytesMax: bytesMax) else {
      return self
    }
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
  /// - Parameters:
  ///   - tokenMask: What hides the access token that was sent.
  ///   - bytesMax: The most bytes that may be made of it.
  mutating func unpack(
    from target: UpstreamTarget, _ tokenMask: CredentialMask?, bytesMax: Int
  ) {
    guard case .answered(let response) = event else { return }
    event = .answered(
      response.unpacked(hiding: target.credentials, token: tokenMask, bytesMax: bytesMax))
  }
}
