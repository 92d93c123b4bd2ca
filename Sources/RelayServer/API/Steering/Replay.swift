import HTTPServer
import RelayCore

/// Sends envelopes that were delivered once more: as new ones, in lanes of their own.
///
/// The copies of a lane stand in one lane, in the order of the originals, so that they keep their
/// order and hold up nothing else. What was delivered stays as it is.
///
/// References are filled as the copy is made, from the answers of the original's lane: in the
/// copy's lane no key of them stands.
struct Replay {
  private let context: EndpointContext
  private let operation: Operation

  init(_ context: EndpointContext, _ operation: Operation) {
    self.context = context
    self.operation = operation
  }

  /// The result of one envelope's turn; the problem is nil if it was done.
  typealias Result = (id: EnvelopeID, problem: Problem?)

  /// Posts the copies of some envelopes in one commit, in their order.
  func carryOut(_ ids: [EnvelopeID]) async -> [Result] {
    var results: [Result] = []
    var drafts: [EnvelopeDraft] = []
    var ready: [EnvelopeID] = []
    var intake = Intake(context)
    do throws(Problem) {
      var claim = try QuotaClaim(steering: context)
      defer { claim.giveBack() }
      for id in ids {
        do throws(Problem) {
          drafts.append(try await draft(of: id, &claim, &intake, at: drafts.count))
          ready.append(id)
        } catch {
          results.append((id, error))
        }
      }
      guard !drafts.isEmpty else { return results }
      let appended = try await intake.append(drafts, isAtomic: false)
      for (index, result) in appended.enumerated() {
        results.append((ready[index], Self.problem(result, SenderNames(drafts[index]))))
      }
      return results
    } catch {
      intake.discard()
      return ids.map { ($0, error) }
    }
  }

  private static func problem(_ result: AppendResult, _ names: SenderNames) -> Problem? {
    do throws(Problem) {
      _ = try Acceptance(result, of: names)
      return nil
    } catch {
      return error
    }
  }

  /// The copy of an envelope; a large body is copied to a file of its own.
  private func draft(
    of id: EnvelopeID, _ claim: inout QuotaClaim, _ intake: inout Intake, at index: Int
  ) async throws(Problem) -> EnvelopeDraft {
    let record = try await context.record(id)
    guard !record.isUnreadable else { throw .unreadable(record.state) }
    let original = record.draft
    guard ReplayMark.original(of: original.content) == nil else { throw .isReplay() }
    guard let upstream = context.rules.upstream(named: original.upstream) else {
      throw .unknownUpstream(original.upstream, field: nil)
    }
    var content = try await filled(record, for: upstream)
    try await claim.takeAgain(for: original.client, bytes: content.byteCount)
    let lane = laneName(of: record)
    let start = context.relay.deadlineStart()
    let deadline = context.rules.lanes.rules(ofLane: lane).deadline(
      start.deadline(afterMs: upstream.deadlineMs), countingFrom: start)
    content.headers = headers(content.headers, of: record)
    if case .file(let file) = content.body {
      content.body = try await copy(file, of: record, &intake, at: index)
    }
    return EnvelopeDraft(
      client: original.client, lane: lane, upstream: original.upstream, content: content, key: nil,
      fingerprint: [], sequence: nil, tag: original.tag, hold: false, notBefore: nil,
      expiresAt: deadline, onFailure: original.onFailure, references: false, coalesce: nil,
      isVoid: false, isInOrder: false)
  }

  /// The content that the original was sent with: with its references filled.
  private func filled(
    _ record: EnvelopeRecord, for upstream: AcceptanceRules.Upstream
  ) async throws(Problem) -> EnvelopeContent {
    guard record.draft.references else { return record.draft.content }
    // The answers that are kept here are those of the other relay, not of the upstream behind it.
    guard !upstream.isRelay else { throw .filledElsewhere(upstream.name) }
    let filled: Swift.Result<EnvelopeContent, ReferenceFault>
    do throws(StoreError) {
      filled = try await context.store.filled(record.draft.content, for: record.entry.serial)
    } catch {
      throw problem(error, with: record)
    }
    switch filled {
    case .success(let content): return content
    case .failure(let fault): throw .unfilledReferences(fault)
    }
  }

  /// Damage where one envelope stands is no trouble of the whole store.
  private func problem(_ error: StoreError, with record: EnvelopeRecord) -> Problem {
    error.kind == .corrupt ? .unreadable(record.state) : context.problem(error)
  }

  /// The lane of the copies of a lane's envelopes.
  ///
  /// A name that would be too long is told by the store's number of the lane.
  private func laneName(of record: EnvelopeRecord) -> String {
    let prefix = "replay-\(operation.number)."
    let name = prefix + record.draft.lane
    return name.utf8.count <= NameSyntax.bytesMax ? name : "\(prefix)#\(record.lane.rawValue)"
  }

  /// The fields of the original with the mark, and with the key that was sent before unless a
  /// fresh one is asked for.
  private func headers(_ fields: HeaderBlock, of record: EnvelopeRecord) -> HeaderBlock {
    var headers = HeaderBlock()
    var hasKey = false
    for field in fields {
      if field.isNamed("Idempotency-Key") {
        if operation.hasFreshKeys || field.value.isEmpty { continue }
        hasKey = true
      }
      headers.append(name: field.name, value: field.value)
    }
    if !hasKey, !operation.hasFreshKeys {
      headers.append(
        name: "Idempotency-Key", value: record.id.idempotencyKey(revision: record.revision))
    }
    headers.append(name: "\(ReplayMark.fieldName)", value: record.id.description)
    return headers
  }

  private func copy(
    _ file: StoredBodyFile, of record: EnvelopeRecord, _ intake: inout Intake, at index: Int
  ) async throws(Problem) -> EnvelopeBody {
    do throws(StoreError) {
      try await context.store.checkBody(in: file)
      let writer = try await context.store.beginBody()
      do throws(StoreError) {
        let pieces = BodyPieces(of: file, in: context.store)
        while let piece = try await pieces.next() { try await writer.append(piece) }
        let copy = try await writer.finish()
        intake.adopt(writer, forDraftAt: index)
        return .file(copy)
      } catch {
        writer.discard()
        throw error
      }
    } catch {
      throw problem(error, with: record)
    }
  }
}
