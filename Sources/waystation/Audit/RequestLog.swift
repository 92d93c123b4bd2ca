import JSON
import RelayCore
import RelayServer
import WaystationOutbox

/// Reads what an upstream got, and makes of each request what a receipt covers of it.
struct RequestLog {
  let lane: LaneName
  /// The upstream's name, as the relay calls it.
  let upstream: String
  /// What the upstream's URL puts in front of each path, without a slash at its end.
  private let prefix: Substring
  /// The lines that are not of the lane, or have no number.
  private(set) var skipped = 0
  /// Those of them of which nothing says that they are of another lane, and that no device has
  /// signed, as far as that can be read.
  private(set) var unsigned = 0
  /// The devices' keys; nil if signatures are not looked at.
  private let keys: DeviceKeys?
  /// What the device has signed of what came.
  private(set) var device = DeviceAudit()

  /// - Parameters:
  ///   - prefix: What the upstream's URL puts in front of each path.
  ///   - keys: The devices' keys; nil if signatures are not looked at.
  init(of lane: LaneName, at upstream: String, prefix: String, _ keys: DeviceKeys?) {
    self.keys = keys
    self.lane = lane
    self.upstream = upstream
    self.prefix = prefix.hasSuffix("/") ? prefix.dropLast() : prefix[...]
  }

  /// Reads a file with a line for each request, in the order in which they came.
  mutating func read(
    _ path: String, into evidence: inout LaneEvidence
  ) throws(AuditTrouble) {
    try AuditFile.forEachLine(of: path) { value, number throws(AuditTrouble) in
      let words: String
      do throws(Unreadable) {
        guard let item = try item(value) else {
          skipped += 1
          if try isUnsigned(value) { unsigned += 1 }
          return
        }
        return evidence.add(request: item.number, try taken(item, value))
      } catch {
        words = error.reason
      }
      throw .unreadable("line \(number) of \(path): \(words)")
    }
  }

  /// Whether a line that has no number may be of the lane, and is not signed.
  private func isUnsigned(_ value: JSONValue) throws(Unreadable) -> Bool {
    guard keys != nil, let object = try? value.object() else { return false }
    let fields = try Self.fields(object["headers"])
    let client = try text(object, "client") ?? fields.first("waystation-client")
    let name = try text(object, "lane") ?? fields.first("waystation-lane")
    return client ?? lane.client == lane.client && name ?? lane.lane == lane.lane
      && fields.first(ItemStatement.field.lowercased()).flatMap { keys?.statement($0) } == nil
  }

  private struct Unreadable: Error {
    let reason: String
  }

  /// Holds a request against what the device has signed.
  ///
  /// - Returns: Its digest.
  private mutating func taken(
    _ item: CoveredItem, _ value: JSONValue
  ) throws(Unreadable) -> [UInt8] {
    let digest = ReceiptDesk.hash(item.bytes)
    guard let keys else { return digest }
    let fields = try Self.fields((try? value.object())?["headers"])
    var digests = [digest]
    if item.key.isEmpty, let key = fields.first("idempotency-key") {
      // Where no key is told it is the one that the device has given.
      var other = item
      other.key = key
      digests.append(ReceiptDesk.hash(other.bytes))
    }
    device.add(UInt64(item.number), digests: digests, signed(fields, item.number, keys))
    return digest
  }

  private func signed(
    _ fields: Fields, _ number: Int64, _ keys: DeviceKeys
  ) -> DeviceAudit.Signed {
    let texts = fields.all.filter { $0.name == ItemStatement.field.lowercased() }
    guard let text = texts.first?.value else { return .nothing }
    let field = keys.field(text)
    // A device puts one in: of several nobody says which is meant.
    guard texts.count == 1, let statement = field.statement, let hash = field.hash,
      statement.client == lane.client, statement.lane == lane.lane,
      statement.sequence == UInt64(number)
    else { return .nobody }
    return .device(statement, hash: hash)
  }

