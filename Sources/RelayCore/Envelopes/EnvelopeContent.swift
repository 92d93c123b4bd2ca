/// The request that an envelope carries, as it goes to the upstream.
package struct EnvelopeContent: Sendable, Equatable {
  /// The request method: a token (RFC 9110 section 9.1), letters' case as sent.
  package var method: String
  /// Path and query, from the leading `/`, byte for byte as the sender wrote them.
  package var target: [UInt8]
  /// The sender's fields, without those that only concern the sender and the relay.
  package var headers: HeaderBlock
  /// The body.
  package var body: EnvelopeBody

  /// Puts the parts of a request together.
  package init(method: String, target: [UInt8], headers: HeaderBlock, body: EnvelopeBody) {
    self.method = method
    self.target = target
    self.headers = headers
    self.body = body
  }

  /// The size of body, headers and target in bytes: what quotas count.
  package var byteCount: Int64 {
    body.byteCount + Int64(target.count + headers.bytes.count)
  }
}

/// An envelope's body: a small one is in memory, a large one in a file of the store.
package enum EnvelopeBody: Sendable, Equatable {
  /// The bytes themselves.
  case inline([UInt8])
  /// A file of the store, written and synced before the envelope is accepted.
  case file(StoredBodyFile)

  /// The length in bytes.
  package var byteCount: Int64 {
    switch self {
    case .inline(let bytes): Int64(bytes.count)
    case .file(let file): file.byteCount
    }
  }
}

/// A body in a file of its own.
package struct StoredBodyFile: Hashable, Sendable {
  /// The file's path, to be opened for reading.
  package let path: String
  /// Its length in bytes.
  package let byteCount: Int64
  /// The ``Checksum`` of its bytes; nil if it was written before there were any.
  package let checksum: Int64?

  /// Names a file that holds `byteCount` bytes.
  package init(path: String, byteCount: Int64, checksum: Int64? = nil) {
    self.path = path
    self.byteCount = byteCount
    self.checksum = checksum
  }
}
