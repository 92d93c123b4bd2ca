/// A page of the line.
package struct LinePage: Sendable {
  /// The entries, in order of acceptance or backwards.
  package var entries: [LineEntry]
  /// The number up to which everything has been seen: the last entry's, or, on the last page, the
  /// greatest number that had been given out when the page was read; 0 on the last of those that go
  /// backwards.
  package var scannedThrough: Serial
  /// Whether the line goes on after this page.
  package var hasMore: Bool
  /// The amount of each client that waits on this page; not set on pages that go backwards.
  package var use: [ClientNumber: WaitingUse]

  /// Puts a page together.
  package init(
    entries: [LineEntry], scannedThrough: Serial, hasMore: Bool,
    use: [ClientNumber: WaitingUse] = [:]
  ) {
    self.entries = entries
    self.scannedThrough = scannedThrough
    self.hasMore = hasMore
    self.use = use
  }
}
