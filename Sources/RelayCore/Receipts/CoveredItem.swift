/// What a receipt covers of one envelope: all that decides what its upstream gets to see.
///
/// `docs/receipts.md` has the bytes. Hold, deadline and tag are not covered: they are orders to the
/// relay.
package struct CoveredItem: Sendable {
  /// The fields of the header that are covered: an operator may replace the others.
  ///
  /// An `idempotency-key` that is the envelope's own key is covered by that.
  package static let headerNames: [StaticString] = ["content-type", "idempotency-key"]
  /// The same, with each name as a text: to make one for each envelope would take longer than its
  /// digest.
  private static let covered = headerNames.map { (name: $0, text: $0.description) }

  /// The client's name.
  package var client: String
  /// The lane's name.
  package var lane: String
  /// The sequence number.
  package var number: Int64
  /// The sender's key; empty if it has none.
  package var key: String
  /// The upstream's name.
  package var upstream: String
  /// The method.
  package var method: String
  /// The path, with its query.
  package var path: [UInt8]
  /// The fields of ``headerNames`` that it has, by lower-case name, in the order of the names.
  package var headers: [(name: String, value: [UInt8])]
  /// The length of the body in bytes.
  package var bodyByteCount: Int64
  /// The SHA-256 of the body.
  package var bodyDigest: [UInt8]

  /// Puts together what is covered.
  package init(
    client: String, lane: String, number: Int64, key: String, upstream: String, method: String,
    path: [UInt8], headers: [(name: String, value: [UInt8])], bodyByteCount: Int64,
    bodyDigest: [UInt8]
  ) {
    self.client = client
    self.lane = lane
    self.number = number
    self.key = key
    self.upstream = upstream
    self.method = method
    self.path = path
    self.headers = headers
    self.bodyByteCount = bodyByteCount
    self.bodyDigest = bodyDigest
  }

  /// What is covered of a draft; nil if it has no number.
  ///
  /// - Parameter bodyDigest: The SHA-256 of its body.
  package init?(_ draft: EnvelopeDraft, bodyDigest: [UInt8]) {
    guard let number = draft.sequence, !draft.isVoid else { return nil }
    self.init(
      client: draft.client, lane: draft.lane, number: number, key: draft.key ?? "",
      upstream: draft.upstream, method: draft.content.method, path: draft.content.target,
      headers: Self.headers(of: draft), bodyByteCount: draft.content.body.byteCount,
      bodyDigest: bodyDigest)
  }

  private static func headers(of draft: EnvelopeDraft) -> [(name: String, value: [UInt8])] {
    var headers: [(name: String, value: [UInt8])] = []
    for place in covered.indices {
      for field in draft.content.headers where field.isNamed(covered[place].name) {
        let isOwnKey =
          covered[place].text == "idempotency-key"
          && field.value.elementsEqual((draft.key ?? "").utf8)
        if !isOwnKey { headers.append((covered[place].text, Array(field.value))) }
      }
    }
    return headers
  }

  /// The bytes of which its digest is taken.
  package var bytes: [UInt8] {
    var bytes = ReceiptBytes("waystation.item.v1")
    bytes.add(counted: client.utf8)
    bytes.add(counted: lane.utf8)
    bytes.add(number)
    bytes.add(counted: key.utf8)
    bytes.add(counted: upstream.utf8)
    bytes.add(counted: method.utf8)
    bytes.add(counted: path)
    bytes.add(UInt32(headers.count))
    for header in headers {
      bytes.add(counted: header.name.utf8)
      bytes.add(counted: header.value)
    }
    bytes.add(bodyByteCount)
    bytes.add(bodyDigest)
    return bytes.bytes
  }
}
