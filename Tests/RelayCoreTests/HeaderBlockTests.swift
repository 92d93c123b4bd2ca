import RelayCore
import Testing

@Suite("Header blocks")
struct HeaderBlockTests {
  @Test("any bytes but control characters go through as they came, Latin-1 included")
  func roundTrip() throws {
    let value = [0x09, 0x20] + Array(UInt8(0x21)...0x7E) + Array(UInt8(0x80)...0xFF)
    var block = HeaderBlock()
    let isTaken = block.append(name: Array("X-Bytes".utf8), value: [0x61] + value)
    #expect(isTaken)
    block.append(name: "Empty", value: "")
    let stored = try #require(HeaderBlock(stored: block.bytes))
    #expect(stored == block)
    let fields = Array(stored)
    #expect(fields.count == 2)
    #expect(Array(fields[0].value) == [0x61] + value)
    #expect(fields[0].isNamed("x-bytes") && fields[1].isNamed("EMPTY") && fields[1].value.isEmpty)
  }

  @Test("white space around a value is left out, and that within it stays")
  func trimming() {
    var block = HeaderBlock()
    block.append(name: "A", value: " \t b  c\t ")
    #expect(block.bytes == Array("A: b  c\r\n".utf8))
  }

  @Test(
    "a value that would begin a line of its own is refused, and nothing is added",
    arguments: ["a\r\nX: y", "a\nX: y", "a\rb", "a\r\n", "\u{0}", "a\u{7F}", "a\u{1B}b", "\n"])
  func badValues(value: String) {
    var block = HeaderBlock()
    block.append(name: "Good", value: "1")
    let before = block.bytes
    let isTaken = block.append(name: "Bad", value: value)
    #expect(!isTaken)
    #expect(block.bytes == before)
  }

  @Test(
    "a name that is no token is refused, and nothing is added",
    arguments: ["", "A B", "A:", "A\r\n", "\u{E9}", "A\t", "(A)", "A\u{0}"])
  func badNames(name: String) {
    var block = HeaderBlock()
    let isTaken = block.append(name: name, value: "1")
    #expect(!isTaken)
    #expect(block.isEmpty)
  }

  @Test(
    "stored bytes of another form are refused",
    arguments: [
      "A", "A: b", "A: b\r", "A: b\n", ": b\r\n", "A:b\r\n", "A:\r\n", "A: b\r\n\r\n",
      "A: b\nB: c\r\n", "A b: c\r\n", "A: b \r\n", "A: b\r\nC", "A: b\u{0}\r\n", "A\r\nB: c\r\n",
    ])
  func badStored(text: String) {
    #expect(HeaderBlock(stored: Array(text.utf8)) == nil)
  }

  @Test("the first field of a name is found, whatever its case")
  func finding() {
    var block = HeaderBlock()
    block.append(name: "B", value: "1")
    block.append(name: "Retry-After", value: "2")
    block.append(name: "retry-after", value: "3")
    #expect(block.first("RETRY-AFTER") == "2")
    #expect(block.first("Retry") == nil)
    for name in ["B", "retry-After"] as [StaticString] { #expect(block.has(name), "\(name)") }
    for name in ["Retry", "R", "After", "Retry-After-", "Content-Range-Of-A-Long-Name"]
      as [StaticString]
    {
      #expect(!block.has(name), "\(name)")
    }
    #expect(!HeaderBlock().has("B"))
  }
}
