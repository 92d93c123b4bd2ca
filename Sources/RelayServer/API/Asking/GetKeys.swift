import HTTPServer

/// `GET /.well-known/waystation/keys`: the public keys of what the relay signs, as a JSON Web Key
/// Set (RFC 7517 section 5).
enum GetKeys {
  /// For how long a copy may be kept; so long a new key may go unseen.
  private static let freshness = "max-age=300"

  static func respond(_ keys: ReceiptKeys?) throws(Problem) -> HTTPResponse {
    guard let keys else { throw .noReceiptKeys() }
    var response = HTTPResponse(status: 200, body: .bytes(keys.jwks))
    response.headers.add("Content-Type", "application/jwk-set+json")
    response.headers.add("Cache-Control", freshness)
    return response
  }
}
