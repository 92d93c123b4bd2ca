import EventLoop
import RelayCore
import Testing

@testable import waystation

@Suite("The health command")
struct HealthTests {
  @Test(
    "the option beats WAYSTATION_SERVER beats WAYSTATION_LISTEN beats the default",
    arguments: [
      (nil, [:], "http://127.0.0.1:8080"),
      (nil, ["WAYSTATION_LISTEN": ""], "http://127.0.0.1:8080"),
      (nil, ["WAYSTATION_LISTEN": "10.0.0.1:81, [::1]:82"], "http://10.0.0.1:81"),
      (nil, ["WAYSTATION_LISTEN": "0.0.0.0:81"], "http://127.0.0.1:81"),
      (nil, ["WAYSTATION_LISTEN": "[::]:81"], "http://[::1]:81"),
      (
        nil, ["WAYSTATION_LISTEN": "0.0.0.0:81", "WAYSTATION_SERVER": "http://relay:82/"],
        "http://relay:82"
      ),
      ("http://a:1", ["WAYSTATION_SERVER": "http://relay:82"], "http://a:1"),
      ("unix:/run/a.sock", ["WAYSTATION_SERVER": "http://relay:82"], "unix:/run/a.sock"),
      (nil, ["WAYSTATION_LISTEN": "unix:/run/b.sock,127.0.0.1:1"], "unix:/run/b.sock"),
    ] as [(String?, [String: String], String)])
  func target(flag: String?, environment: [String: String], url: String) throws {
    #expect(try HealthTarget.find(flag: flag, environment: environment).description == url)
  }

  @Test(
    "a target that cannot be asked is refused",
    arguments: [
      ("https://a", [:], "this command speaks no TLS"),
      ("nonsense", [:], "expected a URL"), ("unix:a.sock", [:], "expected a URL"),
      (nil, ["WAYSTATION_LISTEN": "127.0.0.1:0"], "does not say which port"),
      (nil, ["WAYSTATION_LISTEN": ","], "does not say which port"),
    ] as [(String?, [String: String], String)])
  func noTarget(flag: String?, environment: [String: String], why: String) {
    let failure = #expect(throws: HealthFailure.self) {
      _ = try HealthTarget.find(flag: flag, environment: environment)
    }
    #expect(failure?.reason.contains(why) == true)
  }

  @Test("only a 2xx answer means ready")
  func ready() throws {
    try HealthCheck.judge(Array("HTTP/1.1 200 OK\r\n\r\n".utf8))
    try HealthCheck.judge(Array("HTTP/1.0 204\r\n\r\n".utf8))
  }

  @Test(
    "any other answer is told in words",
    arguments: [
      ("", "it closed the connection without an answer"),
      ("SSH-2.0-OpenSSH\r\n", "the server that answers does not speak HTTP/1.1"),
      ("HTTP/1.1 2000 OK\r\n", "the server that answers does not speak HTTP/1.1"),
      ("HTTP/1.1 404 Not Found\r\n\r\nnothing", "it answers 404"),
      (
        "HTTP/1.1 503 x\r\n\r\n{\"status\":503,\"detail\":\"The disk is full.\"}",
        "it answers 503: The disk is full."
      ),
      (
        "HTTP/1.1 503 x\r\n\r\n{\"detail\":\"\\u001b[2J\\u009b31m\"}",
        "it answers 503: \\u{1b}[2J\\u{9b}31m"
      ),
      (
        "HTTP/1.1 503 x\r\n\r\n{\"status\":\"not ready\",\"reasons\":[\"the disk is full\",\"b\"]}",
        "it answers 503: the disk is full"
      ),
      ("HTTP/1.1 503 x\r\n\r\n}{", "it answers 503"),
    ])
  func notReady(answer: String, reason: String) {
    let error = #expect(throws: HealthFailure.self) {
      try HealthCheck.judge(Array(answer.utf8))
    }
    #expect(error?.reason == reason)
  }
}
