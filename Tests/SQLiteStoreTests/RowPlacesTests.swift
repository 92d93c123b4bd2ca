import Testing

@testable import SQLitePages

/// Which rows of a damaged page keep their numbers.
@Suite("SQLite store: numbers of rows")
struct RowPlacesTests {
  private func gaps(_ numbers: [Int64], _ range: RowRange = .all) -> [Int: RowRange] {
    RowPlaces.gaps(in: BTreePage(rows: numbers), range)
  }

  @Test("numbers that grow all fit")
  func whole() {
    #expect(gaps([]).isEmpty)
    #expect(gaps([7]).isEmpty)
    #expect(gaps([1, 2, 9, 1000], RowRange(after: 0, through: 1000)).isEmpty)
  }

  @Test("one that breaks the order does not fit, and what would is known")
  func one() {
    #expect(gaps([1, 2, 90, 4, 5]) == [2: RowRange(after: 2, through: 3)])
    #expect(gaps([10, 11, 2, 13, 14]) == [2: RowRange(after: 11, through: 12)])
    #expect(
      gaps([10, 11, 99], RowRange(after: 9, through: 12)) == [2: RowRange(after: 11, through: 12)])
  }

  @Test("of two of which either may be wrong, neither fits")
  func either() {
    #expect(
      gaps([1, 9, 7, 12]) == [
        1: RowRange(after: 1, through: 11), 2: RowRange(after: 1, through: 11),
      ])
  }

  @Test("pages above that contradict more than one row are not believed")
  func above() {
    #expect(gaps([1, 2, 3], RowRange(after: 10, through: 20)).isEmpty)
    #expect(gaps([1], RowRange(after: 10, through: 20)).keys.map(\.self) == [0])
  }
}

extension BTreePage {
  /// A leaf of a table with these row numbers and nothing else in it.
  fileprivate init(rows: [Int64]) {
    self.init(
      kind: .tableLeaf, cells: rows.map { Cell(row: $0, local: [], payloadBytes: 0) },
      lastChild: nil)
  }
}
