#if PostgreSQL
import Foundation
import Postgres
import PostgresStore
import PostgresTesting
import RelayCore
import Testing

@Suite(
  "how safe a database's commits are is looked at",
  .enabled(if: TestDatabase.isInstalled, "PostgreSQL is not installed"), .timeLimit(.minutes(5)))
struct DurabilityWatchTests {
  private let database: TestDatabase
  private let role: String

  /// With a role whose settings are no other test's.
  init() throws {
    database = try TestDatabase.fresh()
    role = "committing_\(database.name)"
    try run("CREATE ROLE \(role) LOGIN SUPERUSER")
  }

  private func run(_ sql: String) throws {
    var connection = try database.connect()
    _ = try connection.run([PostgresCommand(sql: sql)])
  }

  private func open(_ observer: QuietObserver, port: UInt16? = nil) throws -> PostgresStore {
    var url = database.url.replacingOccurrences(of: "//postgres@", with: "//\(role)@")
    if let port, let own = StoreBench.port(of: url) {
      url = url.replacingOccurrences(of: ":\(own)/", with: ":\(port)/")
    }
    var options = StoreBench.options
    options.durability = .managed
    let store = try PostgresStore(
      at: PostgresAddress(url: url, applicationName: "waystation"), options)
    store.start(observer: observer)
    return store
  }

  /// Posts until that is taken: while a lost connection is replaced, posts are answered with the
  /// error.
  private func post(to store: PostgresStore, _ observer: QuietObserver) async throws {
    while true {
      do {
        _ = try await store.append([StoreBench.draft(1)], isAtomic: false)
        return
      } catch {
        try Task.checkCancellation()
        await observer.beat()
      }
    }
  }

  @Test("it is known as soon as the store is open")
  func opened() async throws {
    try run("ALTER ROLE \(role) SET synchronous_commit = off")
    let store = try open(QuietObserver())
    #expect(store.statistics().durabilityDoubt?.isCertain == true)
    await store.close()
  }

  @Test("the session that writes is told with its transaction, and asked if it has had none")
  func writer() async throws {
    let observer = QuietObserver()
    let store = try open(observer)
    #expect(store.statistics().durabilityDoubt == nil)
    try run("ALTER ROLE \(role) SET synchronous_commit = off")
    try run("SELECT pg_terminate_backend(backend) FROM seat")
    try await post(to: store, observer)
    #expect(store.statistics().durabilityDoubt?.isCertain == true)
    try run("ALTER ROLE \(role) RESET synchronous_commit")
    try run("SELECT pg_terminate_backend(backend) FROM seat")
    // Nothing is written meanwhile.
    while store.statistics().durabilityDoubt != nil {
      try Task.checkCancellation()
      await observer.beat()
    }
    await store.close()
  }

  @Test("it is looked at with the first beats after connecting anew, perhaps to another server")
  func anew() async throws {
    let proxy = try LossyProxy(to: try #require(StoreBench.port(of: database.url)))
    let observer = QuietObserver()
    let store = try open(observer, port: proxy.port)
    try run("ALTER ROLE \(role) SET synchronous_commit = off")
    proxy.cut()
    proxy.mend()
    var beats = 0
    while store.statistics().durabilityDoubt == nil {
      try Task.checkCancellation()
      await observer.beat()
      beats += 1
    }
    // As many as there are in the ten seconds between two looks are 20.
    #expect(beats <= 10)
    await store.close()
  }
}
#endif
