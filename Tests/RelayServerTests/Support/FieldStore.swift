import Foundation
import RelayCore
import SQLiteStore
import Testing

@testable import RelayServer

/// A store of its own for one envelope or two.
struct FieldStore {
  private let store: SQLiteStore

  static func with<Result: Sendable>(
    _ body: (FieldStore) async throws -> Result
  ) async throws -> Result {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    defer { try? FileManager.default.removeItem(at: folder) }
    let store = try SQLiteStore.open(folder: folder.path, options: SQLiteStore.Options())
    store.start(observer: Nobody())
    do {
      _ = try await store.register(upstreams: ["default", "billing"])
      let result = try await body(FieldStore(store: store))
      await store.close()
      return result
    } catch {
      await store.close()
      throw error
    }
  }

  /// Has it stored.
  ///
  /// - Returns: Its id, or that of the one whose place it takes.
  func append(_ draft: EnvelopeDraft) async throws -> EnvelopeID? {
    switch try await store.append([draft], isAtomic: false).first {
    case .accepted(let id, _, _), .coalesced(let id, _, _), .parked(let id, _): id
    default: nil
    }
  }

  func record(_ id: EnvelopeID?) async throws -> EnvelopeRecord {
    let id = try #require(id)
    return try #require(try await store.envelope(id))
  }

  /// The only envelope that there is, as a list has it.
  func summary() async throws -> EnvelopeSummary {
    let page = try await store.list(EnvelopeFilter(), after: 0, countMax: 10, looksMax: 1000)
    try #require(page.envelopes.count == 1)
    return page.envelopes[0]
  }

  /// Has a draft stored, and makes of it what the next relay gets.
  func handOn(_ draft: EnvelopeDraft) async throws -> HandedOn {
    let serial = try await record(try await append(draft)).entry.serial
    let envelope = try #require(try await store.load([serial]).first)
    let entry = try #require(try await store.line(at: [serial]).first)
    let terms = try #require(try await store.terms(of: [serial])[serial])
    return HandedOn(envelope, entry, terms, to: "default")
  }
}

/// Is told of commits, and does nothing about them.
private final class Nobody: StoreObserver {
  func committed(_ commit: Commit, answer: (CommitPositions) -> Void) {
    var positions = CommitPositions()
    for change in commit.changes {
      switch change {
      case .accepted(let envelopes): positions.accepted = envelopes.map { _ in 1 }
      case .coalesced(let envelopes): positions.coalesced = envelopes.map { _ in nil }
      case .changed, .unwritten, .endsChanged, .cleared: break
      }
    }
    answer(positions)
  }

  func reserve(_ serial: Serial, in lane: LaneNumber) -> Bool { true }
  func reserveAll(of client: ClientNumber) -> SparedEnvelopes {
    SparedEnvelopes(inFlight: [], changing: [])
  }
  func released(_ reservations: Reservations) {}
}
