import RelayCore

/// Files of bodies that are too large for the database, in a folder of their own.
enum BodyFile {
  /// The size from which on a body has a file of its own, in bytes.
  static let bytesMin = 64 << 10

  /// The content of a file.
  ///
  /// - Parameter sums: What it is held against; nil if there is nothing.
  /// - Throws: `StoreError` of the kind `corrupt` if it is not what was kept.
  static func read(_ path: String, _ sums: FileSums?) throws(StoreError) -> [UInt8] {
    let bytes = try Platform.read(path)
    guard sums?.fit(bytes) != false else { throw .fileChanged(path) }
    return bytes
  }

  /// Whether a file is known not to be what was kept, as far as it can be read.
  static func isChanged(_ path: String, _ sums: FileSums?) -> Bool {
    guard let sums, let found = try? Platform.sums(of: path) else { return false }
    return found.sums != sums
  }

  /// Writes a body into a new file, and has it with its name on the disk when this returns.
  ///
  static func store(_ bytes: [UInt8], in folder: String) throws(StoreError) -> NewBody {
    let name = freshName()
    try Platform.write(bytes, toNew: "\(folder)/\(name)")
    try Platform.sync(folder)
    return .file(name: name, count: Int64(bytes.count), FileSums(of: bytes))
  }

  /// Takes a file over, and has it with its name on the disk when this returns.
  ///
  /// One that is not copied is read once all the same, for its checksums.
  static func take(
    _ source: String, _ mode: FileMode, in folder: String
  ) throws(StoreError) -> NewBody {
    let name = freshName()
    let path = "\(folder)/\(name)"
    let taken: (count: Int64, sums: FileSums)
    switch mode {
    case .copy: taken = try Platform.copy(source, toNew: path)
    // The other name goes once the item is kept; see ``Body/endMove()``.
    case .move, .link:
      try Platform.link(source, as: path)
      do throws(StoreError) {
        taken = try Platform.sums(of: path)
        // Whoever wrote it may not have synced it.
        try Platform.sync(path)
      } catch {
        Platform.remove(path)
        throw error
      }
    }
    try Platform.sync(folder)
    return .file(name: name, count: taken.count, taken.sums)
  }

  private static func freshName() -> String {
    Hexadecimal.encode(
      [Platform.random(), Platform.random()].flatMap { word in
        (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) }
      })
  }
}

extension StoreError {
  /// The file of a body is not as it was written.
  static func fileChanged(_ path: String) -> StoreError {
    StoreError(
      kind: .corrupt, operation: "read", subject: path,
      detail: "it is not what was kept: its checksum differs.")
  }
}
