import RelayCore
import SQLiteStore
import StoreModel

#if PostgreSQL
import PostgresStore
#endif

/// The part of ``EnvelopeStore`` that lists, counts and looks up many at once, and that forgets
/// names.
///
/// See ``EnvelopeStore`` for what each function promises.
protocol ListingStore: PlannedStore, NameStore {
  func list(
    _ filter: EnvelopeFilter, after serial: Serial, countMax: Int, looksMax: Int
  ) async throws(StoreError) -> EnvelopePage
  func summaries(of ids: [EnvelopeID]) async throws(StoreError) -> [EnvelopeSummary]
  func fates(of references: [EnvelopeReference]) async throws(StoreError) -> [EnvelopeFate?]
  func answers(
    to keys: Set<String>, for serial: Serial
  ) async throws(StoreError) -> [String: ReferencedAnswer]
  func lineSummary(after serial: Serial) async throws(StoreError) -> LineSummary
  func expiredEntries(at now: WallTime, countMax: Int) async throws(StoreError) -> ExpiryPage
  func placeParked() async throws(StoreError)
  func forgetNames(countMax: Int) async throws(StoreError) -> ForgettingPage
  var commitFigures: CommitFigures { get }
}

extension SQLiteStore: ListingStore {}
#if PostgreSQL
extension PostgresStore: ListingStore {}
#endif

extension StoreFactory {
  /// Every kind that lists and forgets names: for what ``Bench/listing`` does.
  static let listing = planned.filter { $0.testDescription != "model" }
}

extension Bench {
  /// The store, where it lists and forgets names.
  var listing: any ListingStore {
    guard let store = planned as? any ListingStore else {
      preconditionFailure("\(factory.testDescription) lists nothing")
    }
    return store
  }
}
