import RelayCore

extension Configuration {
  /// What is wrong with the keys of receipts, as sentences.
  ///
  /// A folder that is yet to be made is good. Nothing is changed.
  package var receiptKeyProblems: [String] {
    do throws(ConfigurationProblem) {
      _ = try receiptKeys()
      return []
    } catch {
      return [error.description]
    }
  }

  /// The keys of receipts; nil if there are to be none, or none were made yet.
  func receiptKeys() throws(ConfigurationProblem) -> ReceiptKeys? {
    guard let path = receiptKeysFolder else { return nil }
    do throws(KeyFolderError) { return try KeyFolder(path).keys() } catch {
      throw ConfigurationProblem(key: "receipts.keys", reason: error.description)
    }
  }

  /// Whether the folder holds other keys than those in use.
  ///
  /// - Parameter old: The configuration under which the others came into use.
  /// - Throws: Also if the ring in use is gone from its folder: another one in its place would be
  ///   trusted by nobody.
  func receiptKeysDiffer(
    from used: ReceiptKeys?, of old: Configuration
  ) throws(ConfigurationProblem) -> Bool {
    let found = try receiptKeys()
    if let path = receiptKeysFolder, path == old.receiptKeysFolder, used != nil, found == nil {
      throw ConfigurationProblem(
        key: "receipts.keys", reason: "\(path): the keys in use are gone from there; put them back")
    }
    return found?.ring != used?.ring
  }

  /// Reads the keys of receipts, and makes the first one where there is none yet; nil if there are
  /// to be none.
  ///
  /// - Parameters:
  ///   - used: The keys in use; nil for none.
  ///   - hasReceipts: Whether the store has receipts, which other keys must have signed.
  func takeUpReceiptKeys(
    after used: ReceiptKeys?, hasReceipts: Bool, _ now: WallTime, _ log: Log
  ) throws(ConfigurationProblem) -> ReceiptKeys? {
    guard let path = receiptKeysFolder else { return nil }
    var keys: ReceiptKeys
    let isNew: Bool
    do throws(KeyFolderError) {
      (keys, isNew) = try KeyFolder(path).takeUp(at: now)
    } catch {
      throw ConfigurationProblem(key: "receipts.keys", reason: error.description)
    }
    if let used, used.ring == keys.ring { return used }
    keys.isStrangeSince = used?.isStrangeSince
    if isNew, hasReceipts {
      keys.isStrangeSince = now
      log.warning(
        "new keys for receipts were made, though the store has receipts: no device trusts them",
        ("folder", .text(path)), ("kid", .text(keys.kid)),
        ("fix", .text("Stop the relay, put the former folder of keys back, and start it.")))
    } else if isNew, store.postgres != nil {
      log.warning(
        "a first key for receipts was made: bring its folder to the other relays of this store",
        ("folder", .text(path)), ("kid", .text(keys.kid)))
    } else {
      log.info(
        isNew ? "a first key for receipts was made" : "keys for receipts taken up",
        ("folder", .text(path)), ("kid", .text(keys.kid)),
        ("keys", .integer(Int64(keys.ring.keys.count))))
    }
    if let used, !keys.ring.continues(used.ring) {
      keys.isStrangeSince = now
      log.warning(
        "the keys for receipts do not follow those in use before: devices have to be told of them",
        ("folder", .text(path)), ("kid", .text(keys.kid)), ("formerKid", .text(used.kid)))
    }
    return keys
  }
}
