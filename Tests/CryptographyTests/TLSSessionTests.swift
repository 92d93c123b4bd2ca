import COpenSSL
@testable import Cryptography
import Foundation
import Testing

@Suite("A TLS session", .timeLimit(.minutes(5)))
struct TLSSessionTests {
  @Test("a handshake and data pass in pieces of any size", arguments: [1, 7, 1000, 100_000])
  func pieces(pieceBytes: Int) throws {
    let files = try CertificateFiles()
    let line = try Line(files, pieceBytes: pieceBytes)
    let session = try line.connected()
    let question = [UInt8](repeating: 1, count: 40_000)
    line.client.write(question)
    var received: [UInt8] = []
    while received.count < question.count {
      received += try line.read(session)
    }
    #expect(received == question)
    let answer = (0..<40_000).map { UInt8(truncatingIfNeeded: $0) }
    var sent = 0
    while sent < answer.count {
      let outcome = answer[sent...].withUnsafeBytes { session.write($0) }
      if case .done(let count) = outcome { sent += count }
    }
    #expect(line.client.read() == answer)
  }

  @Test("output that has to wait goes on where it stopped")
  func outputWaits() throws {
    let line = try Line(try CertificateFiles(), pieceBytes: 1000)
    let session = try line.connected()
    line.outputBytesLeft = 5000
    let answer = [UInt8](repeating: 7, count: 16_000)
    var waits = 0
    var sent = 0
    while sent < answer.count {
      switch answer[sent...].withUnsafeBytes({ session.write($0) }) {
      case .done(let count): sent += count
      case .needsOutput:
        waits += 1
        line.outputBytesLeft = 5000
      case let outcome: throw Unexpected(outcome: outcome)
      }
    }
    #expect(waits == 3)
    #expect(line.client.read() == answer)
  }

  @Test("an end that was announced is told from one that was not")
  func ends() throws {
    let files = try CertificateFiles()
    for isAnnounced in [true, false] {
      let line = try Line(files, pieceBytes: 1000)
      let session = try line.connected()
      if isAnnounced { line.client.sendCloseNotify() }
      line.hasEnded = true
      let outcome = line.step(session)
      #expect(outcome == (isAnnounced ? .ended : .failed(.truncated)))
    }
  }

  @Test("what is no TLS is refused, and HTTP is known as such")
  func noTLS() throws {
    let files = try CertificateFiles()
    for (text, expected) in [("GET / HTTP/1.1\r\n\r\n", TLSFailure.plainHTTP)] {
      let line = try Line(files, pieceBytes: 1000)
      line.put(Array(text.utf8))
      let session = TLSSession(line.context, over: line.channel)
      #expect(session.handshake() == .failed(expected))
    }
    let line = try Line(files, pieceBytes: 1000)
    line.put([UInt8](repeating: 0xFF, count: 100))
    guard case .failed(.refused) = TLSSession(line.context, over: line.channel).handshake() else {
      Issue.record("it was not refused")
      return
    }
  }

  @Test("a verified client's names and fingerprint are told; without a certificate there is none")
  func peer() throws {
    let files = try CertificateFiles()
    let line = try Line(files, pieceBytes: 1000, asksClient: true)
    let session = try line.connected()
    let chain = session.peerChain
    let peer = try #require(chain?.says)
    #expect(peer.validUntilSeconds == line.context.facts.validUntilSeconds)
    #expect(peer.commonName == "truck-7 \u{FC}")
    #expect(peer.dnsNames == ["truck-7.example", "truck-7.test"])
    #expect(peer.uris == ["urn:truck:7"])
    #expect(peer.emails == ["truck-7@example.com"])
    #expect(peer.fingerprint == (try files.fingerprint()))
    let other = try Line(files, pieceBytes: 1000)
    let none = try other.connected().peerChain
    #expect(none == nil)
  }

  @Test("a certificate can be verified anew, by other authorities and lists than before")
  func verifiedAnew() throws {
    let files = try CertificateFiles()
    let line = try Line(files, pieceBytes: 1000, asksClient: true)
    let shown = try line.connected().peerChain
    let chain = try #require(shown)
    #expect(chain.refusal(by: line.context) == nil)
    #expect(chain.refusal(by: try files.context(asksClient: true)) == nil)
    let stranger = try CertificateFiles().context(asksClient: true)
    #expect(chain.refusal(by: stranger)?.isEmpty == false)
    #expect(chain.refusal(by: line.context) == nil)
  }

  @Test("of two common names neither is the client's name")
  func twoNames() throws {
    let line = try Line(
      try CertificateFiles(subject: "/CN=truck-7/CN=truck-8"), pieceBytes: 1000, asksClient: true)
    let chain = try line.connected().peerChain
    let peer = try #require(chain?.says)
    #expect(peer.commonName == nil)
    #expect(peer.dnsNames.count == 2)
  }

