/// A stretch of the line.
package struct LinePage: Sendable {
  /// What waits, in order of acceptance, or the other way round.
  package var entries: [LineEntry]
  /// Everything up to this number has been seen: the last entry's, or, on the last page, the
  /// greatest number that had been given out when the page was read; 0 on the last of those that go
  /// backwards.
  package var scannedThrough: Serial
  /// Whether the line goes on behind this page.
  package var hasMore: Bool
  /// How much of each client the page holds; not told of pages that go backwards.
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
