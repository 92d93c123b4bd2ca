import RelayCore

/// Hands drafts to the store, large bodies in files of their own.
///
/// A file that no envelope came to refer to is thrown away, whatever went wrong.
struct Intake {
  private let context: EndpointContext
  private var files: [(index: Int, writer: any BodyWriter)] = []

  /// How many bytes of a body are handed to its file at a time.
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
    var drafts = drafts
    do throws(StoreError) {
      try await moveLargeBodies(of: &drafts)
      let results = try await context.store.append(drafts, isAtomic: isAtomic)
      discardFiles { results[$0].isAccepted }
      return results
    } catch {
      discardFiles { _ in false }
      throw context.problem(error)
    }
  }

  private mutating func moveLargeBodies(of drafts: inout [EnvelopeDraft]) async throws(StoreError) {
    for index in drafts.indices {
      guard case .inline(let bytes) = drafts[index].content.body,
        bytes.count > context.limits.spoolThresholdBytes
      else { continue }
      let writer = try await context.store.beginBody()
      files.append((index, writer))
      for start in stride(from: 0, to: bytes.count, by: Self.pieceBytes) {
        let end = min(start + Self.pieceBytes, bytes.count)
        try await writer.append(Array(bytes[start..<end]))
      }
      drafts[index].content.body = .file(try await writer.finish())
    }
  }

  private mutating func discardFiles(unless isKept: (Int) -> Bool) {
    for file in files where !isKept(file.index) { file.writer.discard() }
    files = []
  }
}

extension AppendResult {
  fileprivate var isAccepted: Bool {
    if case .accepted = self { true } else { false }
  }
}
