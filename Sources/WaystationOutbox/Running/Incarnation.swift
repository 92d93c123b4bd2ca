import RelayCore

/// What a device is called in a file that backups leave out.
///
/// If the database comes from a backup or was cloned, the file is missing or names another one.
/// (<https://bford.info/cachedir/> has archivers pass over the folder; on Apple's systems the app
/// excludes it.)
enum Incarnation {
  private static let tag = "Signature: 8a477f597d28d172789f06886806bc55\n"

  /// Reads the name of this device; makes one if there is none.
  ///
  /// A new name is another one than that in the database, which then knows that it was restored.
  static func read(in folder: String) throws(StoreError) -> String {
    let place = "\(folder)/device"
    try Platform.createFolder(place)
    let path = "\(place)/incarnation"
    // One that cannot be read just now is not missing.
    if Platform.size(of: path) == 32 {
      return String(decoding: try Platform.read(path), as: UTF8.self)
    }
    Platform.remove(path)
    let name = Hexadecimal.encode(
      [Platform.random(), Platform.random()].flatMap { word in
        (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) }
      })
    if Platform.size(of: "\(place)/CACHEDIR.TAG") == nil {
      try Platform.write(Array(tag.utf8), toNew: "\(place)/CACHEDIR.TAG")
    }
    try Platform.write(Array(name.utf8), toNew: path)
    try Platform.sync(place)
    return name
  }
}
