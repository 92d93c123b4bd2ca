import RelayCore

extension Writer {
  /// Adds rows to the history, and deletes some old ones.
  func writeHistory(_ rows: [HistoryRow], now: Minute) throws(StoreError) {
    for row in rows { try write(row) }
    for upstream in try history.upstreams.ints() {
      history.forgetOld.bind(1, upstream)
      history.forgetOld.bind(2, now.rawValue - HistoryLimits.minutesKept)
      history.forgetOld.bind(3, Int64(StoreTuning.historyRowsForgottenMax))
      try history.forgetOld.run()
      // A clock that is only adjusted leaves no row beyond the next minute.
      history.forgetFuture.bind(1, upstream)
      history.forgetFuture.bind(2, now.rawValue + 1)
      try history.forgetFuture.run()
    }
  }

  private func write(_ row: HistoryRow) throws(StoreError) {
    history.find.bind(1, Int64(row.place.upstream.rawValue))
    history.find.bind(2, row.place.minute.rawValue)
    var figures = row.figures
    if try history.find.step() {
      figures = HistoryRow(history.find).figures
      history.find.reset()
      figures.merge(row.figures)
    }
    history.put.bind(1, Int64(row.place.upstream.rawValue))
    history.put.bind(2, row.place.minute.rawValue)
    history.put.bind(3, figures.accepted)
    history.put.bind(4, figures.delivered)
    history.put.bind(5, figures.failed)
    history.put.bind(6, figures.waiting)
    history.put.bind(7, HistoryCode.bytes(of: figures.delays))
    try history.put.run()
  }
}

extension Reader {
  /// Adds the rows that a series needs to it.
  func readHistory(
    into series: HistorySeries, of upstream: UpstreamNumber?
  ) throws(StoreError) -> HistorySeries {
    try snapshot { () throws(StoreError) in
      var series = series
      let numbers =
        if let upstream { [Int64(upstream.rawValue)] } else {
          try history.upstreams.ints()
        }
      for number in numbers {
        history.before.bind(1, number)
        history.before.bind(2, series.begin.rawValue)
        while try history.before.step() { series.add(HistoryRow(history.before)) }
        history.rows.bind(1, number)
        history.rows.bind(2, series.begin.rawValue)
        history.rows.bind(3, series.end.rawValue)
        while try history.rows.step() { series.add(HistoryRow(history.rows)) }
      }
      return series
    }
  }
}

extension HistoryRow {
  /// The present row, in the order of ``HistoryQueries/columns``.
  ///
  /// Invalid delays are left out: they are no reason to show no chart at all.
  fileprivate init(_ row: borrowing Statement) {
    var figures = HistoryFigures()
    figures.accepted = row.int(2)
    figures.delivered = row.int(3)
    figures.failed = row.int(4)
    figures.waiting = row.int(5)
    if let delays = HistoryCode.delays(row.bytes(6)) { figures.delays = delays }
    let upstream = UpstreamNumber(rawValue: Int32(truncatingIfNeeded: row.int(0)))
    self.init(HistoryPlace(Minute(rawValue: row.int(1)), upstream), figures)
  }
}

extension SQLiteStore {
  /// Implements `HistoryStore.writeHistory`.
  package func writeHistory(_ rows: [HistoryRow], now: Minute) async throws(StoreError) {
    try await write("write the history") { writer throws(StoreError) in
      try writer.writeHistory(rows, now: now)
    }
  }

  /// Implements `HistoryStore.readHistory`.
  package func readHistory(
    into series: HistorySeries, of upstream: UpstreamNumber?
  ) async throws(StoreError) -> HistorySeries {
    try await read { reader throws(StoreError) in
      try reader.readHistory(into: series, of: upstream)
    }
  }
}

extension Statement {
  /// The first column of every row, as whole numbers.
  fileprivate borrowing func ints() throws(StoreError) -> [Int64] {
    var numbers: [Int64] = []
    while try step() { numbers.append(int(0)) }
    return numbers
  }
}
