import Foundation

/// A program of the system's that a test runs beside itself; ended with its owner.
final class Tool {
  private let process = Process()
  private let output = Pipe()

  /// Starts a program.
  init(_ path: String, _ arguments: [String]) throws {
    process.executableURL = URL(fileURLWithPath: path)
    process.arguments = arguments
    process.standardOutput = output
    process.standardError = output
    process.standardInput = FileHandle.nullDevice
    try process.run()
  }

  deinit {
    // The program inherits the signal mask of the pool's thread that started it, which blocks
    // SIGTERM.
    if process.isRunning { kill(process.processIdentifier, SIGKILL) }
    process.waitUntilExit()
  }

  /// Reads what the program says until it has said this; false if it ended before that.
  func waitForOutput(_ text: String) -> Bool {
    var seen = Data()
    while case let piece = output.fileHandleForReading.availableData, !piece.isEmpty {
      seen.append(piece)
      if String(decoding: seen, as: UTF8.self).contains(text) { return true }
    }
    return false
  }

  /// Runs a program to its end; its exit status.
  static func run(_ path: String, _ arguments: [String]) throws -> Int32 {
    let tool = try Tool(path, arguments)
    _ = tool.output.fileHandleForReading.readDataToEndOfFile()
    tool.process.waitUntilExit()
    return tool.process.terminationStatus
  }

  /// The path of an installed program; nil if it is not installed.
  static func path(of name: String) -> String? {
    ["/usr/bin/", "/usr/sbin/", "/usr/local/bin/"].map { $0 + name }
      .first { FileManager.default.isExecutableFile(atPath: $0) }
  }
}

/// A folder with a self-signed certificate for 127.0.0.1 in it; gone with its owner.
final class CertificateFolder: Sendable {
  let path: String
  var certificate: String { path + "/certificate.pem" }
  var key: String { path + "/key.pem" }

  init() throws {
    // Not wherever this machine has temporary files: a Unix socket's path has 107 bytes at most.
    path = "/tmp/waystation-tls-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    let status = try Tool.run(
      Tool.path(of: "openssl") ?? "openssl",
      [
        "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days",
        "2", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key,
        "-out", certificate,
      ])
    guard status == 0 else { throw CocoaError(.fileWriteUnknown) }
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }
}
