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

  /// Whether the folder holds other keys than those in use, or says otherwise whether devices know
  /// them.
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
    if found?.ring != used?.ring { return true }
    return used?.strangeness?.isRemembered != false
      && (found?.strangeness == nil) != (used?.strangeness == nil)
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
    let folder = KeyFolder(path)
    var keys: ReceiptKeys
    let isNew: Bool
    do throws(KeyFolderError) {
      (keys, isNew) = try folder.takeUp(at: now, isNewStrange: hasReceipts || used != nil)
    } catch {
      throw ConfigurationProblem(key: "receipts.keys", reason: error.description)
    }
    if let used, used.ring == keys.ring { return keys.kept(after: used, in: path, log) }
    tell(of: keys, isNew: isNew, hasReceipts: hasReceipts, path, log)
    guard let used else { return keys }
    keys.follow(used, at: now)
    guard let strangeness = keys.strangeness, !keys.ring.continues(used.ring) else { return keys }
    log.warning(
      "the keys for receipts do not follow those in use before: devices have to be told of them",
      ("folder", .text(path)), ("kid", .text(keys.kid)), ("formerKid", .text(used.kid)))
    if !strangeness.isRemembered { keys.remember(in: folder, log) }
    return keys
  }

  private func tell(
    of keys: ReceiptKeys, isNew: Bool, hasReceipts: Bool, _ path: String, _ log: Log
  ) {
    if isNew, hasReceipts {
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
  }
}

// Whether devices know the keys, from one configuration to the next.
extension ReceiptKeys {
  /// These keys once more, in place of the same ones as they were in use.
  fileprivate func kept(after used: ReceiptKeys, in path: String, _ log: Log) -> ReceiptKeys {
    guard used.strangeness?.isRemembered != false else { return used }
    guard (strangeness == nil) != (used.strangeness == nil) else { return used }
    if strangeness == nil {
      log.info(
        "devices know the keys for receipts, as an operator says", ("folder", .text(path)),
        ("kid", .text(kid)))
    }
    return self
  }

  /// Notes which others these come after.
  fileprivate mutating func follow(_ used: ReceiptKeys, at now: WallTime) {
    let doubt = used.strangeness
    if ring.continues(used.ring) {
      // A key that strange ones lead to is as strange to devices as they are.
      if let doubt, !doubt.isRemembered || strangeness != nil { strangeness = doubt }
    } else if let former = doubt?.former, ring.continues(former) {
      // Those that devices know are back.
      strangeness = nil
    } else {
      let since = strangeness?.since
      strangeness = Strangeness(
        since: since ?? now, isRemembered: since != nil,
        former: doubt == nil ? used.ring : doubt?.former)
    }
  }

  /// Has the folder say that devices may not know them; only this process does where that fails.
  fileprivate mutating func remember(in folder: KeyFolder, _ log: Log) {
    guard let since = strangeness?.since else { return }
    do throws(KeyFolderError) {
      try folder.mark(since: since)
      strangeness?.isRemembered = true
    } catch {
      log.warning(
        "it cannot be noted that devices do not know the keys for receipts: a restart forgets it",
        ("error", .text(error.description)))
    }
  }
}
