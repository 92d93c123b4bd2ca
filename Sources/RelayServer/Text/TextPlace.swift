/// A line and a column of a text, both counted from 1, the column in bytes.
struct TextPlace: Equatable {
  let line: Int
  let column: Int

  /// The place of the byte that stands `offset` bytes behind the beginning of `text`.
  init(of offset: Int, in text: ArraySlice<UInt8>) {
    let before = text.prefix(offset)
    line = before.count { $0 == UInt8(ascii: "\n") } + 1
    let lineStart = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? before.startIndex
    column = before.endIndex - lineStart + 1
  }
}
