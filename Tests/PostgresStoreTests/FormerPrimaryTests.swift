#if PostgreSQL
import Postgres
import PostgresStore
import PostgresTesting
import RelayCore
import Testing

/// A primary that stood still while its standby was promoted, and goes on: both say that they
/// write, and the URL names the former one first.
@Suite(
  "a former primary that answers again", .serialized,
  .enabled(if: TestDatabase.isInstalled, "PostgreSQL is not installed"), .timeLimit(.minutes(2)))
struct FormerPrimaryTests {
  private let pair: PostgresPair
  private let address: PostgresAddress

  init() throws {
    pair = try PostgresPair()
    address = try PostgresAddress(url: pair.url, applicationName: "waystation")
  }

  private func open(_ observer: QuietObserver = QuietObserver()) throws -> PostgresStore {
    let store = try PostgresStore(at: address, StoreBench.options)
    store.start(observer: observer)
    return store
  }

  @discardableResult
  private func post(_ number: Int, to store: PostgresStore) async throws -> EnvelopeID {
    let results = try await store.append([StoreBench.draft(number)], isAtomic: false)
    guard case .accepted(let id, _, _) = results[0] else {
      throw PostgresError(
        kind: .lost, operation: "post", subject: "\(number)", detail: "\(results)")
    }
    return id
  }

  /// The keys that the server holds that writes.
  private func storedKeys() throws -> [String] {
    var connection = try PostgresConnection(
      to: PostgresAddress(url: pair.writerURL, applicationName: "test"), connectTimeoutMs: 10_000,
      silenceMs: 10_000)
    let rows = try connection.run([PostgresCommand("SELECT key FROM envelope ORDER BY serial")])[0]
    return (0..<rows.count).map { rows.text($0, 0) }
  }

  @Test("tells a relay that was promoted away from it nothing")
  func reads() async throws {
    let store = try open()
    let first = try await post(1, to: store)
    // Each of the connections that read has one to the former primary by now.
    for _ in 1...12 { #expect(try await store.envelope(first) != nil) }
    try pair.freezeWriter()
    async let second = post(2, to: store)
    try pair.promote()
    let id = try await second
    try pair.thawFormer()
    for _ in 1...12 { #expect(try await store.envelope(id)?.id == id) }
    #expect(try storedKeys() == ["key-1", "key-2"])
    await store.close()
  }

  @Test("does not keep a relay that was idle meanwhile")
  func idle() async throws {
    let observer = QuietObserver()
    let store = try open(observer)
    try await post(1, to: store)
    try pair.freezeWriter()
    await observer.lapse()
    try pair.promote()
    await observer.nextBeat()
    try pair.thawFormer()
    try await post(2, to: store)
    #expect(try storedKeys() == ["key-1", "key-2"])
    await store.close()
  }

  @Test("is not believed that another relay has the store, while the new one does not answer")
  func behind() async throws {
    let first = try open()
    try await post(1, to: first)
    try pair.freezeWriter()
    async let second = post(2, to: first)
    try pair.promote()
    _ = try await second
    await first.close()
    let observer = QuietObserver()
    let next = try open(observer)
    try pair.thawFormer()
    try await post(3, to: next)
    try pair.freezeWriter()
    async let fourth = post(4, to: next)
    // Both its beats and what it writes by have asked the former one by then.
    await observer.lapse()
    while observer.lossCount == 0, next.statistics().trouble?.contains("is behind") != true {
      // Each takes as long as a try to reach the new one.
      _ = try? await next.envelope(client: "device-1", key: "key-1")
    }
    try pair.thawWriter()
    // It may have been told that nothing was written.
    var isPosted = (try? await fourth) != nil
    while !isPosted {
      await observer.nextBeat()
      isPosted = (try? await post(4, to: next)) != nil
    }
    await observer.nextBeat()
    #expect(next.mayAttempt)
    #expect(observer.lossCount == 0)
    #expect(try storedKeys() == (1...4).map { "key-\($0)" })
    await next.close()
  }

  @Test("gives its store to nobody that is started then")
  func started() async throws {
    let store = try open()
    try await post(1, to: store)
    try pair.freezeWriter()
    async let second = post(2, to: store)
    try pair.promote()
    _ = try await second
    try pair.thawFormer()
    let address = address
    let spare = Task {
      try await PostgresStore.open(at: address, StoreBench.options) { _ in }
    }
    try await post(3, to: store)
    await store.close()
    let next = try #require(try await spare.value)
    next.start(observer: QuietObserver())
    try await post(4, to: next)
    #expect(try storedKeys() == (1...4).map { "key-\($0)" })
    await next.close()
  }
}
#endif
