#if PostgreSQL
import Glibc
import Testing

extension EndToEnd.Passing {
  @Test("while one that is stopped waits for an upstream, posts are still taken everywhere")
  func slowUpstream() async throws {
    let gate = Monitor(false)
    upstream.behave { request in
      if request.target == "/slow" { _ = gate.block(seconds: 30) { $0 ? true : nil } }
      return .answer(200)
    }
    try await startBoth()
    try await eventually("both relays in the status") {
      let status = try await device(at: holder).get("/status").json()
      let store = status["store"] as? [String: Any]
      return (store?["relays"] as? [Any])?.count == 2 ? true : nil
    }
    try await device(at: holder).post(["path": "/slow"]).require(202)
    try await upstream.received(count: 1)
    holder.signal(SIGTERM)
    try await holder.log(holds: "handing over: posts are taken")
    try await device(at: holder).post(["path": "/2"]).require(202)
    try await device(at: spare).post(["path": "/3"]).require(202)
    #expect(!holder.log.contains("\"draining\""))
    gate.change { $0 = true }
    #expect(try await holder.ending() == .exit(0))
    try await device(at: spare).post(["path": "/4"]).require(202)
    let received = try await upstream.received(count: 4)
    #expect(received.map(\.target) == ["/slow", "/2", "/3", "/4"])
  }
}
#endif
