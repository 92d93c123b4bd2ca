import Foundation
import Testing

extension EndToEnd.Examples {
  @Test("a file arrives whole and once, though its link is cut and the answer is lost")
  func upload() async throws {
    let upstream = try TestUpstream()
    let relay = try await Relay.started(upstream)
    let (port, appends) = (relay.port, Monitor(0))
    let front = try TestUpstream { request in
      guard request.method == "PATCH" else { return .passed(request, to: port) }
      guard appends.change({ ($0, $0 += 1).0 }) > 0 else {
        return .passed(request, to: port, part: 200_000)
      }
      _ = Behaviour.passed(request, to: port)
      return .cut
    }
    let folder = try TemporaryFolder()
    let photo = Uploader.photo(500_000)
    let file = folder.path + "/photo.jpg"
    try Data(photo).write(to: URL(fileURLWithPath: file))
    for _ in 0..<2 {
      let script = try ChildProcess(
        "python3",
        [ShellDocument.repository + "/examples/upload.py", file, "/photos/9?a=1", "image/jpeg"],
        environment: ["WAYSTATION_SERVER": front.url, "WAYSTATION_CLIENT": "device-1"])
      #expect(try await script.ending() == .exit(0), "\(script.errors)")
      #expect(script.output.hasPrefix("taken ") && script.output.hasSuffix(" duplicate\n"))
    }
    let sent = front.received.filter { $0.method == "PATCH" }
    #expect(sent.map { $0["Upload-Offset"] } == ["0", "200000"])
    let received = try await upstream.received(count: 1)
    #expect(received.map(\.body) == [photo])
    #expect(received[0].target == "/photos/9?a=1" && received[0]["Content-Type"] == "image/jpeg")
  }

  @Test("a file that the relay does not take is refused in its words")
  func refusedUpload() async throws {
    let relay = try await Relay.started(TestUpstream(), more: ["limits": ["bodyBytesMax": 1000]])
    let folder = try TemporaryFolder()
    let file = folder.path + "/photo.jpg"
    try Data(Uploader.photo(1001)).write(to: URL(fileURLWithPath: file))
    let script = try ChildProcess(
      "python3", [ShellDocument.repository + "/examples/upload.py", file, "/p"],
      environment: [
        "WAYSTATION_SERVER": "http://127.0.0.1:\(relay.port)", "WAYSTATION_CLIENT": "device-1",
      ])
    #expect(try await script.ending() == .exit(1), "\(script.output)")
    #expect(script.errors.hasPrefix("refused 413 "), "\(script.errors)")
  }
}
