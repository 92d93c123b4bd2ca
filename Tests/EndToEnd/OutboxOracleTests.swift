import Testing

extension EndToEnd {
  /// Real gateways, a real relay, and an upstream that remembers keys.
  @Suite("An oracle of gateways", .serialized, .ofFiles)
  struct OutboxOracle {
    @Test(
      "each line that a gateway has acknowledged arrives, in order and under one key",
      arguments: GatewayStory.seeds(from: 20_261_127))
    func oracle(seed: UInt64) async throws {
      var story = try GatewayStory(seed: seed, restores: false)
      let violations = try await story.run()
      #expect(violations.isEmpty)
    }

    @Test(
      "a relay that comes back from a backup is sent what devices hold; the rest is told as lost",
      arguments: GatewayStory.seeds(from: 20_261_128))
    func restored(seed: UInt64) async throws {
      var story = try GatewayStory(seed: seed, restores: true)
      let violations = try await story.run()
      #expect(violations.isEmpty)
    }
  }
}
