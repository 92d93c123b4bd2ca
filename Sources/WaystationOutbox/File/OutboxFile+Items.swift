import RelayCore
import SQLite

extension OutboxFile {
  // MARK: - Writing

  /// Stores a new item.
  func insert(_ item: KeptItem, _ request: KeptRequest, _ body: NewBody) throws(StoreError) {
    try insert(item)
    try statements.insertContent.run(
      item.id, RequestForm.row(of: request, body: body), body.stored)
  }

  /// Stores an item of another file, with its content as that has it: what has changed there is
  /// known here as well.
  func insert(_ item: KeptItem, _ content: KeptContent) throws(StoreError) {
    try insert(item)
    try statements.insertContent.run(item.id, content.row, content.body)
  }

  private func insert(_ item: KeptItem) throws(StoreError) {
    statements.insertItem.set(
      item.id, item.lane.raw, item.state.rawValue, item.isHanded, item.sequence.map(Int64.init),
      item.key, item.tag, item.coalesce, item.bodyKind.rawValue, item.bodyBytes, item.bytes,
      item.enqueuedAt.wallMs, item.enqueuedAt.monotonicMs, item.enqueuedAt.boot, item.expiresMs,
      item.notBeforeMs)
    statements.insertItem.bind(17, item.onRefusal.map(\.code))
    statements.insertItem.bind(18, item.attempts)
    statements.insertItem.bind(19, item.relayID)
    statements.insertItem.bind(20, item.error?.id)
    statements.insertItem.bind(21, item.error?.message)
    statements.insertItem.bind(22, item.refuser?.rawValue)
    statements.insertItem.bind(23, item.commandVersion)
    statements.insertItem.bind(24, item.upload)
    statements.insertItem.bind(25, item.userData.isEmpty ? nil : item.userData)
    statements.insertItem.bind(26, item.relayLane)
    statements.insertItem.bind(27, item.answers)
    try statements.insertItem.run()
  }

  /// Stores what may change of an item.
  func update(_ item: KeptItem) throws(StoreError) {
    statements.updateItem.set(
      item.id, item.state.rawValue, item.isHanded, item.sequence.map(Int64.init), item.attempts,
      item.relayID, item.error?.id, item.error?.message, item.refuser?.rawValue, item.upload,
      item.bodyKind.rawValue, item.bodyBytes, item.bytes, item.expiresMs, item.coalesce,
      item.onRefusal.map(\.code))
    statements.updateItem.bind(17, item.relayLane)
    statements.updateItem.bind(18, item.answers)
    try statements.updateItem.run()
  }

  /// Stores what an attempt changes of an item.
  ///
  /// It sets no more, since SQLite looks at each index of a column that is set.
  func seal(_ item: KeptItem) throws(StoreError) {
    try statements.sealItem.run(
      item.id, item.state.rawValue, item.sequence.map(Int64.init), item.attempts,
      item.onRefusal.map(\.code), item.relayLane)
  }

  /// Stores that the relay has an item, and what has gone of it.
  func hand(_ item: KeptItem) throws(StoreError) {
    try statements.handItem.run(
      item.id, item.state.rawValue, item.relayID, item.bodyKind.rawValue, item.bodyBytes,
      item.bytes)
  }

  /// Stores an item whose command has become a request.
  func made(_ item: KeptItem) throws(StoreError) {
    try update(item)
    try statements.forgetCommand.run(item.id)
  }

  /// Stores another request for an item.
  func replace(
    _ item: Int64, _ request: KeptRequest, _ body: NewBody
  ) throws(StoreError) {
    try statements.updateRequest.run(item, RequestForm.row(of: request, body: body), body.stored)
  }

  /// Removes an item with its content.
  func delete(_ item: Int64) throws(StoreError) {
    try statements.deleteItem.run(item)
    try statements.deleteContent.run(item)
  }

  /// Removes an item's request and body, and keeps the item.
  func deleteContent(of item: Int64) throws(StoreError) {
    try statements.deleteContent.run(item)
  }

  /// Lets an item count from this moment on, for its times.
  func rebase(_ item: Int64, onto moment: Moment) throws(StoreError) {
    try statements.rebase.run(item, moment.boot, moment.monotonicMs)
  }

  // MARK: - Reading

  /// The item of this number.
  func item(_ id: Int64) throws(StoreError) -> KeptItem? {
    try statements.itemByID.first(id) { row throws(StoreError) in try Self.item(row) }
  }

