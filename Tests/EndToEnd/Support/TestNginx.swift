import Foundation
import Testing

/// nginx with a configuration of the test's own.
final class TestNginx: Sendable {
  static var isThere: Bool { ChildProcess.program("nginx") != nil }

  let folder: TemporaryFolder
  let port: UInt16
  private let process: ChildProcess

  /// Starts it, and waits until it listens.
  ///
  /// - Parameter http: What stands in nginx's `http`, made of its folder and its port.
  init(_ http: (_ folder: String, _ port: UInt16) throws -> String) async throws {
    let folder = try TemporaryFolder()
    let port = try ReservedPort.kept()
    (self.folder, self.port) = (folder, port)
    let paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
      .map { "\($0)_temp_path \(folder.path)/\($0);" }.joined(separator: " ")
    let file = try folder.write(
      "nginx.conf",
      """
      daemon off; master_process off; pid \(folder.path)/pid; error_log stderr notice;
      events {}
      http {
        \(paths)
      \(try http(folder.path, port))
      }
      """)
    process = try ChildProcess(
      try #require(ChildProcess.program("nginx")), ["-e", "stderr", "-c", file])
    try await process.errors(hold: "event method")
  }

  func stop() async throws {
    process.signal(SIGTERM)
    try await process.ending()
  }
}
