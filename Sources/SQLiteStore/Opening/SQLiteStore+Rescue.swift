import RelayCore
import Synchronization

extension SQLiteStore {
  /// Implements `EmbeddedStore.rescue`.
  ///
  /// One of the readers' connections does it: they reach the files even if these have no names any
  /// more. Others read and write meanwhile; the log does not start over before it is done.
  package func rescue(to folder: String) async throws(StoreError) -> RescueReport {
    guard !isRescuing.exchange(true, ordering: .acquiringAndReleasing) else {
      throw StoreError(
        kind: .inUse, operation: "write a new store in", subject: folder,
        detail: "another one is being written.")
    }
    defer { isRescuing.store(false, ordering: .releasing) }
    let report = try await read { [shared] reader throws(StoreError) in
      try StoreBackup.rescue(reader.connection, bodies: shared.bodies, to: folder)
    }
    return RescueReport(
      pages: report.pages, bodies: report.bodies, missingBodies: report.missingBodies,
      bytes: report.bytes)
  }
}
