import EventLoop
import RelayCore
import Testing

@testable import Forwarder

@Suite("posts that wait to go to another relay together")
struct PassingQueueTests {
  private func time(_ milliseconds: Int64) -> MonotonicTime {
    MonotonicTime(nanoseconds: 1).adding(milliseconds: milliseconds)
  }

  @Test("one that comes alone goes at once")
  func alone() {
    var queue = PassingQueue<Int>()
    #expect(queue.next(at: time(0)) == nil && queue.leftMs(at: time(0)) == nil)
    queue.append(1, bytes: 100, at: time(0))
    #expect(queue.next(at: time(0)) == [1])
    queue.end()
    #expect(queue.leftMs(at: time(0)) == nil)
  }

  @Test("while two are under way the next ones wait, and go together once one has ended")
  func together() {
    var queue = PassingQueue<Int>()
    for number in 1...2 {
      queue.append(number, bytes: 100, at: time(0))
      #expect(queue.hasRoom && queue.next(at: time(0)) == [number])
    }
    for number in 3...5 { queue.append(number, bytes: 100, at: time(1)) }
    #expect(queue.next(at: time(2)) == nil && !queue.hasRoom)
    queue.end()
    #expect(queue.next(at: time(3)) == [3, 4, 5])
    #expect(queue.next(at: time(3)) == nil)
  }

  @Test("they wait no longer than for a while, however long an answer takes")
  func patience() {
    var queue = PassingQueue<Int>()
    for number in 1...2 {
      queue.append(number, bytes: 100, at: time(1))
      #expect(queue.next(at: time(5)) == [number])
    }
    // One may come any time, and nobody tells of it.
    #expect(queue.leftMs(at: time(5)) == 20)
    for number in 6...7 { queue.append(number, bytes: 100, at: time(Int64(number))) }
    #expect(queue.leftMs(at: time(7)) == 19)
    #expect(queue.next(at: time(25)) == nil)
    #expect(queue.next(at: time(26)) == [6, 7])
    // All three are under way now.
    for _ in 1...2 { queue.end() }
    #expect(queue.hasRoom && queue.leftMs(at: time(26)) == nil)
  }

  @Test("as many go together as a bundle holds, by number and by bytes, and the rest follows")
  func bounds() {
    var queue = PassingQueue<Int>()
    for number in 0..<100 { queue.append(number, bytes: 1, at: time(0)) }
    #expect(queue.next(at: time(0)) == Array(0..<PassedBundle.itemsMax))
    #expect(queue.next(at: time(0)) == Array(PassedBundle.itemsMax..<100))
    for _ in 1...2 { queue.end() }
    for number in 0..<3 { queue.append(number, bytes: PassedBundle.bytesMax / 2, at: time(0)) }
    queue.append(3, bytes: 2 * PassedBundle.bytesMax, at: time(0))
    #expect(queue.next(at: time(0)) == [0, 1])
    #expect(queue.next(at: time(0)) == [2])
    #expect(queue.next(at: time(20)) == [3])
  }

  @Test("those that wait are taken out when there is nobody to send them to")
  func takenOut() {
    var queue = PassingQueue<Int>()
    for number in 1...4 { queue.append(number, bytes: 1, at: time(0)) }
    #expect(queue.takeWaiting { number in number.isMultiple(of: 2) } == [2, 4])
    #expect(queue.next(at: time(0)) == [1, 3])
  }
}
