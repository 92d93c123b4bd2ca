import Foundation
import WaystationOutbox

import struct RelayCore.HeaderBlock

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// One request in the form that URLSession takes.
struct SessionRequest {
  /// The longest pause that is asked for: some days, which every URLSession can count.
  private static let pauseSecondsMax: Double = 1_000_000

  /// Whom it goes to, for messages.
  let authority: String
  private var request: URLRequest
  private var file: URL?

  /// Takes a request.
  ///
  /// - Throws: What in it cannot be sent.
  init(_ exchange: Exchange) throws(ConnectionFailure) {
    guard let url = URL(string: exchange.url, encodingInvalidCharacters: false),
      url.scheme == "http" || url.scheme == "https", let host = url.host, !host.isEmpty
    else { throw .unsendable("the URL \(exchange.url) cannot be used") }
    try Self.check(exchange.identity)
    authority = url.port.map { "\(host):\($0)" } ?? host
    request = URLRequest(url: url)
    request.httpMethod = exchange.method
    // This is the longest pause. All of it has a limit as well, which is over earlier.
    request.timeoutInterval = min(max(0, exchange.timeout.seconds) + 1, Self.pauseSecondsMax)
    try set(exchange.headers)
    try set(exchange.body, exchange)
  }

  private static func check(_ identity: TLSIdentity?) throws(ConnectionFailure) {
    switch identity {
    case nil: return
    case .pem:
      throw .unsendable("URLSession takes no certificate from files: name one of the key chain")
    case .keychain(let label):
      #if canImport(Security)
      if KeychainIdentity.credential(label: label) != nil { return }
      #endif
      throw .unsendable("there is no key chain with a certificate \(label)")
    }
  }

  private mutating func set(_ headers: [(String, String)]) throws(ConnectionFailure) {
    // Else it asks for compressed answers, and their fields no longer fit what it hands over.
    request.setValue("identity", forHTTPHeaderField: "Accept-Encoding")
    var known: Set<String> = ["accept-encoding"]
    for (name, value) in headers {
      var block = HeaderBlock()
      guard block.append(name: name, value: value) else {
        throw .unsendable("the header field \(name) cannot be sent")
      }
      if known.insert(name.lowercased()).inserted || name.lowercased() == "accept-encoding" {
        request.setValue(value, forHTTPHeaderField: name)
      } else {
        // Lines of one name are one list (RFC 9110 section 5.3).
        let former = request.value(forHTTPHeaderField: name) ?? ""
        request.setValue("\(former), \(value)", forHTTPHeaderField: name)
      }
    }
  }

  private mutating func set(
    _ body: ExchangeBody, _ exchange: Exchange
  ) throws(ConnectionFailure) {
    switch body {
    case .none: return
    case .bytes(let bytes): request.httpBody = bytes.isEmpty ? nil : Data(bytes)
    case .file(let stretch):
      try stretch.check()
      let size = (try? FileManager.default.attributesOfItem(atPath: stretch.path))?[.size]
      let isWhole = stretch.offset == 0 && (size as? NSNumber)?.int64Value == stretch.count
      if isWhole, !Self.isUploadStep(exchange) {
        // URLSession reads it by itself, so it is looked at before.
        try Self.pass(stretch) { _ in }
        file = URL(fileURLWithPath: stretch.path)
      } else {
        var bytes = Data(capacity: Int(stretch.count))
        try Self.pass(stretch) { bytes.append(contentsOf: $0) }
        request.httpBody = bytes
      }
    }
  }

  /// Whether it is a part of an upload by the outbox itself.
  ///
  /// To a file that it sends, URLSession may add fields of the same protocol.
  private static func isUploadStep(_ exchange: Exchange) -> Bool {
    exchange.headers.contains { $0.0.lowercased().hasPrefix("upload-") }
  }

  /// Reads a stretch of a file to its end.
  private static func pass(
    _ stretch: FileStretch, _ take: ([UInt8]) -> Void
  ) throws(ConnectionFailure) {
    var place: Int64 = 0
    while place < stretch.count {
      let piece = try stretch.piece(at: place)
      take(piece)
      place += Int64(piece.count)
    }
  }

  /// A task of a session that makes the request.
  func task(of session: URLSession) -> URLSessionTask {
    file.map { session.uploadTask(with: request, fromFile: $0) } ?? session.dataTask(with: request)
  }
}

extension Duration {
  /// Seconds.
  var seconds: Double {
    let (seconds, attoseconds) = components
    return Double(seconds) + Double(attoseconds) / 1e18
  }
}
