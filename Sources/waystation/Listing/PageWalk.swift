/// A walk along a list's pages, which has to come to an end: what answers may be broken or hostile.
///
/// Each page that another follows has to say something new: a cursor that this walk has not been
/// given before, and, before too many such pages, an item.
struct PageWalk {
  /// Why a walk is over before the list is, in a sentence.
  struct Fault: Error, Equatable {
    let reason: String
  }

  /// The longest cursor that is taken, in bytes; a relay's are far shorter.
  static let cursorBytesMax = 4096
  /// How many pages in a row may be empty.
  ///
  /// A relay looks at ten million envelopes before it hands out such a page.
  static let emptyPagesMax = 1000

  /// The cursor of the page that is asked for next; nil for the first, and behind the last.
  private(set) var cursor: String?
  /// What stands for the cursors that this walk was given, eight bytes each: an export of ten
  /// million envelopes has 50,000.
  private var seen: Set<Int> = []
  private var emptyPageCount = 0

  /// Begins at a cursor; nil for the list's start.
  init(from cursor: String?) {
    self.cursor = cursor
    if let cursor { seen.insert(cursor.hashValue) }
  }

  /// Takes the cursor that a page names as the next one's; nil if there is none.
  ///
  /// - Parameter itemCount: How many items the page has.
  mutating func goOn(to next: String?, behind itemCount: Int) throws(Fault) {
    cursor = next
    guard let next else { return }
    guard next.utf8.count <= Self.cursorBytesMax else {
      throw Fault(reason: "it names a cursor of more than \(Self.cursorBytesMax) bytes")
    }
    guard seen.insert(next.hashValue).inserted else {
      throw Fault(reason: "it names the cursor '\(SafeText.line(next))' once more")
    }
    emptyPageCount = itemCount == 0 ? emptyPageCount + 1 : 0
    guard emptyPageCount <= Self.emptyPagesMax else {
      throw Fault(
        reason: "\(emptyPageCount) pages in a row were empty, and it names one more, at the cursor"
          + " '\(SafeText.line(next))'")
    }
  }
}
