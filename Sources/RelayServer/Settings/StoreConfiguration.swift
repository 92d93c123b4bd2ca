#if PostgreSQL
import Postgres
#endif
import RelayCore

/// Where the relay keeps what it stores: in its data folder, unless a database is named.
package struct StoreConfiguration: KeyedSection, Sendable {
  package var postgres: PostgresConfiguration?

  /// In the data folder.
  package init() {}

  @KeyList static var keys: [Key] {
    Key(section: "postgres", \.postgres, from: PostgresConfiguration())
  }
}

/// A PostgreSQL database that holds the store.
package struct PostgresConfiguration: KeyedSection, Sendable {
  package var url: Secret?
  package var passwordFile: String?
  package var durability = StoreDurability.local

  @KeyList static var keys: [Key] {
    Key.secret(
      "url", \.url, "a URL such as `postgresql://waystation@db.example.com/waystation`,",
      """
      the [database](postgresql.md) that holds the store, in place of `data`. It takes libpq's \
      parameters, such as `sslmode=verify-full`, and several hosts
      """
    ) { !$0.isEmpty }
    Key(
      "passwordFile", \.passwordFile, .unlessAbsent(.path("the path of a file")),
      """
      the file with the password of the database's user; read for each connection, so it can be \
      replaced at any time
      """)
    Key(
      "durability", \.durability, .word,
      """
      how safe a commit of the database is to be. `"quorum"`: a second server has it on its disk. \
      `"managed"`: the service that runs the database sees to copies. `"local"`: one server is \
      enough, and nothing is looked at. What is less safe is told, and [`/readyz` says \
      no](postgresql.md#have-it-watched)
      """)
  }

  func check(_ reader: SectionReader) {
    if let url, let flaw = Self.flaw(in: url) { reader.problems.add(reader.path(of: "url"), flaw) }
  }

  /// What is wrong with a URL; nil if nothing is.
  ///
  /// No part of it is shown: a password may be anywhere in it.
  static func flaw(in url: Secret) -> String? {
    #if PostgreSQL
    do throws(PostgresError) {
      _ = try PostgresAddress(url: url.value, applicationName: applicationName)
      return nil
    } catch {
      return "is no URL of a database: \(error.detail)"
    }
    #else
    return "this relay was built without PostgreSQL"
    #endif
  }
}

#if PostgreSQL
extension PostgresConfiguration {
  /// The name that the database shows of the relay's connections.
  private static let applicationName = "waystation"

  /// Where the database is.
  ///
  /// - Precondition: ``check(_:)`` has found nothing.
  package var address: PostgresAddress {
    get throws(PostgresError) {
      try PostgresAddress(
        url: url?.value ?? "", passwordFile: passwordFile, applicationName: Self.applicationName)
    }
  }
}
#endif

extension Configuration {
  /// Where the relay keeps what it stores, for people: never a password.
  package var shownStore: String {
    guard let postgres = store.postgres else { return data }
    #if PostgreSQL
    return (try? postgres.address.subject).map { "postgresql://\($0)" } ?? Secret.placeholder
    #else
    return postgres.url?.description ?? data
    #endif
  }
}
