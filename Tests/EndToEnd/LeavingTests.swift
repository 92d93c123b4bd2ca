import Foundation
import Testing

extension EndToEnd {
  @Suite("A device that leaves while it waits", .serialized)
  struct Leaving {
    @Test("its connection is let go at once, whatever it waited for")
    func leaves() async throws {
      let upstream = try TestUpstream { _ in .never }
      let relay = try await Relay.started(upstream, more: ["limits": ["connectionsMax": 2]])
      let device = relay.device()
      let id = try #require(try await device.post(["path": "/1"]).json()["id"] as? String)
      let waits = [
        "GET /v1/envelopes/\(id)?wait=60", "POST /v1/clients/\(device.name)/run?wait=60",
        "POST /v1/relay/default/2",
      ]
      for wait in waits {
        try await onThread {
          let gone = try Connection(port: relay.port)
          let head =
            "\(wait) HTTP/1.1\r\nHost: relay\r\nContent-Length: 0\r\n"
            + "Waystation-Client: other\r\nPrefer: wait=60\r\n\r\n"
          try gone.write(Array(head.utf8))
          gone.close()
        }
        // With two connections at the most, another device gets in once the first has been let go.
        try await eventually("a place for another device") {
          try? await relay.device("other").get("/healthz").status == 200 ? true : nil
        }
      }
    }
  }
}
