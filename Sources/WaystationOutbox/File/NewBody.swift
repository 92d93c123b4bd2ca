/// The body of an item as it is handed over.
enum NewBody: Sendable, Equatable {
  case none
  case bytes([UInt8])
  /// In the folder of bodies under this name.
  case file(name: String, count: Int64, FileSums)

  /// Its size in bytes.
  var byteCount: Int64 {
    switch self {
    case .none: 0
    case .bytes(let bytes): Int64(bytes.count)
    case .file(_, let count, _): count
    }
  }

  /// Where it is kept.
  var kind: BodyKind {
    switch self {
    case .none: .none
    case .bytes: .inline
    case .file: .file
    }
  }

  /// What stands in the database: the bytes, or the file's name.
  var stored: [UInt8]? {
    switch self {
    case .none: nil
    case .bytes(let bytes): bytes
    case .file(let name, _, _): Array(name.utf8)
    }
  }

  /// The name of its file.
  var fileName: String? {
    if case .file(let name, _, _) = self { name } else { nil }
  }
}