  @Test("changes of keys without data are refused after a few, whatever lies there")
  func keyUpdates() throws {
    let line = try Line(try CertificateFiles(), pieceBytes: 1_000_000)
    let session = try line.connected()
    for _ in 0..<2000 { line.client.changeKeys() }
    line.client.write([1])
    #expect(line.step(session) == .failed(.flooded))
    #expect(line.step(session) == .failed(.flooded))
    // Two buffers full were taken at most; the rest is not even asked for.
    #expect(BIO_ctrl_pending(line.client.output) > 20_000)
  }

  @Test("changes of keys between data are no harm, and others have their turn meanwhile")
  func keyUpdatesBetween() throws {
    let line = try Line(try CertificateFiles(), pieceBytes: 1_000_000)
    let session = try line.connected()
    let question = (0..<200).map { UInt8($0) }
    for byte in question {
      for _ in 0..<TLSAllowance.emptyRecordsMax { line.client.changeKeys() }
      line.client.write([byte])
    }
    var received: [UInt8] = []
    var turns = 0
    while received.count < question.count {
      session.beginTurn()
      turns += 1
      let before = received.count
      while case let outcome = line.reading(session), outcome.0 != .heldBack {
        guard case .done = outcome.0 else { throw Unexpected(outcome: outcome.0) }
        received += outcome.1
        if received.count == question.count { break }
      }
      #expect(received.count - before <= TLSAllowance.recordsMax / TLSAllowance.emptyRecordsMax + 1)
    }
    #expect(received == question)
    #expect(turns > question.count / 5)
  }

  @Test("a turn ends with so many bytes, in a handshake as well as behind it")
  func turns() throws {
    let line = try Line(try CertificateFiles(), pieceBytes: 1_000_000)
    let session = try line.connected()
    let question = [UInt8](repeating: 1, count: 200_000)
    line.client.write(question)
    session.beginTurn()
    var received = 0
    while case .done(let count) = line.step(session) { received += count }
    #expect(line.step(session) == .heldBack)
    #expect((40_000...TLSAllowance.bytesMax).contains(received))
    session.beginTurn()
    #expect(line.step(session) == .done(4096))

    // A client hello of which each byte has a record of its own.
    let other = try Line(try CertificateFiles(), pieceBytes: 1_000_000)
    let hello = [1, 1, 0xFF, 0] + [UInt8](repeating: 3, count: 100_000)
    for byte in hello { other.put([22, 3, 1, 0, 1, byte]) }
    let slow = TLSSession(other.context, over: other.channel)
    #expect(slow.handshake() == .heldBack)
    #expect(BIO_ctrl_pending(other.client.output) == hello.count * 6 - TLSAllowance.bytesMax)
    #expect(slow.handshake() == .heldBack)
  }

  @Test("credentials that were replaced count for new sessions")
  func replaced() throws {
    let files = try CertificateFiles()
    let credentials = TLSCredentials(try files.context())
    let first = credentials.current
    credentials.replace(with: try files.context())
    #expect(credentials.current !== first)
    #expect(credentials.current.facts == first.facts)
    #expect(first.facts.name == "truck-7 \u{FC}")
    #expect(first.facts.validUntilSeconds > first.facts.validFromSeconds)
  }
}

/// An outcome that no test expects.
private struct Unexpected: Error {
  let outcome: TLSOutcome
}

/// A self-signed certificate that serves as server's, as client's and as authority.
private final class CertificateFiles {
  private let path = NSTemporaryDirectory() + "waystation-session-\(UUID().uuidString)"
  var certificate: String { path + "/certificate.pem" }
  var key: String { path + "/key.pem" }

  init(subject: String = "/CN=truck-7 \u{FC}") throws {
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    try run([
      "req", "-x509", "-utf8", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
      "-days", "2", "-subj", subject, "-keyout", key, "-out", certificate, "-addext",
      "subjectAltName=DNS:truck-7.example,URI:urn:truck:7,email:truck-7@example.com,"
        + "DNS:truck-7.test,IP:127.0.0.1",
    ])
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  func context(asksClient: Bool = false) throws -> TLSContext {
    let clients = TLSSettings.Clients(authorities: certificate, isRequired: true)
    return try TLSContext(
      loading: TLSSettings(
        certificate: certificate, key: key, clients: asksClient ? clients : nil))
  }

  func fingerprint() throws -> [UInt8] {
    try run(["x509", "-in", certificate, "-outform", "DER", "-out", path + "/der"])
    return SHA256.digest(of: try Data(contentsOf: URL(fileURLWithPath: path + "/der")))
  }

  private func run(_ arguments: [String]) throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["openssl"] + arguments
    process.standardError = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw CocoaError(.fileWriteUnknown) }
  }
}

