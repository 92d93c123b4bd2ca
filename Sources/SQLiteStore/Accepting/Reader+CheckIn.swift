import RelayCore

/// The state of a client that checks in.
struct CheckInStanding {
  var client: ClientNumber
  var isRegistered: Bool
  var isFilled: Bool
  /// The last number that any ending has been given.
  var lastEnding: EndingNumber
  /// Whether there is anything up to the client's number that can be forgotten.
  var hasSeen: Bool
}

extension Reader {
  /// A client's state; nil if nothing from it was ever accepted.
  func checkInStanding(
    of name: String, seenThrough number: EndingNumber
  ) throws(StoreError) -> CheckInStanding? {
    checkIn.standing.bind(1, number)
    checkIn.standing.bind(2, name)
    guard try checkIn.standing.step() else { return nil }
    defer { checkIn.standing.reset() }
    return CheckInStanding(
      client: ClientNumber(rawValue: checkIn.standing.int(0)),
      isRegistered: !checkIn.standing.isNull(1), isFilled: checkIn.standing.int(1) == 1,
      lastEnding: try lastEnding(), hasSeen: checkIn.standing.int(2) == 1)
  }

  private func lastEnding() throws(StoreError) -> EndingNumber {
    guard try checkIn.lastEnding.step() else { throw .invalidRow("no ledger") }
    defer { checkIn.lastEnding.reset() }
    return checkIn.lastEnding.int(0)
  }

  /// The envelopes of a client among those that ended last and were not told to anybody.
  func recentlyEnded(of client: ClientNumber) throws(StoreError) -> [Serial] {
    var serials: [Serial] = []
    checkIn.recentlyEnded.bind(1, Int64(StoreTuning.firstCheckInLooksMax))
    checkIn.recentlyEnded.bind(2, client.rawValue)
    while try checkIn.recentlyEnded.step() { serials.append(checkIn.recentlyEnded.int(0)) }
    return serials
  }

  /// The endings behind a number that a client has not been told yet.
  func endings(
    of client: ClientNumber, after number: EndingNumber, countMax: Int
  ) throws(StoreError) -> CheckInPage {
    var page = CheckInPage(endings: [], toldThrough: number, hasMore: false)
    checkIn.endings.bind(1, client.rawValue)
    checkIn.endings.bind(2, number)
    checkIn.endings.bind(3, Int64(countMax) + 1)
    while try checkIn.endings.step() {
      guard page.endings.count < countMax else {
        page.hasMore = true
        checkIn.endings.reset()
        break
      }
      page.endings.append(try ending())
    }
    page.toldThrough = page.endings.last?.number ?? number
    return page
  }

  private func ending() throws(StoreError) -> ClientEnding {
    let id = try EnvelopeID(stored: checkIn.endings.bytes(1))
    let fate = EnvelopeFate(
      id: id, serial: id.serial,
      state: try EnvelopeState(endCode: checkIn.endings.int(5)), reason: checkIn.endings.text(8),
      endedAt: WallTime(millisecondsSinceEpoch: checkIn.endings.int(6)),
      attemptCount: Int32(truncatingIfNeeded: checkIn.endings.int(7)),
      responseStatus: checkIn.endings.optionalInt(9).map { Int($0) })
    return ClientEnding(
      number: checkIn.endings.int(0), fate: fate, lane: checkIn.endings.text(2) ?? "",
      key: checkIn.endings.text(3), sequence: checkIn.endings.optionalInt(4))
  }
}