  /// The item of this key.
  func item(key: String) throws(StoreError) -> KeptItem? {
    try statements.itemByKey.first(key) { row throws(StoreError) in try Self.item(row) }
  }

  /// The item that has this number in its lane.
  func item(_ lane: LaneNumber, sequence: UInt64) throws(StoreError) -> KeptItem? {
    try statements.itemByNumber.first(lane.raw, Int64(clamping: sequence)) {
      row throws(StoreError) in try Self.item(row)
    }
  }

  /// The next items of a lane that the relay does not have, the oldest first.
  func line(
    of lane: LaneNumber, after id: Int64, countMax: Int
  ) throws(StoreError) -> [KeptItem] {
    statements.line.set(lane.raw, id, Int64(countMax))
    return try Self.items(statements.line)
  }

  /// The next items of a lane that the relay does not have, the newest first.
  func newest(
    of lane: LaneNumber, before id: Int64, countMax: Int
  ) throws(StoreError) -> [KeptItem] {
    statements.newest.set(lane.raw, id, Int64(countMax))
    return try Self.items(statements.newest)
  }

  /// The item of a lane that waits under this name for a later one.
  func coalesced(_ lane: LaneNumber, _ name: String) throws(StoreError) -> KeptItem? {
    try statements.coalesced.first(lane.raw, name) { row throws(StoreError) in try Self.item(row) }
  }

  /// Items in the order in which they were enqueued.
  func items(after id: Int64, countMax: Int) throws(StoreError) -> [KeptItem] {
    statements.items.set(id, Int64(countMax))
    return try Self.items(statements.items)
  }

  /// Items of a lane in the order in which they were enqueued.
  func items(
    of lane: LaneNumber, after id: Int64, countMax: Int
  ) throws(StoreError) -> [KeptItem] {
    statements.itemsOfLane.set(lane.raw, id, Int64(countMax))
    return try Self.items(statements.itemsOfLane)
  }

  /// Items of a tag in the order in which they were enqueued.
  func items(tag: String, after id: Int64, countMax: Int) throws(StoreError) -> [KeptItem] {
    statements.itemsOfTag.set(tag, id, Int64(countMax))
    return try Self.items(statements.itemsOfTag)
  }

  /// Items that need somebody, in the order in which they were enqueued.
  func itemsNeedingAttention(after id: Int64, countMax: Int) throws(StoreError) -> [KeptItem] {
    statements.attention.set(id, Int64(countMax))
    return try Self.items(statements.attention)
  }

  /// The number of items that need somebody.
  func attentionCount() throws(StoreError) -> Int {
    Int(try statements.attentionCount.first { row throws(StoreError) in row.int(0) } ?? 0)
  }

  /// The first item of a lane that needs somebody.
  func blocker(of lane: LaneNumber) throws(StoreError) -> KeptItem? {
    try statements.attentionOfLane.first(lane.raw) { row throws(StoreError) in try Self.item(row) }
  }

  /// When the oldest item was enqueued, by the time of day.
  func oldestWallMs() throws(StoreError) -> Int64? {
    try statements.oldest.first { row throws(StoreError) in row.int(0) }
  }

  /// Items whose time is over.
  func expired(at moment: Moment, countMax: Int) throws(StoreError) -> [KeptItem] {
    statements.expired.set(moment.boot, moment.monotonicMs, Int64(countMax))
    return try Self.items(statements.expired)
  }

  /// When the next item's time is over, by the time since the device's start.
  func nextDeadline(boot: Int64) throws(StoreError) -> Int64? {
    try statements.nextDeadline.first(boot) { row throws(StoreError) in row.optionalInt(0) } ?? nil
  }

  /// Items with a deadline that count from a former start of the device.
  func itemsOfFormerBoots(before boot: Int64, countMax: Int) throws(StoreError) -> [KeptItem] {
    statements.ofFormerBoots.set(boot, Int64(countMax))
    return try Self.items(statements.ofFormerBoots)
  }

  /// The lowest number of a lane that an item still has.
  func lowestNumber(of lane: LaneNumber) throws(StoreError) -> UInt64? {
    let lowest: Int64?? = try statements.lowestNumber.first(lane.raw) { row throws(StoreError) in
      row.optionalInt(0)
    }
    return (lowest ?? nil).map { UInt64(clamping: $0) }
  }

