import RelayCore
import SQLite

/// A number by which two requests can be told apart: FNV-1a of 64 bits
/// (<http://www.isthe.com/chongo/tech/comp/fnv/>).
///
/// It finds an app's mistake, such as one key for two things, and resists nobody who looks for two
/// requests with the same one. Of a body in a file it knows the size alone.
struct Fingerprint: Equatable {
  private(set) var hash: UInt64 = 0xCBF2_9CE4_8422_2325

  /// The fingerprint of a request.
  ///
  /// - Parameter commandVersion: The version of a command, whose bytes are the body.
  init(_ request: KeptRequest, _ body: NewBody, commandVersion: Int? = nil) {
    add(RequestForm.bytes(of: request))
    add([UInt8(body.kind.rawValue)])
    switch body {
    case .none: break
    case .bytes(let bytes): add(bytes)
    case .file(_, let count, _): add(Array("\(count)".utf8))
    }
    if let commandVersion { add(Array("\(commandVersion)".utf8)) }
  }

  /// One that was stored.
  init(stored: Int64) { hash = UInt64(bitPattern: stored) }

  /// The number that is stored.
  var stored: Int64 { Int64(bitPattern: hash) }

  private mutating func add(_ bytes: [UInt8]) {
    for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
    // What ends here is not what goes on: the same bytes elsewhere make another number.
    hash = (hash ^ UInt64(bytes.count)) &* 0x100_0000_01B3
  }
}

// The fingerprints of items whose keys the app has named: such a key may come again.
extension OutboxFile {
  /// Stores what an item was enqueued as.
  func insert(_ fingerprint: Fingerprint, of item: Int64) throws(StoreError) {
    try statements.insertNamed.run(item, fingerprint.stored)
  }

  /// Stores what an item with a named key was changed to.
  func setLatest(_ fingerprint: Fingerprint, of item: Int64) throws(StoreError) {
    try statements.updateNamed.run(item, fingerprint.stored)
  }

  /// Whether an item is known not to be, and not to have been, this request.
  func differs(_ item: Int64, from fingerprint: Fingerprint) throws(StoreError) -> Bool {
    try statements.readNamed.first(item) { row throws(StoreError) in
      ![row.int(0), row.int(1)].contains(fingerprint.stored)
    } ?? false
  }
}
