import RelayCore
import RelayServer
import Testing

@Suite("Repeated lines of the log")
struct RepeatBookTests {
  private typealias Book = RepeatBook<String, Int>

  private static let pace = RepeatPace(firstMs: 10_000, longestMs: 30_000)

  private func at(_ seconds: Int64) -> MonotonicTime {
    MonotonicTime(nanoseconds: seconds * 1_000_000_000)
  }

  /// Takes in a line after what is due has been told.
  private func note(
    _ line: Int, _ subject: String, _ book: inout Book, at seconds: Int64
  ) -> (isWritten: Bool, told: [String]) {
    let told = book.takeDue(at: at(seconds)).map(words)
    return (book.note(line, about: subject, Self.pace, at: at(seconds)), told)
  }

  private func words(_ held: Book.Held) -> String {
    "\(held.line): \(held.count) in \(held.withinMs / 1000) s"
  }

  @Test("the first is written at once, and those that follow with their number, ever more rarely")
  func rarer() {
    var book = Book()
    var written: [Int64] = []
    var told: [String] = []
    for second in Int64(0)...100 {
      let result = note(Int(second), "a", &book, at: second)
      if result.isWritten { written.append(second) }
      told += result.told
    }
    #expect(written == [0])
    // After 10, then 20, and then 30 seconds at a time, each with the latest line before it.
    #expect(told == ["9: 9 in 10 s", "29: 20 in 20 s", "59: 30 in 30 s", "89: 30 in 30 s"])
    #expect(book.takeAll(at: at(101)).map(words) == ["100: 11 in 11 s"])
    #expect(book.takeAll(at: at(101)).isEmpty && book.subjectCount == 0)
  }

  @Test("every line is either written or told of")
  func complete() {
    var random = SplitMix64(seed: 7)
    var book = Book()
    var (noted, seen) = (0, 0)
    var second: Int64 = 0
    for _ in 0..<5000 {
      second += Int64(random.next() % 4 == 0 ? random.next() % 20 : 0)
      seen += book.takeDue(at: at(second)).reduce(0) { $0 + $1.count }
      noted += 1
      let subject = "\(random.next() % 5)"
      if book.note(noted, about: subject, Self.pace, at: at(second)) { seen += 1 }
      if let due = book.nextDue { #expect(due > at(second)) }
    }
    seen += book.takeAll(at: at(second)).reduce(0) { $0 + $1.count }
    #expect(seen == noted)
  }

  @Test("after a silence the next is a first one again")
  func silence() {
    var book = Book()
    #expect(note(1, "a", &book, at: 0).isWritten)
    #expect(book.nextDue == nil)
    #expect(note(2, "a", &book, at: 11).isWritten)
    #expect(!note(3, "a", &book, at: 12).isWritten)
    #expect(book.nextDue == at(21))
    let late = note(4, "a", &book, at: 30)
    #expect(!late.isWritten && late.told == ["3: 1 in 19 s"])
  }

  @Test("subjects do not hold each other back")
  func subjects() {
    var book = Book()
    #expect(note(1, "a", &book, at: 0).isWritten && note(2, "b", &book, at: 0).isWritten)
    #expect(!note(3, "a", &book, at: 1).isWritten)
    #expect(book.takeDue(at: at(10)).map(words) == ["3: 1 in 10 s"])
    #expect(book.subjectCount == 1)
  }

  @Test("a line about one subject too many is written, and costs no memory")
  func bounded() {
    var book = Book()
    for number in 0..<Book.subjectCountMax {
      #expect(note(number, "\(number)", &book, at: 0).isWritten)
    }
    for _ in 0..<3 { #expect(note(0, "another", &book, at: 1).isWritten) }
    #expect(book.subjectCount == Book.subjectCountMax)
    // Those that were silent have gone, and there is room again.
    #expect(note(0, "another", &book, at: 11).isWritten && book.subjectCount == 1)
    #expect(!note(0, "another", &book, at: 12).isWritten)
  }
}

@Suite("How many lines the log takes")
struct LineBudgetTests {
  private func at(_ milliseconds: Int64) -> MonotonicTime {
    MonotonicTime(nanoseconds: milliseconds * 1_000_000)
  }

  @Test("a kind of lines that is used up for a second leaves the others their room")
  func kinds() {
    var budget = LineBudget()
    let most = LineBudget.Kind.course.linesPerSecondMax
    #expect((0..<(most + 3)).count { _ in budget.take(.course, at: at(500)) } == most)
    #expect(budget.isFull(.course, at: at(999)) && !budget.isFull(.trouble, at: at(999)))
    #expect(budget.take(.trouble, at: at(500)) && budget.take(.access, at: at(500)))
    #expect(budget.takeLeftOut(at: at(999)).isEmpty && budget.hasLeftOut)
    let told = budget.takeLeftOut(at: at(1000))
    #expect(told.map(\.kind) == [.course] && told.map(\.count) == [3])
    #expect(budget.take(.course, at: at(1000)) && !budget.hasLeftOut)
  }

  @Test("what is left out for another reason is told with the rest")
  func leftOut() {
    var budget = LineBudget()
    budget.leaveOut(2, .access)
    budget.leaveOut(1, .trouble)
    let told = budget.takeAllLeftOut()
    #expect(told.map(\.kind) == [.trouble, .access] && told.map(\.count) == [1, 2])
    #expect(budget.takeAllLeftOut().isEmpty)
  }
}

@Suite("A query in the access log")
struct ShownQueryTests {
  private func shown(_ query: String, isRelayed: Bool = false) -> String {
    ShownQuery.text(ArraySlice(query.utf8), isRelayed: isRelayed)
  }

  @Test("only the values of the relay's own parameters are shown")
  func own() {
    #expect(
      shown("state=failed&client=a%20b&token=s3cret&&s3cret&wait=")
        == "state=failed&client=a%20b&token=(hidden)&&(hidden)&wait=")
    #expect(shown("") == "" && shown("=s3cret") == "=(hidden)")
    #expect(shown("State=s3cret") == "State=(hidden)")
  }

  @Test("none is shown of what goes on to an upstream")
  func relayed() {
    #expect(shown("client=s3cret&q", isRelayed: true) == "client=(hidden)&(hidden)")
  }
}
