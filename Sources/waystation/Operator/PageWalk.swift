/// A walk along the pages of a list that always ends, since the responses may be broken or hostile.
///
/// Each page that is followed by another has to bring something new: a cursor that this walk has
/// not been given before, and, before too many such pages, an item.
struct PageWalk {
  /// The reason that a walk stops before the list ends, in a sentence.
  struct Fault: Error, Equatable {
    let reason: String
  }

  /// The longest cursor that is accepted, in bytes; a relay's are far shorter.
  static let cursorBytesMax = 4096
  /// The most pages in a row that may be empty.
  ///
  /// A relay looks at ten million envelopes before it returns such a page.
  static let emptyPagesMax = 1000

  /// The cursor of the next page to request; nil for the first one, and after the last.
  private(set) var cursor: String?
  /// Hashes of the cursors that this walk was given, eight bytes each: an export of ten million
  /// envelopes has 50,000 of them.
  private var seen: Set<Int> = []
  private var emptyPageCount = 0

  /// Begins at a cursor; nil stands for the list's start.
  init(from cursor: String?) {
    self.cursor = cursor
    if let cursor { seen.insert(cursor.hashValue) }
  }

  /// Takes a page's cursor of the next page; nil if there is none.
  ///
  /// - Parameter itemCount: The number of items on the page.
  mutating func advance(to next: String?, behind itemCount: Int) throws(Fault) {
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
