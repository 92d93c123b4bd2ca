import Cryptography
import RelayCore

/// The signing of requests to an upstream: AWS Signature Version 4, in the `Authorization` field
/// (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html).
///
/// libcurl has an implementation of its own (CURLOPT_AWS_SIGV4). It is not used, since it signs the
/// URL's path and not the target that is sent, and its rules for queries, fields and bodies differ
/// from version to version (`docs/decisions/0051-credentials-of-upstreams.md`).
package struct AWSSigning: Sendable {
  let region: String
  let service: String
  let accessKey: String
  let secretKey: String
  let sessionToken: String?

  /// Takes a key and what it is used for.
  ///
  /// - Parameters:
  ///   - region: The region, such as `eu-central-1`.
  ///   - service: The service's name in signatures, such as `s3` or `execute-api`.
  ///   - sessionToken: The token of a temporary key; nil for a key that stays.
  /// - Precondition: All of them are visible ASCII characters.
  package init(
    region: String, service: String, accessKey: String, secretKey: String,
    sessionToken: String? = nil
  ) {
    self.region = region
    self.service = service
    self.accessKey = accessKey
    self.secretKey = secretKey
    self.sessionToken = sessionToken
  }

  /// The names of the fields that it sets, in lower case.
  package static let fieldNames = [
    "authorization", "x-amz-date", "x-amz-content-sha256", "x-amz-security-token",
  ]

  /// Whether a sender's field is replaced by one of the signature's.
  static func replaces(_ name: Span<UInt8>) -> Bool {
    name.equals("authorization") || name.equals("x-amz-date")
      || name.equals("x-amz-content-sha256") || name.equals("x-amz-security-token")
  }

  /// Whether a field of this name is signed.
  ///
  /// AWS demands it of `Host` and of all `X-Amz-*`. `Content-Type` says what the body means. What
  /// else there is may be changed by proxies on the way.
  static func signs(_ name: Span<UInt8>) -> Bool {
    name.equals("content-type") || name.begins(with: "x-amz-")
  }

  /// A request to be signed.
  package struct Request {
    /// The method.
    package var method: String
    /// The value of `Host`.
    package var host: String
    /// Path and query as they are sent.
    package var target: [UInt8]
    /// The other fields that are signed, in their order, with names in lower case.
    package var fields: [(name: [UInt8], value: [UInt8])]
    /// The SHA-256 digest of the body, in hexadecimal digits.
    package var bodyDigest: String

    /// Describes a request; see the properties for what each part means.
    package init(
      method: String, host: String, target: [UInt8], fields: [(name: [UInt8], value: [UInt8])],
      bodyDigest: String
    ) {
      self.method = method
      self.host = host
      self.target = target
      self.fields = fields
      self.bodyDigest = bodyDigest
    }
  }

  /// The fields of the signature.
  package struct Fields {
    /// `Authorization`.
    package let authorization: String
    /// `X-Amz-Date`.
    package let date: String
  }

  /// Signs a request at a moment.
  package func sign(_ request: Request, at time: WallTime) -> Fields {
    let date = Self.date(time)
    var fields = request.fields.map { (name: text($0.name), value: Self.trimmed($0.value)) }
    fields.append((name: "host", value: Array(request.host.utf8)))
    fields.append((name: "x-amz-content-sha256", value: Array(request.bodyDigest.utf8)))
    fields.append((name: "x-amz-date", value: Array(date.utf8)))
    if let sessionToken {
      fields.append((name: "x-amz-security-token", value: Array(sessionToken.utf8)))
    }
    let merged = Self.merged(fields)
    let names = merged.map(\.name).joined(separator: ";")
    let (path, query) = split(request.target)
    // Bytes, since a value is signed as it is sent, also where it is no UTF-8.
    let canonical = Array(
      [
        Array(request.method.utf8), canonicalPath(path), Self.canonicalQuery(query),
        merged.flatMap { Array("\($0.name):".utf8) + $0.value + [0x0A] }, Array(names.utf8),
        Array(request.bodyDigest.utf8),
      ].joined(separator: [0x0A]))
    let scope = "\(date.prefix(8))/\(region)/\(service)/aws4_request"
    let statement =
      "AWS4-HMAC-SHA256\n\(date)\n\(scope)\n" + Self.hex(SHA256.digest(of: canonical))
    let signature = Self.hex(
      HMACSHA256.code(of: Array(statement.utf8), key: key(for: String(date.prefix(8)))))
    return Fields(
      authorization: "AWS4-HMAC-SHA256 Credential=\(accessKey)/\(scope), SignedHeaders=\(names), "
        + "Signature=\(signature)",
      date: date)
  }

  /// The key for one day, this region and this service.
  private func key(for day: String) -> [UInt8] {
    [day, region, service, "aws4_request"].reduce(Array("AWS4\(secretKey)".utf8)) { key, part in
      HMACSHA256.code(of: Array(part.utf8), key: key)
    }
  }

  // MARK: - Canonical forms

  private func split(_ target: [UInt8]) -> (path: ArraySlice<UInt8>, query: ArraySlice<UInt8>) {
    guard let mark = target.firstIndex(of: UInt8(ascii: "?")) else { return (target[...], []) }
    return (target[..<mark], target[(mark + 1)...])
  }

  /// S3 signs a path that is escaped once.
  ///
  /// Others sign the path that was sent, escaped once more,
  /// and without empty segments.
  private func canonicalPath(_ path: ArraySlice<UInt8>) -> [UInt8] {
    let slash = UInt8(ascii: "/")
    var segments = path.split(separator: slash, omittingEmptySubsequences: false)
    if service == "s3" {
      return Array(segments.map(Self.normal).joined(separator: [slash]))
    }
    let endsInSlash = path.last == slash
    segments.removeAll(where: \.isEmpty)
    var joined = segments.flatMap { [slash] + PercentEncoding.encode($0) }
    if endsInSlash || joined.isEmpty { joined.append(slash) }
    return joined
  }

  private static func canonicalQuery(_ query: ArraySlice<UInt8>) -> [UInt8] {
    let pairs = query.split(separator: UInt8(ascii: "&")).map { pair in
      let mark = pair.firstIndex(of: UInt8(ascii: "=")) ?? pair.endIndex
      return (name: normal(pair[..<mark]), value: normal(pair[mark...].dropFirst()))
    }
    let sorted = pairs.sorted {
      $0.name == $1.name
        ? $0.value.lexicographicallyPrecedes($1.value) : $0.name.lexicographicallyPrecedes($1.name)
    }
    return Array(
      sorted.map { $0.name + [UInt8(ascii: "=")] + $0.value }.joined(separator: [UInt8(ascii: "&")])
    )
  }

  /// A text in which all is escaped that has to be, and nothing else.
  private static func normal(_ text: ArraySlice<UInt8>) -> [UInt8] {
    var decoded: [UInt8] = []
    var index = text.startIndex
    while index < text.endIndex {
      let (byte, next) = PercentEncoding.decodedByte(of: text, at: index)
      decoded.append(byte)
      index = next
    }
    return PercentEncoding.encode(decoded)
  }

  /// The fields in the order of their names; values of one name are joined by commas.
  private static func merged(
    _ fields: [(name: String, value: [UInt8])]
  ) -> [(name: String, value: [UInt8])] {
    var values: [String: [[UInt8]]] = [:]
    for field in fields { values[field.name, default: []].append(field.value) }
    return values.sorted { $0.key < $1.key }.map {
      ($0.key, Array($0.value.joined(separator: [UInt8(ascii: ",")])))
    }
  }

  /// A value in which each run of blanks is one, and none are at its ends.
  private static func trimmed(_ value: [UInt8]) -> [UInt8] {
    Array(value.split { $0 == 0x20 || $0 == 0x09 }.joined(separator: [0x20]))
  }

  private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

  /// The time in seconds, as in `20130524T000000Z`.
  private static func date(_ time: WallTime) -> String {
    String(RFC3339.format(time).prefix(19).filter { $0 != "-" && $0 != ":" }) + "Z"
  }

  static func hex(_ bytes: [UInt8]) -> String {
    let digits = Array("0123456789abcdef".utf8)
    return String(
      decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }
}
