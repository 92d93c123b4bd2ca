import RelayCore
import SQLite
import SQLitePages

/// The rules for a row's values, beyond their types, that the relay relies on.
enum RowRules {
  /// The reason that a row cannot be carried over; nil if it can.
  static func fault(in values: [StoredValue], of shape: TableShape) -> String? {
    func value(_ column: String) -> StoredValue? {
      shape.place(of: column).flatMap { $0 < values.count ? values[$0] : nil }
    }
    func integer(_ column: String) -> Int64? { value(column)?.integer }
    func blob(_ column: String) -> [UInt8]? { value(column)?.blob }
    func text(_ column: String) -> String? { value(column)?.text }
    switch shape.name {
    case "envelope":
      guard let id = blob("id"), Self.id(id) != nil else { return "its id makes no sense" }
      guard let headers = blob("headers"), HeaderBlock(stored: headers) != nil else {
        return "its headers make no sense"
      }
    case "line":
      if integer("standing").map(Standing.isCode) != true { return "its state makes no sense" }
    case "ended":
      guard let code = integer("state"), EnvelopeState.isEndCode(code) else {
        return "its state makes no sense"
      }
      if let outcome = integer("attempt_outcome"), !Outcome.isCode(outcome) {
        return "its last attempt makes no sense"
      }
    case "attempt":
      if integer("outcome").map(Outcome.isCode) != true { return "its outcome makes no sense" }
    case "response":
      guard let headers = blob("headers"), HeaderBlock(stored: headers) != nil else {
        return "its headers make no sense"
      }
    case "token":
      return tokenFault(
        kind: integer("kind"), id: text("id"), client: text("client"),
        digestBytes: blob("digest")?.count ?? 0)
        ?? renewalFault(digestBytes: blob("former_digest")?.count) {
          integer($0) != nil || blob($0) != nil
        }
    case "event_log":
      guard let entries = blob("entries"), EventEntries.isWhole(entries) else {
        return "its events make no sense"
      }
    case "lane_ledger": return ledgerFault(blob, integer)
    case "remembered_key":
      if blob("digest")?.count != RememberedKey.digestBytes { return "its digest makes no sense" }
    case "search_block":
      return searchFault(terms: blob("terms"), entries: integer("entries"))
    case "audit":
      guard let code = integer("result"), AuditEnd.Result.isCode(code) else {
        return "its result makes no sense"
      }
    case "operation":
      return operationFault(action: text("action"), state: integer("state"))
    case "history":
      if !HistoryCode.isSensible(values) { return "its figures make no sense" }
    default: break
    }
    if let serial = integer("serial"), serial < 0 || serial > EnvelopeID.serialMax {
      return "its number makes no sense"
    }
    return nil
  }

  private static func ledgerFault(
    _ blob: (String) -> [UInt8]?, _ integer: (String) -> Int64?
  ) -> String? {
    guard ["digest", "link"].allSatisfy({ blob($0)?.count == LaneChain.digestBytes }),
      [0, LaneChain.digestBytes].contains(blob("response")?.count ?? 0)
    else { return "its digests make no sense" }
    let isEnd = integer("state").map(EnvelopeState.isEndCode) ?? true
    let isStatus = integer("status").map { (0...999).contains($0) } ?? true
    return isEnd && isStatus ? nil : "how it ended makes no sense"
  }

  private static func searchFault(terms: [UInt8]?, entries: Int64?) -> String? {
    let block = terms.flatMap { SearchBlock(stored: $0) }
    guard let block, entries == Int64(block.count) else { return "its terms make no sense" }
    return nil
  }

  private static func operationFault(action: String?, state: Int64?) -> String? {
    guard let action, Operation.Action(rawValue: action) != nil, let state,
      Operation.State.isCode(state)
    else { return "what it did makes no sense" }
    return nil
  }

  /// The fault of a token: its kind has to fit the presence of a client and of a digest, and a
  /// revoked token of a key has to be its client's.
  private static func tokenFault(
    kind: Int64?, id: String?, client: String?, digestBytes: Int
  ) -> String? {
    let known = kind.flatMap(TokenRecord.Grant.Kind.init(rawValue:))
    guard let known, known.namesClient == (client != nil) else {
      return "what kind of token it is makes no sense"
    }
    if known == .revoked, let id, let client, !isOfKey(id, madeFor: client) {
      return "its id is not that of its client's token"
    }
    return digestBytes == known.digestBytes ? nil : "its digest makes no sense"
  }

  /// The fault of a token's renewal: its parts are there together, or none is.
  private static func renewalFault(digestBytes: Int?, has: (String) -> Bool) -> String? {
    let isRenewed = has("renewals")
    let parts = ["renewed_at", "renewal_seed", "former_digest", "former_expires_at"]
    let isWhole =
      parts.allSatisfy { has($0) == isRenewed } && has("renewal_ms") == has("renewable_until")
      && (has("renewable_until") || !isRenewed)
    let known = TokenRecord.Grant.Kind.client.digestBytes
    return isWhole && (digestBytes ?? known) == known ? nil : "its renewal makes no sense"
  }

  /// Whether an id is that of a token which a key makes for this client: it names the client; see
  /// `DerivedToken` in `RelayServer`.
  static func isOfKey(_ id: String, madeFor client: String) -> Bool {
    id.hasSuffix(".\(Hexadecimal.encode(client.utf8))")
  }

  /// The id in a row; nil if the relay cannot have given it out.
  static func id(_ bytes: [UInt8]) -> EnvelopeID? {
    guard let id = try? EnvelopeID(stored: bytes), id.high >> 12 & 0xF == 7, id.low >> 62 == 0b10
    else { return nil }
    return id
  }
}

extension EventEntries {
  /// Whether a row of the event log can be read to its end.
  static func isWhole(_ bytes: [UInt8]) -> Bool {
    do throws(StoreError) {
      try forEach(in: bytes) { _ in }
      return true
    } catch {
      return false
    }
  }
}
