import Cryptography
import Forwarder
import JSON
import RelayCore

/// The relay as a client of an OAuth 2.0 server: how it asks for access tokens, and what it reads
/// out of the answers (RFC 6749 section 4.4).
struct OAuthClient: Sendable {
  /// The way in which it shows who it is.
  enum Proof: Sendable {
    /// A secret (RFC 6749 section 2.3.1).
    case secret(Secret)
    /// A signed assertion (RFC 7523 section 2.2), and the name of its key, if it has one.
    case key(SigningKey, id: String?)
  }

  /// The longest answer that is read, in bytes.
  static let answerBytesMax = 65_536
  /// The longest token that is taken, in bytes.
  static let tokenBytesMax = 16_384
  /// For how long an assertion is valid, in seconds: both clocks may be wrong by about that.
  private static let assertionSeconds: Int64 = 120

  let url: UpstreamURL
  let id: String
  let proof: Proof
  let scope: String?
  let audience: String?

  /// The part of the URL that follows the target's in the request line.
  private var requestTarget: [UInt8] { Array(Self.split(url).rest.utf8) }

  /// The URL's path in two: paths of requests begin with a slash.
  static func split(_ url: UpstreamURL) -> (base: String, rest: String) {
    guard let slash = url.basePath.lastIndex(of: "/") else { return ("", "/") }
    return (String(url.basePath[..<slash]), String(url.basePath[slash...]))
  }

  // MARK: - Asking

  /// The request for a token at a moment.
  func request(at time: WallTime) -> EnvelopeContent {
    var headers = HeaderBlock()
    headers.append(name: "Content-Type", value: "application/x-www-form-urlencoded")
    headers.append(name: "Accept", value: "application/json")
    var form = [("grant_type", "client_credentials")]
    if let scope { form.append(("scope", scope)) }
    if let audience { form.append(("audience", audience)) }
    switch proof {
    case .secret(let secret):
      let pair = Self.pair(id: id, secret: secret.value)
      headers.append(name: "Authorization", value: "Basic " + Base64.text(of: Array(pair.utf8)))
    case .key(let key, let keyID):
      form.append(
        ("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"))
      form.append(("client_assertion", assertion(key, id: keyID, at: time)))
    }
    let body = form.map { "\($0)=\(Self.encoded($1))" }.joined(separator: "&")
    return EnvelopeContent(
      method: "POST", target: requestTarget, headers: headers, body: .inline(Array(body.utf8)))
  }

  /// Both as they are put together, before Base64 (RFC 6749 section 2.3.1).
  static func pair(id: String, secret: String) -> String { encoded(id) + ":" + encoded(secret) }

  private static func encoded(_ text: String) -> String {
    String(decoding: PercentEncoding.encode(Array(text.utf8)), as: UTF8.self)
  }

  /// A signed assertion that the relay is this client (RFC 7523 section 3).
  private func assertion(_ key: SigningKey, id keyID: String?, at time: WallTime) -> String {
    let seconds = time.millisecondsSinceEpoch / 1000
    var header = JSONWriter()
    header.object { json in
      json.member("alg", key.algorithm)
      json.member("typ", "JWT")
      if let keyID { json.member("kid", keyID) }
    }
    var claims = JSONWriter()
    claims.object { json in
      json.member("iss", id)
      json.member("sub", id)
      json.member("aud", url.description)
      json.member("jti", Base64URL.encode(SecureRandom.bytes(16)))
      json.member("iat") { $0.integer(seconds) }
      json.member("exp") { $0.integer(seconds + Self.assertionSeconds) }
    }
    return CompactJWS.text(header: header.finish(), payload: claims.finish(), key: key)
  }

  // MARK: - Reading

  /// What came of a request.
  ///
  /// - Parameter mask: Hides what the server repeats of the relay's credentials.
  func read(_ report: AttemptReport, at now: WallTime, mask: CredentialMask) -> TokenAnswer {
    let answer: UpstreamResponse
    switch report.event {
    case .answered(let response): answer = response
    case .failed(.credentials, _):
      return .refused("no access token: \(mask.masked(report.sentence))")
    case .failed, .unsendable: return unavailable(mask.masked(report.sentence))
    }
    switch answer.status {
    case 200...299: return token(in: answer, mask: mask)
    // RFC 6749 section 5.2; some servers say 403.
    case 400, 401, 403: return refused(answer, mask: mask)
    default:
      let status = "\(url.authority) answered \(answer.status)"
      return unavailable(status, retryAfterMs: report.retryAfterMs(at: now))
    }
  }

