import RelayCore

/// Files of bodies that are too large for the database, in a folder of their own.
enum BodyFile {
  /// The size from which on a body has a file of its own, in bytes.
  static let bytesMin = 64 << 10

  /// The content of a file.
  static func read(_ path: String) throws(StoreError) -> [UInt8] { try Platform.read(path) }

  /// Writes a body into a new file, and has it with its name on the disk when this returns.
  ///
  /// - Returns: The file's name.
  static func store(_ bytes: [UInt8], in folder: String) throws(StoreError) -> String {
    let name = freshName()
    try Platform.write(bytes, toNew: "\(folder)/\(name)")
    try Platform.sync(folder)
    return name
  }

  /// Takes a file over, and has it with its name on the disk when this returns.
  static func take(
    _ source: String, _ mode: FileMode, in folder: String
  ) throws(StoreError) -> (name: String, count: Int64) {
    let name = freshName()
    let path = "\(folder)/\(name)"
    switch mode {
    case .copy: _ = try Platform.copy(source, toNew: path)
    // The other name goes once the item is kept; see ``NewBody/source``.
    case .move: try Platform.link(source, as: path)
    case .link: try Platform.link(source, as: path)
    }
    // Whoever wrote it may not have synced it.
    if mode != .copy { try Platform.sync(path) }
    try Platform.sync(folder)
    guard let count = Platform.size(of: path) else {
      throw StoreError(
        kind: .inputOutput, operation: "look at", subject: path, detail: "it is gone.")
    }
    return (name, count)
  }

  private static func freshName() -> String {
    Hexadecimal.encode(
      [Platform.random(), Platform.random()].flatMap { word in
        (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) }
      })
  }
}
