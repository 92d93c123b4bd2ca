import RelayCore
import Testing

@Suite("What an append to an upload may do")
struct UploadRulesTests {
  private static let bytesMax: Int64 = 100

  private static func upload(
    _ offset: Int64, length: Int64? = nil, isComplete: Bool = false
  ) -> Upload {
    let draft = EnvelopeDraft(
      client: "c", lane: "l", upstream: "u",
      content: EnvelopeContent(
        method: "POST", target: [0x2F], headers: HeaderBlock(), body: .inline([])),
      expiresAt: WallTime(millisecondsSinceEpoch: 9))
    let time = WallTime(millisecondsSinceEpoch: 5)
    return Upload(
      id: UploadID(at: time, random: (1, 2)),
      terms: UploadTerms(draft: draft, said: [1, 2], digest: nil), length: length, offset: offset,
      touchedAt: time, envelope: isComplete ? EnvelopeID(high: 0x7000, low: 1 << 63) : nil)
  }

  private func verdict(
    at offset: Int64, completes: Bool = false, content: Int64? = nil, length: Int64? = nil,
    to upload: Upload
  ) -> UploadRules.Verdict {
    UploadRules.verdict(
      on: UploadAppend(
        offset: offset, completes: completes, contentLength: content, length: length),
      to: upload, bytesMax: Self.bytesMax)
  }

  @Test("content at the upload's end is taken, and what is known of the length is kept")
  func taken() {
    #expect(verdict(at: 0, to: Self.upload(0)) == .append(length: nil))
    #expect(verdict(at: 5, content: 3, to: Self.upload(5)) == .append(length: nil))
    #expect(verdict(at: 5, content: 3, length: 20, to: Self.upload(5)) == .append(length: 20))
    #expect(verdict(at: 5, content: 3, to: Self.upload(5, length: 8)) == .append(length: 8))
    #expect(verdict(at: 5, completes: true, content: 3, to: Self.upload(5)) == .append(length: 8))
    #expect(verdict(at: 5, completes: true, to: Self.upload(5)) == .append(length: nil))
  }

  @Test("content elsewhere is refused", arguments: [0, 4, 6] as [Int64])
  func elsewhere(offset: Int64) {
    #expect(verdict(at: offset, to: Self.upload(5)) == .mismatchingOffset(expected: 5))
  }

  @Test("lengths that contradict each other are refused")
  func inconsistent() {
    let open = Self.upload(5, length: 8)
    #expect(verdict(at: 5, length: 9, to: open) == .inconsistentLength)
    #expect(verdict(at: 5, content: 4, to: open) == .inconsistentLength)
    #expect(verdict(at: 5, completes: true, content: 2, to: open) == .inconsistentLength)
    #expect(verdict(at: 5, length: 4, to: Self.upload(5)) == .inconsistentLength)
    let both = verdict(at: 5, completes: true, content: 3, length: 9, to: Self.upload(5))
    #expect(both == .inconsistentLength)
    #expect(UploadRules.refusal(at: 9, length: 8, bytesMax: 100) == .inconsistentLength)
    #expect(UploadRules.refusal(at: 8, length: 8, bytesMax: 100) == nil)
    #expect(!UploadRules.mayComplete(at: 7, length: 8))
    #expect(
      UploadRules.mayComplete(at: 8, length: 8) && UploadRules.mayComplete(at: 3, length: nil))
  }

  @Test("more than uploads may have is refused, at once or once it comes")
  func tooLarge() {
    #expect(verdict(at: 0, length: 101, to: Self.upload(0)) == .tooLarge)
    #expect(verdict(at: 5, content: 96, to: Self.upload(5)) == .tooLarge)
    #expect(verdict(at: 5, content: 95, length: 100, to: Self.upload(5)) == .append(length: 100))
    #expect(UploadRules.refusal(at: 101, length: nil, bytesMax: 100) == .tooLarge)
  }

  @Test("what has come is put on disk after 4 MiB, or after 5 s if it comes slowly")
  func syncing() {
    #expect(UploadRules.isSyncDue(after: 4 << 20, milliseconds: 0))
    #expect(UploadRules.isSyncDue(after: 1, milliseconds: 5000))
    #expect(!UploadRules.isSyncDue(after: (4 << 20) - 1, milliseconds: 4999))
    #expect(!UploadRules.isSyncDue(after: 0, milliseconds: 60_000))
  }

  @Test("a complete upload knows the request that has completed it, and takes nothing else")
  func complete() {
    let whole = Self.upload(8, length: 8, isComplete: true)
    #expect(verdict(at: 8, completes: true, content: 0, to: whole) == .repeated)
    #expect(verdict(at: 5, completes: true, content: 3, to: whole) == .repeated)
    #expect(verdict(at: 5, completes: true, to: whole) == .completed)
    #expect(verdict(at: 8, content: 0, to: whole) == .completed)
    #expect(verdict(at: 8, completes: true, content: 1, to: whole) == .completed)
  }

  @Test("what an upload claims is what its envelope will")
  func use() {
    #expect(Self.upload(5).use == WaitingUse(count: 1, bytes: 6))
    #expect(Self.upload(5, length: 50).use == WaitingUse(count: 1, bytes: 51))
  }

  @Test("terms are read back as they were stored, and nothing else is")
  func terms() throws {
    var headers = HeaderBlock()
    headers.append(name: "Content-Type", value: "image/jpeg")
    let time = WallTime(millisecondsSinceEpoch: 1_793_383_200_123)
    let content = EnvelopeContent(
      method: "PUT", target: Array("/a?b=%20".utf8), headers: headers, body: .inline([]))
    let full = EnvelopeDraft(
      client: "c", lane: "lä", upstream: "u", content: content, key: "k", fingerprint: [],
      sequence: .max, tag: "t", hold: true, notBefore: time, expiresAt: time, onFailure: .block,
      references: true, coalesce: "n", isVoid: true, isInOrder: true)
    let all = UploadTerms(draft: full, said: [9, 0], digest: [7])
    let plain = Self.upload(0).terms
    for terms in [all, plain] {
      let stored = terms.stored
      #expect(UploadTerms(stored: stored) == terms)
      for count in 0..<stored.count { #expect(UploadTerms(stored: Array(stored[..<count])) == nil) }
      #expect(UploadTerms(stored: stored + [0]) == nil)
    }
  }

  @Test("a name is a UUID of version 7 that reads back from its text and its bytes")
  func names() throws {
    let id = UploadID(
      at: WallTime(millisecondsSinceEpoch: 0x0199_0000_0000), random: (.max, .max))
    #expect(id.description == "01990000-0000-7fff-bfff-ffffffffffff")
    #expect(id.path == "/v1/uploads/\(id)")
    #expect(UploadID(parsing: "\(id)") == id && UploadID(bytes: id.bytes) == id)
    #expect(UploadID(parsing: "x") == nil && UploadID(bytes: [1]) == nil)
  }
}
