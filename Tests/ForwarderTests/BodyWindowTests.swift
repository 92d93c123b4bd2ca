import Forwarder
import Testing

@Suite("The part of a body that is in memory while it is sent")
struct BodyWindowTests {
  private static let piece = BodyWindow.pieceBytes

  /// What a body has at each offset.
  private func bytes(_ part: Range<Int64>) -> [UInt8] {
    part.map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 9) }
  }

  private func read(_ window: inout BodyWindow, _ countMax: Int) -> [UInt8] {
    var buffer = [UInt8](repeating: 0, count: countMax)
    let count = buffer.withUnsafeMutableBytes { window.read(into: $0) }
    return Array(buffer[..<count])
  }

  @Test(
    "all of it is asked for in order, a piece at a time, and handed out as it is",
    arguments: [1, piece - 1, piece, piece + 1, 5 * piece + 17])
  func whole(byteCount: Int64) {
    var window = BodyWindow(byteCount: byteCount)
    var sent: [UInt8] = []
    var asked: Int64 = 0
    while !window.isDone {
      if let part = window.ask() {
        #expect(part.lowerBound == asked && part.count <= Self.piece)
        let second = window.ask()
        #expect(second == nil, "one is on its way")
        asked = part.upperBound
        let isTaken = window.take(bytes(part))
        #expect(isTaken)
      }
      sent += read(&window, 100_000)
    }
    let more = window.ask()
    #expect(more == nil)
    #expect(sent == bytes(0..<byteCount))
  }

  @Test("no more is asked for than is kept in memory, whoever is slow")
  func bounded() {
    var window = BodyWindow(byteCount: 10 * Self.piece)
    var count = 0
    while let part = window.ask() {
      count += 1
      _ = window.take(bytes(part))
    }
    #expect(count == BodyWindow.piecesMax)
    _ = read(&window, Int(Self.piece))
    let next = window.ask()
    #expect(next == 2 * Self.piece..<3 * Self.piece)
  }

  @Test("a body that is sent again is read again, and what was on its way is dropped")
  func again() {
    var window = BodyWindow(byteCount: 3 * Self.piece)
    for _ in 1...2 {
      if let part = window.ask() { _ = window.take(bytes(part)) }
      _ = read(&window, Int(Self.piece))
    }
    let late = window.ask()
    #expect(late == 2 * Self.piece..<3 * Self.piece)
    let isThere = window.seek(to: 0)
    let early = window.ask()
    #expect(isThere && early == nil, "the late one has to come first")
    let isTaken = window.take(bytes(late ?? 0..<0))
    let sent = read(&window, 10)
    #expect(isTaken && sent.isEmpty)
    let first = window.ask()
    #expect(first == 0..<Self.piece)
  }

  @Test("a place where it stands already costs nothing, and there is none outside")
  func places() {
    var window = BodyWindow(byteCount: 100)
    _ = window.ask().map { window.take(bytes($0)) }
    let isThere = window.seek(to: 0)
    let sent = read(&window, 10)
    #expect(isThere && sent == bytes(0..<10))
    let isOutside = window.seek(to: -1) || window.seek(to: 101)
    #expect(!isOutside)
    let isAtEnd = window.seek(to: 100)
    #expect(isAtEnd && window.isDone)
  }

  @Test("a part of another length is not taken")
  func wrongLength() {
    var window = BodyWindow(byteCount: 100)
    let isTakenUnasked = window.take([1])
    _ = window.ask()
    let isTakenShort = window.take(bytes(0..<99))
    #expect(!isTakenUnasked && !isTakenShort)
  }
}
