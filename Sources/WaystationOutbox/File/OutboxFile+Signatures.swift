import RelayCore
import SQLite

/// What the device signs of an item, and the signature once there is one.
struct KeptSignature: Sendable, Equatable {
  var item: Int64
  var lane: LaneNumber
  /// The number that it is for: an item that has another one by now is not signed.
  var sequence: UInt64
  /// What is covered of the item.
  var digest: [UInt8]
  /// What is signed, and its SHA-256.
  var payload: [UInt8]
  var hash: [UInt8]
  /// Whether it says that the lane's statements begin anew.
  var isAnew: Bool
  /// The field of the request; nil until the signer has answered.
  var jws: String?
}

/// Up to where a lane's signed items have left the device.
struct SignedLane: Sendable, Equatable {
  /// The last one, and the hash of its statement; 0 and nothing if there is none.
  var sequence: UInt64 = 0
  var hash: [UInt8] = []
  /// Whether the next statement begins anew.
  var isAnew = false
}

// What the device signs, which is on the disk before the signer sees it.
extension OutboxFile {
  // MARK: - Statements

  /// What is signed of an item; nil if nothing is.
  func signature(of item: Int64) throws(StoreError) -> KeptSignature? {
    try signing.readSignature.first(item) { row throws(StoreError) in
      KeptSignature(
        item: row.int(0), lane: LaneNumber(raw: row.int(1)), sequence: UInt64(clamping: row.int(2)),
        digest: row.bytes(3), payload: row.bytes(4), hash: row.bytes(5), isAnew: row.bool(6),
        jws: row.text(7))
    }
  }

  /// Stores what is to be signed of an item.
  func insert(_ signature: KeptSignature) throws(StoreError) {
    try signing.insertSignature.run(
      signature.item, signature.lane.raw, Int64(clamping: signature.sequence), signature.digest,
      signature.payload, signature.hash, signature.isAnew, signature.jws)
  }

  /// Stores the signature of an item.
  func set(jws: String, of item: Int64) throws(StoreError) {
    try signing.signSignature.run(item, jws)
  }

  /// Forgets what was signed of an item.
  func deleteSignature(of item: Int64) throws(StoreError) {
    try signing.deleteSignature.run(item)
  }

  /// The highest number of a lane of which something is signed, the statement's hash, and its item.
  func newestSignature(
    of lane: LaneNumber
  ) throws(StoreError) -> (sequence: UInt64, hash: [UInt8], item: Int64)? {
    try signing.newestSignature.first(lane.raw) { row throws(StoreError) in
      (UInt64(clamping: row.int(0)), row.bytes(1), row.int(2))
    }
  }

  /// All of them.
  func allSignatures() throws(StoreError) -> [KeptSignature] {
    var items: [Int64] = []
    defer { signing.signedItems.reset() }
    while try signing.signedItems.step() { items.append(signing.signedItems.int(0)) }
    var found: [KeptSignature] = []
    for item in items { if let signature = try signature(of: item) { found.append(signature) } }
    return found
  }

  /// Whether an item behind a number may have left the device.
  func hasSealed(of lane: LaneNumber, above sequence: UInt64) throws(StoreError) -> Bool {
    try signing.sealedAbove.first(lane.raw, Int64(clamping: sequence)) { _ throws(StoreError) in
      true
    } ?? false
  }

  // MARK: - Lanes

  /// Up to where signed items have left, lane by lane.
  func signedLanes() throws(StoreError) -> [LaneNumber: SignedLane] {
    var found: [LaneNumber: SignedLane] = [:]
    defer { signing.signedLanes.reset() }
    while try signing.signedLanes.step() {
      found[LaneNumber(raw: signing.signedLanes.int(0))] = SignedLane(
        sequence: UInt64(clamping: signing.signedLanes.int(1)),
        hash: signing.signedLanes.bytes(2), isAnew: signing.signedLanes.bool(3))
    }
    return found
  }

  /// Stores it of one lane.
  func write(_ signed: SignedLane, of lane: LaneNumber) throws(StoreError) {
    try signing.writeSignedLane.run(
      lane.raw, Int64(clamping: signed.sequence), signed.hash, signed.isAnew)
  }

  // MARK: - Numbers that were given up

  /// Stores that the next statement tells of a number that was given up.
  func insertSignedVoid(_ lane: LaneNumber, _ sequence: UInt64) throws(StoreError) {
    try signing.insertSignedVoid.run(lane.raw, Int64(clamping: sequence), nil as Int64?)
  }

  /// The numbers that no statement tells of yet.
  func untoldVoids(of lane: LaneNumber, countMax: Int) throws(StoreError) -> [UInt64] {
    signing.untoldVoids.set(lane.raw, Int64(countMax))
    defer { signing.untoldVoids.reset() }
    var numbers: [UInt64] = []
    while try signing.untoldVoids.step() {
      numbers.append(UInt64(clamping: signing.untoldVoids.int(0)))
    }
    return numbers
  }

  /// The statement of a number tells of those up to another one.
  func tellVoids(
    of lane: LaneNumber, through last: UInt64, in sequence: UInt64
  ) throws(StoreError) {
    try signing.tellVoids.run(
      lane.raw, Int64(clamping: last), Int64(clamping: sequence))
  }

  /// The statement of a number comes to nobody: another one tells of what it told.
  func retellVoids(of lane: LaneNumber, toldIn sequence: UInt64) throws(StoreError) {
    try signing.retellVoids.run(lane.raw, Int64(clamping: sequence))
  }

  /// The statement of a number has come to the upstream.
  func forgetVoids(of lane: LaneNumber, toldIn sequence: UInt64) throws(StoreError) {
    try signing.forgetVoids.run(lane.raw, Int64(clamping: sequence))
  }

  /// Whether any are stored.
  func hasSignedVoids() throws(StoreError) -> Bool {
    try signing.anySignedVoid.first { _ throws(StoreError) in true } ?? false
  }

  /// Copies what another file has of all this.
  ///
  /// Nobody knows what is missing of it, so each lane begins anew.
  func copySignatures(from source: OutboxFile) throws(StoreError) {
    let signatures = try Self.unlessDamaged { () throws(StoreError) in
      try source.allSignatures()
    }
    for signature in signatures ?? [] { try insert(signature) }
    let lanes = try Self.unlessDamaged { () throws(StoreError) in try source.signedLanes() }
    for (lane, signed) in lanes ?? [:] { try write(signed, of: lane) }
    let voids = try Self.unlessDamaged { () throws(StoreError) in try source.allSignedVoids() }
    for (lane, number, told) in voids ?? [] {
      try signing.insertSignedVoid.run(lane, number, told)
    }
  }

  private func allSignedVoids() throws(StoreError) -> [(Int64, Int64, Int64?)] {
    var found: [(Int64, Int64, Int64?)] = []
    defer { signing.signedVoids.reset() }
    while try signing.signedVoids.step() {
      found.append(
        (
          signing.signedVoids.int(0), signing.signedVoids.int(1),
          signing.signedVoids.optionalInt(2)
        ))
    }
    return found
  }
}
