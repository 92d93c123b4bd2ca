#if PostgreSQL
import Foundation
import PostgresTesting
import Testing

extension EndToEnd.Passing {
  @Test("what waits for an answer over a link that swallows everything is told, and goes on later")
  func silence() async throws {
    let database = try TestDatabase.fresh()
    let link = try LossyProxy(to: 1)
    let holder = try await Self.relay(
      "relay-3", upstream, authority, database.url, reachedBy: link.port)
    let spare = try await Self.relay("relay-4", upstream, authority, database.url)
    try await holder.start()
    // It listens before it has the store.
    try await holder.log(holds: "line taken up")
    link.lead(to: holder.port(of: 1))
    try await spare.start()
    try await spare.log(holds: "this one waits as a spare")
    let device = device(at: spare)
    try await device.post(["path": "/1", "key": "1"]).require(202)
    link.fallSilent()
    let lost = try await device.post(["path": "/2", "key": "2"])
    #expect(lost.status == 503 && lost.problem == "no-leader", "\(lost)")
    try await spare.log(holds: "did not answer a question")
    link.mend()
    let again = try await eventually("an answer over the mended link") { () -> WireResponse? in
      let answer = try await device.post(["path": "/2", "key": "2"])
      return answer.status == 503 ? nil : answer
    }
    try again.require(202)
    let received = try await upstream.received(count: 2)
    #expect(received.map(\.target) == ["/1", "/2"])
  }
}
#endif
