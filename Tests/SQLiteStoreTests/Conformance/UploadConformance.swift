import RelayCore
import SQLiteStore
import StoreModel
import Testing

/// What every store promises of uploads.
@Suite("conformance: uploads", .timeLimit(.minutes(5)))
struct UploadConformance {
  private func upload(_ bench: Bench, key: String? = nil, at time: WallTime? = nil) -> Upload {
    var draft = bench.draft(body: .inline([]))
    draft.key = key
    let now = time ?? bench.clock.now
    return Upload(
      id: UploadID(at: now, random: (.random(in: .min ... .max), .random(in: .min ... .max))),
      terms: UploadTerms(draft: draft, said: [1], digest: nil), length: nil, at: now)
  }

  private func writer(
    _ bench: Bench, _ id: UploadID
  ) async throws -> any UploadWriter {
    try #require(try await bench.store.resumeUpload(id))
  }

  @Test("what is synced stays, and what is not is dropped", arguments: StoreFactory.all)
  func synced(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let bytes = BodyConformance.bytes(700_000)
      let upload = try await bench.store.beginUpload(upload(bench))
      let now = bench.clock.now.adding(milliseconds: 1)
      var part = try await writer(bench, upload.id)
      try await part.append(Array(bytes[..<300_000]))
      try await part.sync(length: 700_000, at: now)
      try await part.append([9, 9, 9])
      try await part.append([UInt8](repeating: 9, count: 600_000))
      try await bench.reopen()
      let kept = try #require(try await bench.store.upload(upload.id))
      #expect(kept.offset == 300_000 && kept.length == 700_000 && kept.touchedAt == now)
      #expect(try await bench.store.openUploads() == [kept])
      part = try await writer(bench, upload.id)
      try await part.append(Array(bytes[300_000...]))
      try await part.sync(length: 700_000, at: now)
      #expect(part.body.byteCount == 700_000)
      #expect(try await bench.store.bytes(of: part.body) == bytes)
    }
  }

  @Test("an envelope with its bytes completes it at once", arguments: StoreFactory.all)
  func completed(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let upload = try await bench.store.beginUpload(upload(bench))
      let part = try await writer(bench, upload.id)
      try await part.append([1, 2, 3])
      try await part.sync(length: nil, at: bench.clock.now)
      var checksum = Checksum()
      checksum.add(field: [1, 2, 3])
      let body = StoredBodyFile(path: part.body.path, byteCount: 3, checksum: checksum.value)
      let id = try await bench.accept(bench.draft(body: .file(body)))
      try await bench.reopen()
      let whole = try #require(try await bench.store.upload(upload.id))
      #expect(whole.envelope == id && whole.length == 3)
      #expect(try await bench.store.openUploads().isEmpty)
      #expect(try await bench.store.resumeUpload(upload.id) == nil)
      try await bench.store.deleteUpload(upload.id)
      #expect(try await bench.store.upload(upload.id) == nil)
      #expect(try await bench.store.bytes(of: body) == [1, 2, 3])
      try await bench.store.checkBody(in: body)
    }
  }

  @Test("a client has one upload under a key", arguments: StoreFactory.all)
  func keys(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let first = try await bench.store.beginUpload(upload(bench, key: "k"))
      let again = try await bench.store.beginUpload(upload(bench, key: "k"))
      #expect(again == first)
      let client = first.client
      #expect(try await bench.store.upload(client: client, key: "k") == first)
      #expect(try await bench.store.upload(client: client, key: "l") == nil)
      let bare = try await bench.store.beginUpload(upload(bench))
      let other = try await bench.store.beginUpload(upload(bench))
      #expect(bare.id != other.id)
    }
  }

  @Test("they are listed in their order, all or one client's", arguments: StoreFactory.all)
  func listed(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      var ids: [[UploadID]] = [[], []]
      for step in 0..<6 {
        var upload = upload(bench, at: bench.clock.now.adding(milliseconds: Int64(step)))
        upload.terms.draft.client = "c-\(step % 2)"
        ids[step % 2].append(try await bench.store.beginUpload(upload).id)
      }
      let id = try await bench.accept(bench.draft())
      try await bench.store.settleUpload(ids[0][1], as: id)
      let all = try await bench.store.uploads(of: nil, after: nil, countMax: 6)
      #expect(all.uploads.map(\.id) == (0..<6).map { ids[$0 % 2][$0 / 2] } && !all.hasMore)
      #expect(all.uploads.map(\.envelope) == [nil, nil, id, nil, nil, nil])
      let page = try await bench.store.uploads(of: "c-1", after: ids[1][0], countMax: 1)
      #expect(page.uploads.map(\.id) == [ids[1][1]] && page.hasMore)
      let rest = try await bench.store.uploads(of: "c-1", after: ids[1][1], countMax: 1)
      #expect(rest.uploads.map(\.id) == [ids[1][2]] && !rest.hasMore)
      let none = try await bench.store.uploads(of: "c-2", after: nil, countMax: 9)
      #expect(none.uploads.isEmpty && !none.hasMore)
    }
  }

  @Test("those that do not go on are forgotten, the oldest first", arguments: StoreFactory.all)
  func forgotten(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let start = bench.clock.now
      var ids: [UploadID] = []
      for step in 0..<3 {
        let time = start.adding(milliseconds: Int64(step))
        ids.append(try await bench.store.beginUpload(upload(bench, at: time)).id)
      }
      let limit = start.adding(milliseconds: 2)
      #expect(try await bench.store.staleUploads(before: limit, countMax: 1) == [ids[0]])
      #expect(try await bench.store.staleUploads(before: limit, countMax: 9) == Array(ids[..<2]))
      // Something of the second one comes between the look and the end.
      let part = try await writer(bench, ids[1])
      try await part.sync(length: nil, at: limit)
      #expect(try await bench.store.forgetUploads(ids, before: limit) == [ids[0]])
      #expect(try await bench.store.openUploads().count == 2)
      let later = limit.adding(milliseconds: 1)
      #expect(try await bench.store.forgetUploads([ids[1]], before: later) == [ids[1]])
      #expect(try await bench.store.openUploads().map(\.id) == [ids[2]])
    }
  }

  @Test("one that came to an envelope that was there is settled", arguments: StoreFactory.all)
  func settled(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let id = try await bench.accept(bench.draft())
      let upload = try await bench.store.beginUpload(upload(bench))
      try await bench.store.settleUpload(upload.id, as: id)
      #expect(try await bench.store.upload(upload.id)?.envelope == id)
      try await bench.reopen()
      #expect(try await bench.store.upload(upload.id)?.envelope == id)
    }
  }
}
