import Foundation
import RelayCore
import SQLiteStore
import Testing

@Suite("The file of an upload", .timeLimit(.minutes(5)))
struct UploadFileTests {
  @Test("nothing stays in it behind what was synced, though its envelope needs less room")
  func cut() async throws {
    try await Bench.with { bench in
      let now = bench.clock.now
      let terms = UploadTerms(draft: bench.draft(body: .inline([])), said: [1], digest: nil)
      let upload = try await bench.store.beginUpload(
        Upload(id: UploadID(at: now, random: (1, 2)), terms: terms, length: nil, at: now))
      var part = try #require(try await bench.store.resumeUpload(upload.id))
      try await part.append([1, 2, 3])
      try await part.sync(length: nil, at: now)
      try await part.append([UInt8](repeating: 9, count: 10_000))
      try await bench.reopen()
      part = try #require(try await bench.store.resumeUpload(upload.id))
      try await part.append([4])
      try await part.sync(length: nil, at: now)
      let file = try Data(contentsOf: URL(fileURLWithPath: part.body.path))
      #expect(Array(file) == [1, 2, 3, 4])
    }
  }
}
