#if PostgreSQL
import Foundation
import Testing

extension EndToEnd.Passing {
  @Test("a spare says at a SIGHUP what it could not take up once it has the store")
  func obstacles() async throws {
    try await startBoth()
    try spare.configure(
      upstreams: ["default": Relay.quick(upstream)],
      more: Self.settings.merging(
        ["listen": Self.listeners(of: "relay-2", authority, at: 1)]
      ) { _, given in given })
    spare.signal(SIGHUP)
    try await spare.log(holds: "would be refused once this relay has the store")
    #expect(spare.log.contains("restart the relay to change it"))
    #expect(!spare.log.contains("the configuration is good"))
  }
}
#endif
