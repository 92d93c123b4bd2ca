#if PostgreSQL
import Postgres
import RelayCore

// A large body is named by a UUID, which stands where other stores have a path.
extension StoredBodyFile {
  /// The length of each piece in the database but the last one; fixed for good.
  static let chunkBytes = MovedTable.pieceBytes

  /// Names a body.
  init(uuid: [UInt8], byteCount: Int64, checksum: Int64?) {
    self.init(path: Self.text(of: uuid), byteCount: byteCount, checksum: checksum)
  }

  /// A fresh name: 128 random bits.
  static func freshUUID() -> [UInt8] {
    var random = SystemRandomNumberGenerator()
    return (0..<16).map { _ in UInt8.random(in: 0...255, using: &random) }
  }

  /// The name that its path is; of something else, a name that no body has.
  var uuid: [UInt8] {
    let digits = path.utf8.filter { $0 != UInt8(ascii: "-") }
    let nibbles = digits.compactMap { UInt8(String(UnicodeScalar($0)), radix: 16) }
    guard digits.count == 32, nibbles.count == 32 else { return [UInt8](repeating: 0, count: 16) }
    return (0..<16).map { nibbles[2 * $0] << 4 | nibbles[2 * $0 + 1] }
  }

  private static func text(of uuid: [UInt8]) -> String {
    var text = ""
    for (index, byte) in uuid.enumerated() {
      if [4, 6, 8, 10].contains(index) { text += "-" }
      text += (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }
    return text
  }
}

extension EnvelopeBody {
  /// The bytes of a body that is kept in its envelope's row.
  var inlineBytes: [UInt8]? {
    if case .inline(let bytes) = self { bytes } else { nil }
  }

  /// A body in pieces of its own.
  var file: StoredBodyFile? {
    if case .file(let file) = self { file } else { nil }
  }

  /// The columns of a body, whose table is clear.
  static let columns = "body, body_file, body_bytes, body_checksum"

  /// Reads ``columns``, which begin at this place.
  init(_ rows: PostgresRows, _ row: Int, from first: Int) throws(StoreError) {
    if let bytes = rows.bytesOrNil(row, first) {
      self = .inline(bytes)
    } else if let uuid = rows.uuidOrNil(row, first + 1),
      let count = rows.int64OrNil(row, first + 2)
    {
      self = .file(
        StoredBodyFile(
          uuid: uuid, byteCount: count, checksum: rows.int64OrNil(row, first + 3)))
    } else {
      throw .invalidRow("an envelope without a body")
    }
  }
}

extension PostgresCommand {
  /// Has envelopes refer to bodies; fails if one of them is not kept any more.
  static func take(bodies: [StoredBodyFile]) -> PostgresCommand {
    PostgresCommand("SELECT take_bodies($1)", [.uuids(bodies.map(\.uuid))])
  }

  /// Leaves the bodies of envelopes that are about to be deleted to be deleted as well.
  static func dropBodies(of serials: PostgresValue) -> PostgresCommand {
    PostgresCommand(
      """
      SELECT drop_bodies(array_agg(body_file)) FROM envelope
      WHERE serial = ANY($1) AND body_file IS NOT NULL
      """, [serials])
  }

  /// Exchanges the body of an envelope: leaves the one that it has, and takes the other one, in as
  /// far as they have pieces and differ.
  static func exchangeBody(of serial: Serial, for body: EnvelopeBody) -> [PostgresCommand] {
    let drop = PostgresCommand(
      """
      SELECT drop_bodies(ARRAY[body_file]) FROM envelope
      WHERE serial = $1 AND body_file <> coalesce($2, '00000000-0000-0000-0000-000000000000')
      """, [.int64(serial), .uuid(body.file?.uuid)])
    return [drop] + (body.file.map { [.take(bodies: [$0])] } ?? [])
  }
}
#endif