  /// An item's request, and the bytes of its inline body.
  func content(of item: Int64) throws(StoreError) -> KeptContent? {
    try statements.readContent.first(item) { row throws(StoreError) in
      let bytes = row.bytes(0)
      guard let request = RequestForm.request(bytes) else {
        throw StoreError(
          kind: .corrupt, operation: "read", subject: "the request of item \(item)",
          detail: "its stored form cannot be read.")
      }
      return KeptContent(row: bytes, request: request, body: row.bytes(1))
    }
  }

  /// The next item of a lane that the relay has.
  func nextHanded(of lane: LaneNumber, after id: Int64) throws(StoreError) -> KeptItem? {
    try statements.handed.first(lane.raw, id) { row throws(StoreError) in try Self.item(row) }
  }

  /// The names of all files of bodies that belong to an item.
  func fileNames() throws(StoreError) -> Set<String> {
    var names: Set<String> = []
    defer { statements.fileNames.reset() }
    while try statements.fileNames.step() {
      names.insert(String(decoding: statements.fileNames.bytes(0), as: UTF8.self))
    }
    return names
  }

  static func items(_ statement: borrowing Statement) throws(StoreError) -> [KeptItem] {
    var items: [KeptItem] = []
    defer { statement.reset() }
    while try statement.step() { items.append(try item(statement)) }
    return items
  }

  private static func item(_ row: borrowing Statement) throws(StoreError) -> KeptItem {
    guard let state = ItemState(rawValue: row.int(2)), let key = row.text(5),
      let bodyKind = BodyKind(rawValue: row.int(8))
    else {
      throw StoreError(
        kind: .corrupt, operation: "read", subject: "item \(row.int(0))",
        detail: "its row holds what this library has not written.")
    }
    let error = row.text(19).map { RecordedError(id: $0, message: row.text(20) ?? "") }
    return KeptItem(
      id: row.int(0), lane: LaneNumber(raw: row.int(1)), state: state, isHanded: row.bool(3),
      sequence: row.optionalInt(4).map { UInt64($0.asCount) }, key: key, tag: row.text(6),
      coalesce: row.text(7), bodyKind: bodyKind, bodyBytes: row.int(9).asCount,
      bytes: row.int(10).asCount,
      enqueuedAt: Moment(
        wallMs: row.int(11).asTime, monotonicMs: row.int(12).asTime, boot: row.int(13)),
      expiresMs: row.optionalInt(14)?.asTime, notBeforeMs: row.optionalInt(15)?.asTime,
      onRefusal: row.optionalInt(16).map { OnRefusal(code: $0) },
      attempts: Int(row.int(17).asCount),
      relayID: row.text(18), error: error, refuser: row.optionalInt(21).flatMap(Refuser.init),
      commandVersion: row.optionalInt(22).map { Int($0) }, upload: row.text(23),
      userData: row.bytes(24), relayLane: row.text(25), answers: Int(row.int(26).asCount))
  }
}

/// What a damaged row holds must not become a sum that is no number: it counts as the nearest value
/// that this library writes.
extension Int64 {
  /// The greatest count of anything, and the longest time in milliseconds.
  private static let most: Int64 = 1 << 53

  /// A number of bytes, tries and the like.
  fileprivate var asCount: Int64 { Swift.min(Swift.max(0, self), Self.most) }

  /// A time or a span, in milliseconds.
  fileprivate var asTime: Int64 { Swift.min(Swift.max(-Self.most, self), Self.most) }

  /// Whether it can be a count.
  var isCount: Bool { self == asCount }
}

extension OnRefusal {
  /// The stored number.
  var code: Int64 {
    switch self {
    case .block: 0
    case .skip: 1
    }
  }

  /// The policy of a stored number.
  init(code: Int64) { self = code == 1 ? .skip : .block }
}

/// What the row of an item's request and body holds.
struct KeptContent {
  /// The request as it is stored.
  let row: [UInt8]
  let request: KeptRequest
  /// The bytes of an inline body, or the name of a file.
  let body: [UInt8]

  /// Whether these are not the bytes that were kept.
  var isChanged: Bool { RequestForm.isChanged(row, body: body) }

  /// The checksums of the file, if the body is one and has any.
  var fileSums: FileSums? { RequestForm.fileSums(row) }
}
