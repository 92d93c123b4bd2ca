/// Puts together the records of cells.
package struct RowReader {
  /// The trees of the pages.
  package let owners: PageOwners

  /// Makes a reader for the database whose pages were examined.
  package init(owners: PageOwners) { self.owners = owners }

  /// The result of reading a cell.
  package enum Reading {
    case record(StoredRecord)
    /// The reason that it cannot be read.
    case lost(String)
  }

  /// Reads one cell of a page.
  package func read(
    _ cell: BTreePage.Cell, of page: Int, _ image: DatabaseImage
  ) -> Reading {
    var payload = Array(cell.local)
    if cell.overflow != nil {
      payload.reserveCapacity(min(cell.payloadBytes, image.pageBytes * image.pageCount))
    }
    var next = cell.overflow
    var above = page
    while payload.count < cell.payloadBytes {
      guard let number = next, number > 2, number <= image.pageCount else {
        return .lost("its content goes on at no page")
      }
      if let entry = owners.entry(number) {
        let wanted: PointerMap.Use = above == page ? .firstOverflow : .overflow
        guard entry.use == wanted, entry.parent == above else {
          return .lost("page \(number), where its content goes on, is in use for something else")
        }
      }
      guard let bytes = image.page(number) else {
        return .lost("page \(number), where its content goes on, cannot be read")
      }
      let count = min(bytes.count - 4, cell.payloadBytes - payload.count)
      payload += bytes[4..<4 + count]
      above = number
      next = bytes.number32(at: 0)
      if payload.count == cell.payloadBytes, next != 0 {
        return .lost("page \(number), where its content goes on, is not its last one")
      }
    }
    return StoredRecord(payload).map { .record($0) } ?? .lost("its record makes no sense")
  }
}