/// OpenSSL's own client, over memory.
private final class Client {
  let ssl: OpaquePointer
  /// What it is to receive, and what it has sent.
  let input: OpaquePointer
  let output: OpaquePointer

  init(_ files: CertificateFiles) throws {
    let context = try #require(SSL_CTX_new(TLS_client_method()))
    defer { SSL_CTX_free(context) }
    SSL_CTX_use_certificate_file(context, files.certificate, SSL_FILETYPE_PEM)
    SSL_CTX_use_PrivateKey_file(context, files.key, SSL_FILETYPE_PEM)
    ssl = try #require(SSL_new(context))
    input = try #require(BIO_new(BIO_s_mem()))
    output = try #require(BIO_new(BIO_s_mem()))
    SSL_set_bio(ssl, input, output)
    SSL_set_connect_state(ssl)
  }

  deinit { SSL_free(ssl) }

  func shakeHands() -> Bool { SSL_do_handshake(ssl) == 1 }
  func write(_ bytes: [UInt8]) { SSL_write(ssl, bytes, Int32(bytes.count)) }
  func sendCloseNotify() { SSL_shutdown(ssl) }

  /// Sends a change of its keys (RFC 8446 section 4.6.3), and asks for none.
  func changeKeys() {
    SSL_key_update(ssl, SSL_KEY_UPDATE_NOT_REQUESTED)
    SSL_do_handshake(ssl)
  }

  func read() -> [UInt8] {
    var all: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 65536)
    while case let count = SSL_read(ssl, &piece, Int32(piece.count)), count > 0 {
      all += piece[..<Int(count)]
    }
    return all
  }
}

/// What lies between a client and a session: it moves so many bytes at a time.
private final class Line {
  let context: TLSContext
  let client: Client
  /// How many bytes the session may send before it has to wait; nil for any number.
  var outputBytesLeft: Int?
  /// Whether the client's side of the connection has ended.
  var hasEnded = false
  private let pieceBytes: Int
  private(set) var channel: TLSChannel

  init(_ files: CertificateFiles, pieceBytes: Int, asksClient: Bool = false) throws {
    context = try files.context(asksClient: asksClient)
    client = try Client(files)
    self.pieceBytes = pieceBytes
    channel = TLSChannel(receive: { _ in .failed }, send: { _ in .failed })
    channel = TLSChannel(
      receive: { [unowned self] in receive($0) }, send: { [unowned self] in send($0) })
  }

  /// Lets the session receive what no client has sent.
  func put(_ bytes: [UInt8]) { BIO_write(client.output, bytes, Int32(bytes.count)) }

  private func receive(_ buffer: UnsafeMutableRawBufferPointer) -> TLSChannel.Transfer {
    let count = BIO_read(
      client.output, buffer.baseAddress, Int32(min(pieceBytes, buffer.count)))
    return count > 0 ? .moved(Int(count)) : hasEnded ? .ended : .mustWait
  }

  private func send(_ bytes: UnsafeRawBufferPointer) -> TLSChannel.Transfer {
    let room = min(pieceBytes, bytes.count, outputBytesLeft ?? .max)
    guard room > 0 else { return .mustWait }
    if let left = outputBytesLeft { outputBytesLeft = left - room }
    return .moved(Int(BIO_write(client.input, bytes.baseAddress, Int32(room))))
  }

  /// A session that has completed its handshake with the client.
  func connected() throws -> TLSSession {
    let session = TLSSession(context, over: channel)
    var isDone = (client: false, server: false)
    for _ in 0..<100_000 where !isDone.client || !isDone.server {
      isDone.client = client.shakeHands()
      switch session.handshake() {
      case .done: isDone.server = true
      case .needsInput, .needsOutput: continue
      case let outcome: throw Unexpected(outcome: outcome)
      }
    }
    return session
  }

  /// What one read comes to.
  func step(_ session: borrowing TLSSession) -> TLSOutcome {
    var room = [UInt8](repeating: 0, count: 4096)
    return room.withUnsafeMutableBytes { session.read(into: $0) }
  }

  /// What one read comes to, and brings.
  func reading(_ session: borrowing TLSSession) -> (TLSOutcome, [UInt8]) {
    var room = [UInt8](repeating: 0, count: 4096)
    let outcome = room.withUnsafeMutableBytes { session.read(into: $0) }
    guard case .done(let count) = outcome else { return (outcome, []) }
    return (outcome, Array(room[..<count]))
  }

  /// What one read brings; nothing where more has to come first.
  func read(_ session: borrowing TLSSession) throws -> [UInt8] {
    var room = [UInt8](repeating: 0, count: 4096)
    switch room.withUnsafeMutableBytes({ session.read(into: $0) }) {
    case .done(let count): return Array(room[..<count])
    case .needsInput: return []
    case let outcome: throw Unexpected(outcome: outcome)
    }
  }
}