  /// The item that a line tells of; nil if it is none of the lane's numbers.
  private func item(_ value: JSONValue) throws(Unreadable) -> CoveredItem? {
    guard let object = try? value.object() else { throw Unreadable(reason: "is no object") }
    let fields = try Self.fields(object["headers"])
    // Where nobody else says what it is, the device does.
    let said = keys.flatMap { keys in
      fields.first(ItemStatement.field.lowercased()).flatMap(keys.statement)
    }
    let client =
      try text(object, "client") ?? fields.first("waystation-client") ?? said?.client
    let name = try text(object, "lane") ?? fields.first("waystation-lane") ?? said?.lane
    guard client ?? lane.client == lane.client, name ?? lane.lane == lane.lane,
      let number = try number(object, fields) ?? said.map({ Int64(clamping: $0.sequence) })
    else { return nil }
    let key = try text(object, "key") ?? fields.first("waystation-key") ?? ""
    guard let path = try text(object, "path") else { throw Unreadable(reason: "has no \"path\"") }
    let encoded = try text(object, "bodyBase64") ?? ""
    guard let body = try? Base64.decode(encoded.utf8) else {
      throw Unreadable(reason: "\"bodyBase64\" is no Base64")
    }
    var item = CoveredItem(
      client: lane.client, lane: lane.lane, number: number, key: key,
      upstream: try text(object, "upstream") ?? upstream,
      method: try text(object, "method") ?? "POST", path: Array(stripped(path).utf8),
      headers: fields.covered,
      bodyByteCount: Int64(body.count), bodyDigest: ReceiptDesk.hash(body))
    // Its sender gave an Idempotency-Key beside the key, and the relay covers that: else it is the
    // relay's own. What the relay says only tells which of the two to make the digest of.
    let others = fields.idempotencyKeys.filter { !$0.value.elementsEqual(key.utf8) }
    if !others.isEmpty, let told = fields.first("waystation-item-digest") {
      var other = item
      other.headers += others
      if Base64URL.encode(ReceiptDesk.hash(other.bytes)) == told { item = other }
    }
    return item
  }

  /// A member that is a string; nil if there is none.
  private func text(
    _ object: JSONObject, _ name: StaticString
  ) throws(Unreadable) -> String? {
    guard let value = object[name] else { return nil }
    guard let text = try? value.string() else {
      throw Unreadable(reason: "\"\(name)\" is no string")
    }
    return text
  }

  private func number(
    _ object: JSONObject, _ fields: Fields
  ) throws(Unreadable) -> Int64? {
    if object["sequence"] != nil {
      guard let number = object.laneNumber("sequence") else {
        throw Unreadable(reason: "\"sequence\" is no number of a lane")
      }
      return number
    }
    guard let text = fields.first("waystation-sequence") else { return nil }
    guard let number = Int64(text), (1...SignedReceipt.numberMax).contains(number) else {
      throw Unreadable(reason: "Waystation-Sequence is no number of a lane")
    }
    return number
  }

  /// A path without what the upstream's URL puts in front of it.
  private func stripped(_ path: String) -> Substring {
    guard !prefix.isEmpty, path.hasPrefix(prefix) else { return path[...] }
    let rest = path.dropFirst(prefix.count)
    guard !rest.isEmpty else { return "/" }
    return rest.hasPrefix("/") ? rest : path[...]
  }

  // MARK: - Header fields

  /// Header fields by lower-case name, in the order in which they stand there.
  private struct Fields {
    var all: [(name: String, value: String)] = []

    func first(_ name: String) -> String? { all.first { $0.name == name }?.value }

    /// Those that a receipt covers whoever sends them, in its order.
    var covered: [(name: String, value: [UInt8])] {
      CoveredItem.headerNames.filter { "\($0)" != "idempotency-key" }.flatMap { bytes(of: "\($0)") }
    }

    /// What a receipt covers if it was the sender's.
    var idempotencyKeys: [(name: String, value: [UInt8])] { bytes(of: "idempotency-key") }

    private func bytes(of name: String) -> [(name: String, value: [UInt8])] {
      all.filter { $0.name == name }.map { ($0.name, Array($0.value.utf8)) }
    }
  }

  private static func fields(_ headers: JSONValue?) throws(Unreadable) -> Fields {
    var fields = Fields()
    guard let headers else { return fields }
    let unreadable = Unreadable(
      reason: "\"headers\" is no object of strings, or of arrays of strings")
    guard let object = try? headers.object() else { throw unreadable }
    for member in object {
      let name = member.name.string.lowercased()
      let values = (try? member.value.array()).map { Array($0) } ?? [member.value]
      for value in values {
        guard let text = try? value.string() else { throw unreadable }
        fields.all.append((name, text))
      }
    }
    return fields
  }
}
