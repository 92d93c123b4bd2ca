/// A parsed page of a table or an index (<https://www.sqlite.org/fileformat.html#b_tree_pages>).
package struct BTreePage {
  /// The kind of a page.
  package enum Kind: UInt8 {
    case indexInterior = 2
    case tableInterior = 5
    case indexLeaf = 10
    case tableLeaf = 13

    /// Whether it has pages below it.
    package var isInterior: Bool { self == .indexInterior || self == .tableInterior }
    /// Whether it belongs to a table with row numbers.
    package var isOfTable: Bool { self == .tableInterior || self == .tableLeaf }
  }

  /// A cell: a record, or a pointer to the page below.
  package struct Cell {
    /// The row's number; nil in an index.
    package var row: Int64?
    /// The page below, in an interior page.
    package var child: Int?
    /// The part of the record in this page.
    package var local: ArraySlice<UInt8>
    /// The length of the whole record.
    package var payloadBytes: Int
    /// The page where the record continues; nil if all of it is in this page.
    package var overflow: Int?
  }

  /// Its kind.
  package let kind: Kind
  /// The cells in order; nil for one that cannot be read.
  package let cells: [Cell?]
  /// The last page below, in an interior page.
  package let lastChild: Int?

  /// The longest record that is believed: more than any row of ours can have.
  package static let payloadBytesMax: Int64 = 1 << 30

  /// Puts a page together.
  package init(kind: Kind, cells: [Cell?], lastChild: Int?) {
    self.kind = kind
    self.cells = cells
    self.lastChild = lastChild
  }

  /// Parses a page; nil if it is no page of a tree.
  ///
  /// - Parameter headerAt: 100 on the first page of the file, else 0.
  package init?(_ bytes: [UInt8], headerAt: Int) {
    guard bytes.count >= headerAt + 12, let kind = Kind(rawValue: bytes[headerAt]) else {
      return nil
    }
    self.kind = kind
    let count = bytes.number16(at: headerAt + 3)
    let pointersAt = headerAt + (kind.isInterior ? 12 : 8)
    let contentAt = pointersAt + 2 * count
    // 0 stands for 65536, which only an empty page has: then nothing is behind the pointers.
    let start = bytes.number16(at: headerAt + 5)
    guard contentAt <= bytes.count, start == 0 || (start >= contentAt && start <= bytes.count),
      bytes[headerAt + 7] <= 60
    else { return nil }
    lastChild = kind.isInterior ? bytes.number32(at: headerAt + 8) : nil
    cells = (0..<count).map { index in
      let place = bytes.number16(at: pointersAt + 2 * index)
      guard place >= contentAt, place < bytes.count else { return nil }
      return Self.cell(kind, bytes, at: place)
    }
  }

  private static func cell(_ kind: Kind, _ bytes: [UInt8], at start: Int) -> Cell? {
    var place = start
    var cell = Cell(local: [], payloadBytes: 0)
    if kind.isInterior {
      cell.child = bytes.number32(at: place)
      place += 4
    }
    if kind == .tableInterior {
      guard let (row, _) = bytes.variableNumber(at: place, before: bytes.count) else { return nil }
      cell.row = row
      return cell
    }
    guard let (length, next) = bytes.variableNumber(at: place, before: bytes.count),
      (0...payloadBytesMax).contains(length)
    else { return nil }
    place = next
    if kind == .tableLeaf {
      guard let (row, next) = bytes.variableNumber(at: place, before: bytes.count) else {
        return nil
      }
      cell.row = row
      place = next
    }
    cell.payloadBytes = Int(length)
    let localBytes = localBytes(of: Int(length), in: kind, usable: bytes.count)
    guard place + localBytes <= bytes.count else { return nil }
    cell.local = bytes[place..<place + localBytes]
    guard localBytes < Int(length) else { return cell }
    guard place + localBytes + 4 <= bytes.count else { return nil }
    cell.overflow = bytes.number32(at: place + localBytes)
    return cell
  }

  /// The length of the part of a record in the page itself.
  private static func localBytes(of length: Int, in kind: Kind, usable: Int) -> Int {
    let most = kind.isOfTable ? usable - 35 : (usable - 12) * 64 / 255 - 23
    guard length > most else { return length }
    let least = (usable - 12) * 32 / 255 - 23
    let wanted = least + (length - least) % (usable - 4)
    return wanted <= most ? wanted : least
  }
}
