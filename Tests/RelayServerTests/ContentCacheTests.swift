import RelayCore
import Testing

@testable import RelayServer

/// What is at hand of envelopes that are about to be attempted.
@Suite("What is kept of contents")
struct ContentCacheTests {
  private func envelope(
    _ serial: Serial, bytes: Int = 10, references: Bool = false
  ) -> DeliverableEnvelope {
    DeliverableEnvelope(
      serial: serial,
      id: EnvelopeID(
        serial: serial, acceptedAt: WallTime(millisecondsSinceEpoch: 0), random: 1),
      client: "c", key: nil,
      content: EnvelopeContent(
        method: "POST", target: Array("/".utf8), headers: HeaderBlock(),
        body: .inline([UInt8](repeating: 7, count: bytes))),
      references: references)
  }

  private func expecting(_ serials: [Serial], _ cache: inout ContentCache) -> ContentCache.Reading {
    var reading = cache.beginReading()
    for serial in serials { cache.expect(serial, in: &reading) }
    return reading
  }

  @Test("a body that lies in a file is not kept, since the file is checked before it is sent")
  func bodyInFile() {
    var cache = ContentCache()
    var large = envelope(1)
    large.content.body = .file(StoredBodyFile(path: "/b", byteCount: 9000, checksum: 7))
    cache.insert(large)
    #expect(cache.take(1) == nil)
    let reading = expecting([1], &cache)
    cache.finish(reading, with: [large])
    #expect(cache.take(1) == nil)
  }

  @Test("what was read ahead is there once, and is not read twice")
  func readAhead() {
    var cache = ContentCache()
    cache.insert(envelope(1))
    let reading = expecting([1, 2, 3], &cache)
    #expect(reading.serials == [2, 3])
    #expect(expecting([2, 4], &cache).serials == [4])
    cache.finish(reading, with: [envelope(2), envelope(3)])
    #expect(expecting([2, 3], &cache).serials.isEmpty)
    #expect(cache.take(2)?.serial == 2)
    #expect(cache.take(2) == nil)
  }

  @Test("what was changed while it was read ahead is not taken in, nor by a later reading's leave")
  func changed() {
    var cache = ContentCache()
    let early = expecting([5], &cache)
    // The change takes out what there is.
    #expect(cache.take(5) == nil)
    let late = expecting([5], &cache)
    #expect(late.serials == [5])
    cache.finish(early, with: [envelope(5, bytes: 1)])
    #expect(cache.take(5) == nil)
    let last = expecting([5], &cache)
    cache.finish(late, with: [envelope(5, bytes: 2)])
    cache.finish(last, with: [envelope(5, bytes: 3)])
    #expect(cache.take(5)?.content.byteCount == envelope(5, bytes: 3).content.byteCount)
  }

  @Test("what vanished, or has references to be filled, is left to its turn")
  func left() {
    var cache = ContentCache()
    let reading = expecting([6, 7], &cache)
    cache.finish(reading, with: [envelope(7, references: true)])
    #expect(cache.take(6) == nil && cache.take(7) == nil)
    #expect(expecting([6, 7], &cache).serials == [6, 7])
  }

  @Test("nothing is pushed out for what is read ahead, which has some room to itself")
  func full() {
    var cache = ContentCache()
    let large = ContentCache.acceptedBytesMax / 4
    let small = ContentCache.bytesMax - ContentCache.acceptedBytesMax - large / 2
    let reading = expecting([10, 11], &cache)
    for serial in 1...3 as ClosedRange<Serial> { cache.insert(envelope(serial, bytes: large)) }
    cache.finish(reading, with: [envelope(10, bytes: small), envelope(11, bytes: 2 * large)])
    #expect(cache.take(11) == nil)
    for serial in 1...3 as ClosedRange<Serial> { #expect(cache.take(serial) != nil) }
    #expect(cache.take(10) != nil)
  }

  @Test("what was accepted pushes out the oldest")
  func oldest() {
    var cache = ContentCache()
    let large = ContentCache.acceptedBytesMax / 4
    for serial in 1...4 as ClosedRange<Serial> { cache.insert(envelope(serial, bytes: large)) }
    #expect(cache.take(1) == nil)
    for serial in 2...4 as ClosedRange<Serial> { #expect(cache.take(serial) != nil) }
  }

  @Test("where there is no room, what has many before it in its lane is not wanted")
  func far() {
    var cache = ContentCache()
    let large = ContentCache.acceptedBytesMax / 4
    let near = ContentCache.nearPositionMax
    for serial in 1...3 as ClosedRange<Serial> { cache.insert(envelope(serial, bytes: large)) }
    #expect(cache.wants(envelope(4).content, position: near + 1))
    #expect(!cache.wants(envelope(4, bytes: large).content, position: near + 1))
    #expect(cache.wants(envelope(4, bytes: large).content, position: near))
  }
}
