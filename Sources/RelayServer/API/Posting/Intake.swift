import EventLoop
import RelayCore

/// Hands drafts to the store, large bodies in files of their own.
///
/// A file that no envelope came to refer to is thrown away, whatever went wrong.
struct Intake {
  private let context: EndpointContext
  private var files: [(index: Int, writer: any BodyWriter)] = []

  /// The number of bytes of a body that are handed to its file at a time.
  private static let pieceBytes = 64 * 1024

  init(_ context: EndpointContext) { self.context = context }

  /// Notes that the body of the draft at `index` stands in a file already.
  mutating func adopt(_ writer: any BodyWriter, forDraftAt index: Int) {
    files.append((index, writer))
  }

  /// Appends the drafts durably.
  mutating func append(
    _ drafts: consuming [EnvelopeDraft], isAtomic: Bool
  ) async throws(Problem) -> [AppendResult] {
    var drafts = consume drafts
    do throws(StoreError) {
      if drafts.contains(where: { isLarge($0.content.body) }) {
        try await moveLargeBodies(of: &drafts)
      }
      let begin = MonotonicClock.now()
      let ticket = context.relay.admission.begin()
      defer {
        context.relay.admission.end(ticket)
        context.relay.metrics.count(storeWaitSince: begin)
      }
      let results = try await context.store.append(drafts, isAtomic: isAtomic)
      for case .overQuota(let refusal) in results { context.relay.metrics.count(refusal) }
      discardFiles { results[$0].isAccepted }
      return results
    } catch {
      discardFiles { _ in false }
      throw context.problem(error)
    }
  }

  /// Stores a body that is no draft's, in a file if it is large; see ``discard()``.
  mutating func store(_ bytes: [UInt8]?) async throws(Problem) -> EnvelopeBody? {
    guard let bytes else { return nil }
    do throws(StoreError) {
      return try await moved(bytes, ofDraftAt: 0)
    } catch {
      discard()
      throw context.problem(error)
    }
  }

  /// Throws away what has been written into files.
  mutating func discard() { discardFiles { _ in false } }

  private mutating func moveLargeBodies(of drafts: inout [EnvelopeDraft]) async throws(StoreError) {
    for index in drafts.indices {
      guard case .inline(let bytes) = drafts[index].content.body, isLarge(bytes) else { continue }
      drafts[index].content.body = try await moved(bytes, ofDraftAt: index)
    }
  }

  /// A body, in a file of its own if it is too large to stay in memory.
  private mutating func moved(
    _ bytes: [UInt8], ofDraftAt index: Int
  ) async throws(StoreError) -> EnvelopeBody {
    guard isLarge(bytes) else { return .inline(bytes) }
    let writer = try await context.store.beginBody()
    files.append((index, writer))
    for start in stride(from: 0, to: bytes.count, by: Self.pieceBytes) {
      let end = min(start + Self.pieceBytes, bytes.count)
      try await writer.append(Array(bytes[start..<end]))
    }
    return .file(try await writer.finish())
  }

  private func isLarge(_ body: EnvelopeBody) -> Bool {
    if case .inline(let bytes) = body { isLarge(bytes) } else { false }
  }

  private func isLarge(_ bytes: [UInt8]) -> Bool {
    bytes.count > context.limits.spoolThresholdBytes
  }

  private mutating func discardFiles(unless isKept: (Int) -> Bool) {
    for file in files where !isKept(file.index) { file.writer.discard() }
    files = []
  }
}

extension AppendResult {
  fileprivate var isAccepted: Bool {
    switch self {
    case .accepted, .parked, .coalesced: true
    case .duplicate, .void, .forgotten, .keyConflict, .sequenceConflict, .sequencePassed,
      .overQuota,
      .leftOut:
      false
    }
  }
}
