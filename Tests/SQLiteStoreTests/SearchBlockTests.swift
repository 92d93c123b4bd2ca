import RelayCore
import Testing

@testable import SQLiteStore

/// The index of a stretch, as a value.
@Suite("SQLite store: the index of a stretch")
struct SearchBlockTests {
  @Test("what was added is found, and nothing else but by a term's namesake")
  func found() throws {
    var random = SplitMix64(seed: 20_261_122)
    var block = SearchBlock()
    var expected: [SearchTerm: Set<UInt16>] = [:]
    let base = 7 * SearchBlock.width
    for place in 0..<UInt16(SearchBlock.width) {
      let terms = [
        SearchTerm(client: Int64(random.next() % 60)), SearchTerm(tag: "t\(random.next() % 900)"),
      ]
      for term in terms {
        block.append(term, at: base + Int64(place))
        expected[term, default: []].insert(place)
      }
    }
    let stored = try #require(block.stored())
    for (term, places) in expected {
      #expect(SearchBlock.places(of: term, in: stored) == .named(places.sorted()))
    }
    #expect(SearchBlock.places(of: SearchTerm(tag: "unheard of"), in: stored) == .named([]))
    #expect(SearchBlock(stored: stored)?.stored() == stored)
  }

  @Test("a term of too many envelopes names them all, also once another one is added")
  func everywhere() throws {
    var block = SearchBlock()
    for serial in 0..<Int64(SearchBlock.placesMax + 1) {
      block.append(SearchTerm(client: 1), at: serial)
    }
    for serial in 0..<Int64(SearchBlock.placesMax) {
      block.append(SearchTerm(client: 2), at: serial)
    }
    let stored = try #require(block.stored())
    #expect(stored.count == (1 + SearchBlock.placesMax) * SearchBlock.entryBytes)
    #expect(SearchBlock.places(of: SearchTerm(client: 1), in: stored) == .everywhere)
    #expect(SearchBlock.has(SearchTerm(client: 1), at: 4000, in: stored))
    #expect(!SearchBlock.has(SearchTerm(client: 2), at: 4000, in: stored))
    var again = try #require(SearchBlock(stored: stored))
    again.insert(SearchTerm(client: 1), at: 4000)
    again.insert(SearchTerm(client: 2), at: 4000)
    let more = try #require(again.stored())
    #expect(SearchBlock.places(of: SearchTerm(client: 1), in: more) == .everywhere)
    #expect(SearchBlock.places(of: SearchTerm(client: 2), in: more) == .everywhere)
  }

  @Test("an index that would grow without end is none")
  func tooMany() {
    var block = SearchBlock()
    for number in 0...Int64(SearchBlock.entriesMax) {
      block.insert(SearchTerm(client: number), at: 5)
      block.insert(SearchTerm(client: number), at: 5)
    }
    #expect(block.count == SearchBlock.entriesMax + 1)
    #expect(block.stored() == nil)
  }

  @Test(
    "bytes that nobody has written are no index",
    arguments: [[1], [UInt8](repeating: 0xAA, count: 6), [2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]])
  func invalidRow(bytes: [UInt8]) { #expect(SearchBlock(stored: bytes) == nil) }
}
