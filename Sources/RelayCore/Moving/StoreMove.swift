/// Moves all that a store has into another one of any kind.
///
/// The order makes every crash harmless: the target is marked as not finished until everything in
/// it has been compared and the source is marked as moved. A move that was cut off before that
/// begins anew, one that was cut off later is only finished.
package struct StoreMove {
  /// What is being done.
  package enum Step: Equatable, Sendable {
    /// So many rows of the table have been copied.
    case copying(MovedTable, rows: Int64)
    /// So many rows of the table have been compared.
    case comparing(MovedTable, rows: Int64)
  }

  /// What was done.
  package struct Report: Equatable, Sendable {
    /// The number of rows of each table.
    package var rows: [MovedTable: Int64] = [:]
    /// Whether an earlier move had copied and compared everything.
    package var isResumed = false
    /// Whether an earlier move had done everything.
    package var isRepeated = false
  }

  /// Is told what is being done; ends the move by throwing.
  package typealias Progress = (Step) throws(StoreError) -> Void

  private let source: any MoveSource
  private let target: any MoveTarget
  private let progress: Progress

  /// Moves everything.
  ///
  /// - Parameter number: A random number for this move.
  package static func run(
    from source: any MoveSource, to target: any MoveTarget, number: Int64,
    progress: @escaping Progress
  ) throws(StoreError) -> Report {
    let move = StoreMove(source: source, target: target, progress: progress)
    return try move.run(number: number)
  }

  private func run(number: Int64) throws(StoreError) -> Report {
    let there = try target.mark()
    if let mark = try source.mark() { return try finish(mark, there) }
    if let there { try requireOwn(there) }
    try target.requireFree()
    try source.prepare()
    var report = Report()
    do throws(StoreError) {
      report.rows = try copyAll(number)
    } catch {
      throw error.advising(
        "\(source.place) is as it was, and the rest of the move does no harm. Run the same command "
          + "again.")
    }
    try depart(number)
    return report
  }

  /// Copies everything, and compares it.
  private func copyAll(_ number: Int64) throws(StoreError) -> [MovedTable: Int64] {
    try target.begin(MoveMark(.arriving, move: number, place: source.place))
    var copied: [MovedTable: MovedDigest] = [:]
    for table in MovedTable.allCases { copied[table] = try copy(table) }
    try target.settle()
    for (table, digest) in copied.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
      try compare(table, with: digest)
    }
    if let damage = try target.damage() {
      throw StoreError(
        kind: .corrupt, operation: "move", subject: source.place,
        detail: "its rows do not fit together (\(damage)). \(source.damageAdvice)")
    }
    return copied.mapValues(\.count)
  }

  /// The last steps, each of which the next move to the same place makes up for.
  private func depart(_ number: Int64) throws(StoreError) {
    do throws(StoreError) {
      try source.depart(MoveMark(.departed, move: number, place: target.place))
      try target.open()
    } catch {
      throw error.advising("All was copied. Run the same command again, which does the rest.")
    }
  }

  /// Does what a move lacks whose source is marked.
  private func finish(_ mark: MoveMark, _ there: MoveMark?) throws(StoreError) -> Report {
    let refusal = mark.refusal(to: "move", source.place)
    guard mark.side == .departed else { throw refusal }
    var report = Report()
    if let there {
      guard there.side == .arriving, there.move == mark.move else { throw refusal }
      try target.open()
      report.isResumed = true
      return report
    }
    guard mark.place == target.place else { throw refusal }
    guard let origin = try target.origin() else {
      throw StoreError(
        kind: .other, operation: "move", subject: source.place,
        detail: "it has been moved to \(mark.place), and what was moved is not there any more. If "
          + "it is lost, 'waystation store reopen --at \(source.place)' is the way back to what "
          + "there was at the time of the move.")
    }
    guard try source.origin() == origin else { throw refusal }
    report.isRepeated = true
    return report
  }

  /// Refuses to begin anew what another store was moved into: that one may be marked as moved.
  private func requireOwn(_ mark: MoveMark) throws(StoreError) {
    guard mark.side == .arriving else { throw mark.refusalAsTarget(target.place) }
    guard mark.place != source.place else { return }
    throw StoreError(
      kind: .other, operation: "move to", subject: target.place,
      detail: "a move into it from \(mark.place) is not finished. Run that one again, or name "
        + "another target.")
  }

  private func copy(_ table: MovedTable) throws(StoreError) -> MovedDigest {
    var digest = MovedDigest()
    try progress(.copying(table, rows: 0))
    try source.forEachBatch(of: table) { rows throws(StoreError) in
      for row in rows { digest.add(row) }
      try target.insert(rows, into: table)
      try progress(.copying(table, rows: digest.count))
    }
    return digest
  }

  private func compare(_ table: MovedTable, with source: MovedDigest) throws(StoreError) {
    var digest = MovedDigest()
    try target.forEachBatch(of: table) { rows throws(StoreError) in
      for row in rows { digest.add(row) }
      try progress(.comparing(table, rows: digest.count))
    }
    guard digest != source else { return }
    throw StoreError(
      kind: .corrupt, operation: "move", subject: table.title,
      detail: "the rows that were written to \(target.place) differ from those that were read of "
        + "\(self.source.place): \(digest.count) of them, and \(source.count). "
        + self.source.damageAdvice)
  }
}

extension StoreError {
  /// Adds what to do, unless it is about damage, which says that itself.
  fileprivate func advising(_ advice: String) -> StoreError {
    guard kind != .corrupt else { return self }
    var error = self
    error.detail += (detail.hasSuffix(".") ? " " : ". ") + advice
    return error
  }
}
