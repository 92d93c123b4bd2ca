#if PostgreSQL
/// One value of a statement; nil is NULL.
///
/// Each is sent in PostgreSQL's binary form, and with its type, so that the server never guesses.
package enum PostgresValue: Sendable {
  /// An `int8`.
  case int64(Int64?)
  /// An `int4`.
  case int32(Int32?)
  /// An `int2`.
  case int16(Int16?)
  /// A `bool`.
  case bool(Bool?)
  /// A `text`, without the character 0.
  case text(String?)
  /// A `bytea`.
  case bytes([UInt8]?)
  /// A `uuid`, of 16 bytes.
  case uuid([UInt8]?)
  /// An `int8[]`.
  case int64s([Int64?])
  /// An `int4[]`.
  case int32s([Int32?])
  /// An `int2[]`.
  case int16s([Int16?])
  /// A `bool[]`.
  case bools([Bool?])
  /// A `text[]`.
  case texts([String?])
  /// A `bytea[]`.
  case byteStrings([[UInt8]?])
  /// A `uuid[]`.
  case uuids([[UInt8]?])
}

/// The numbers of PostgreSQL's own types, which no release changes (`pg_type.dat`).
enum TypeNumber {
  static let bool: UInt32 = 16
  static let bytea: UInt32 = 17
  static let name: UInt32 = 19
  static let int8: UInt32 = 20
  static let int2: UInt32 = 21
  static let int4: UInt32 = 23
  static let text: UInt32 = 25
  static let json: UInt32 = 114
  static let unknown: UInt32 = 705
  static let boolArray: UInt32 = 1000
  static let byteaArray: UInt32 = 1001
  static let int2Array: UInt32 = 1005
  static let int4Array: UInt32 = 1007
  static let textArray: UInt32 = 1009
  static let int8Array: UInt32 = 1016
  static let varchar: UInt32 = 1043
  static let uuid: UInt32 = 2950
  static let uuidArray: UInt32 = 2951
  static let xid8: UInt32 = 5069

  /// Whether values of a type are sent as an integer.
  static func isInteger(_ type: UInt32) -> Bool {
    type == int8 || type == int4 || type == int2 || type == xid8
  }

  /// Whether values of a type are sent as their text, in binary as well.
  static func isText(_ type: UInt32) -> Bool {
    type == text || type == varchar || type == name || type == json || type == unknown
  }
}

extension PostgresValue {
  /// The number of its type.
  var typeNumber: UInt32 {
    switch self {
    case .int64: TypeNumber.int8
    case .int32: TypeNumber.int4
    case .int16: TypeNumber.int2
    case .bool: TypeNumber.bool
    case .text: TypeNumber.text
    case .bytes: TypeNumber.bytea
    case .uuid: TypeNumber.uuid
    case .int64s: TypeNumber.int8Array
    case .int32s: TypeNumber.int4Array
    case .int16s: TypeNumber.int2Array
    case .bools: TypeNumber.boolArray
    case .texts: TypeNumber.textArray
    case .byteStrings: TypeNumber.byteaArray
    case .uuids: TypeNumber.uuidArray
    }
  }

  /// About how many bytes it takes in a message: no fewer than it does.
  var byteCountMax: Int {
    switch self {
    case .int64, .int32, .int16, .bool, .uuid: 16
    case .text(let text): text?.utf8.count ?? 0
    case .bytes(let bytes): bytes?.count ?? 0
    case .int64s(let elements): 20 + 12 * elements.count
    case .int32s(let elements): 20 + 8 * elements.count
    case .int16s(let elements): 20 + 6 * elements.count
    case .bools(let elements): 20 + 5 * elements.count
    case .uuids(let elements): 20 + 20 * elements.count
    case .texts(let elements): elements.reduce(20) { $0 + 4 + ($1?.utf8.count ?? 0) }
    case .byteStrings(let elements): elements.reduce(20) { $0 + 4 + ($1?.count ?? 0) }
    }
  }

  /// Whether there is a character 0 in its text, which PostgreSQL cannot keep.
  var hasZeroCharacter: Bool {
    switch self {
    case .text(let text): text?.utf8.contains(0) == true
    case .texts(let elements): elements.contains { $0?.utf8.contains(0) == true }
    default: false
    }
  }
}
#endif