  private func token(in answer: UpstreamResponse, mask: CredentialMask) -> TokenAnswer {
    guard !answer.isTruncated else {
      return unavailable("\(url.authority) answered more than \(Self.answerBytesMax) bytes")
    }
    guard let document = try? JSONValue.parse(answer.body),
      let token = document["access_token"].flatMap({ try? $0.string() }), Self.isToken(token)
    else {
      let coding = Self.codingWords(answer, mask: mask)
      return unavailable("\(url.authority) answered \(answer.status) without a token\(coding)")
    }
    let kind = document["token_type"].flatMap { try? $0.string() } ?? "bearer"
    guard kind.lowercased() == "bearer" else {
      return .refused(
        "no access token: \(url.authority) gives tokens of the type"
          + " \(mask.masked(kind).visibleASCII(bytesMax: 40)), and the relay takes \"Bearer\" alone"
      )
    }
    return .granted(token, lifetimeMs: document["expires_in"].flatMap(Self.milliseconds))
  }

  private static func isToken(_ text: String) -> Bool {
    (1...tokenBytesMax).contains(text.utf8.count)
      && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
  }

  /// A number of seconds; some servers write it as a text, or with a fraction.
  ///
  /// - Returns: nil also for less than a second, by which each attempt would fetch a token of its
  ///   own: such a server states no lifetime.
  private static func milliseconds(_ value: JSONValue) -> Int64? {
    let seconds = (try? value.double()) ?? (try? value.string()).flatMap { Double($0) }
    return seconds.flatMap { $0 >= 1 ? Int64(min($0, 1e9) * 1000) : nil }
  }

  private func refused(_ answer: UpstreamResponse, mask: CredentialMask) -> TokenAnswer {
    let document = try? JSONValue.parse(answer.body)
    let words = ["error", "error_description"].compactMap { name in
      (name == "error" ? document?["error"] : document?["error_description"]).flatMap {
        // Before anything is cut off or replaced: what is left of a credential is not found.
        (try? $0.string()).map { mask.masked($0) }
      }
    }
    let said =
      words.isEmpty
      ? Self.codingWords(answer, mask: mask)
      : ": " + words.joined(separator: ", ").visibleASCII(bytesMax: 160)
    return .refused("no access token: \(url.authority) answered \(answer.status)\(said)")
  }

  /// Why nothing could be read in an answer that came in a coding, which was not asked for.
  private static func codingWords(_ answer: UpstreamResponse, mask: CredentialMask) -> String {
    guard let coding = answer.headers.first("Content-Encoding") else { return "" }
    return " (its Content-Encoding is \(mask.masked(coding).visibleASCII(bytesMax: 40)))"
  }

  private func unavailable(_ reason: String, retryAfterMs: Int64? = nil) -> TokenAnswer {
    .unavailable("no access token: \(reason)", retryAfterMs: retryAfterMs)
  }
}

extension UpstreamConfiguration {
  /// The longest time for a request for a token, in milliseconds.
  private static let tokenTimeoutMs = 30_000

  /// The source of the upstream's access tokens; nil if it has none.
  func tokenSource(_ files: UpstreamFiles) throws(UpstreamTargetError) -> TokenSource? {
    guard let credentials, let client = credentials.oauthClient(files.signingKey),
      let url = try? UpstreamURL(client.url.origin + OAuthClient.split(client.url).base)
    else { return nil }
    precondition(
      (files.tokenAuthorities == nil) == (credentials.certificateAuthorities == nil),
      "its files are read first")
    let timeoutMs = min(attemptTimeoutMs ?? Self.tokenTimeoutMs, Self.tokenTimeoutMs)
    let endpoint = try UpstreamTarget(
      name: name, url: url, connectTimeoutMs: min(connectTimeoutMs, timeoutMs),
      attemptTimeoutMs: timeoutMs, responseBodyBytesMax: OAuthClient.answerBytesMax,
      maxConcurrent: 1, proxy: proxy?.url.value,
      certificates: .init(files.tokenAuthorities))
    let mask = CredentialMask(hiddenTexts)
    return TokenSource(
      endpoint: endpoint, key: files.signingKey, request: { client.request(at: $0) },
      read: { report, now in
        client.read(report, at: now, mask: mask)
      })
  }
}
