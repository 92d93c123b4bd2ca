import Foundation
import Testing

extension EndToEnd {
  @Suite(
    "Signed requests", .serialized,
    .enabled(if: ChildProcess.program("python3") != nil, "python3 checks the signatures"),
    .ofNoStore)
  struct SignedRequests {
    private static let python = ChildProcess.program("python3")

    /// Checks as a receiver would, with nothing of the relay's own code.
    private static let checker = """
      import base64, hmac, hashlib, sys
      keys, (id, time, signatures) = sys.argv[1].split(), sys.argv[2:5]
      body = open(sys.argv[5], "rb").read()
      found = signatures.split()
      signed = id.encode() + b"." + time.encode() + b"." + body
      for key in keys:
          code = hmac.new(base64.b64decode(key[6:]), signed, hashlib.sha256).digest()
          print("v1," + base64.b64encode(code).decode() in found)
      print(len(found))
      """

    @Test("a receiver with either key can check every attempt, of small bodies and of large ones")
    func checked() async throws {
      let keys = [24, 64].map {
        "whsec_" + Data((0..<$0).map { UInt8(truncatingIfNeeded: $0 &* 5) }).base64EncodedString()
      }
      let upstream = try TestUpstream()
      let relay = try await Relay.started(upstream, upstreamMore: ["signing": ["keys": keys]])
      let device = relay.device()
      let bodies: [[UInt8]] = [
        [], Array(#"{"a":"b"}"#.utf8), (0..<600_000).map { UInt8(truncatingIfNeeded: $0 &* 31) },
      ]
      let seen = upstream
      upstream.behave { request in
        seen.received.filter { $0.target == request.target }.count < 2 ? .answer(503) : .answer(200)
      }
      for (index, body) in bodies.enumerated() {
        let answer = try await device.relay(
          "POST", "/\(index)", headers: ["Prefer": "wait=20", "webhook-id": "forged"], body: body)
        #expect(answer["Waystation-Upstream-Status"] == "200", "\(answer)")
      }
      let requests = upstream.received
      #expect(requests.count == 2 * bodies.count)
      #expect(Set(requests.compactMap { $0["webhook-id"] }).count == bodies.count)
      for request in requests {
        #expect(request["webhook-id"] == request["Idempotency-Key"])
        #expect(try await check(request, keys) == ["True", "True", "2"])
      }
      var altered = requests[1]
      altered.message.body.append(0)
      #expect(try await check(altered, keys) == ["False", "False", "2"])
    }

    private func check(_ request: WireRequest, _ keys: [String]) async throws -> [String] {
      let folder = try TemporaryFolder()
      let file = folder.path + "/body"
      try Data(request.body).write(to: URL(fileURLWithPath: file))
      let fields = ["webhook-id", "webhook-timestamp", "webhook-signature"].map {
        request[$0] ?? ""
      }
      let process = try ChildProcess(
        Self.python ?? "", ["-c", Self.checker, keys.joined(separator: " ")] + fields + [file])
      #expect(try await process.ending() == .exit(0), "\(process.errors)")
      return process.output.split(separator: "\n").map(String.init)
    }
  }
}
