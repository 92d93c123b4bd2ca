import RelayCore
import SQLiteStore
#if PostgreSQL
import Postgres
import PostgresStore
#endif

/// A look at the place of a configuration's store, for `waystation check`; it changes nothing.
package struct StoreTrial: Sendable {
  /// The store's place.
  package let place: String
  /// What was found, a line each.
  package let findings: [String]
  /// What keeps a relay from using the store, a line each.
  package let faults: [String]
  /// Why its commits may be less safe than the configuration wants; nil if there is no such doubt.
  package let doubt: DurabilityDoubt?

  /// Looks; blocks its thread for some seconds.
  package init(of configuration: Configuration) {
    place = configuration.shownStore
    #if PostgreSQL
    if let postgres = configuration.store.postgres {
      (findings, faults, doubt) = Self.look(at: postgres)
      return
    }
    #endif
    findings = ["a folder on this machine: waystation store check reads what is in it"]
    faults = []
    doubt = nil
  }

  #if PostgreSQL
  private static func look(
    at postgres: PostgresConfiguration
  ) -> (findings: [String], faults: [String], doubt: DurabilityDoubt?) {
    let address: PostgresAddress
    do throws(PostgresError) { address = try postgres.address } catch {
      return ([], [error.description], nil)
    }
    do throws(StoreError) {
      let trial = try DatabaseTrial(of: address, wanting: postgres.durability)
      return (trial.findings, trial.faults, trial.doubt)
    } catch {
      return ([], [error.description], nil)
    }
  }
  #endif
}

extension Configuration {
  /// What is wrong with the files that the store's place names, as sentences; nothing is connected
  /// to.
  package var storeFileProblems: [String] {
    #if PostgreSQL
    if let postgres = store.postgres {
      do throws(PostgresError) {
        try postgres.address.checkFiles()
        return []
      } catch {
        return ["store.postgres: \(error.detail)"]
      }
    }
    #endif
    return SQLiteStore.obstacleByMove(in: data).map { ["data: \($0)"] } ?? []
  }
}
