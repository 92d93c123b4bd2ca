import Foundation

/// A folder that goes away with the value that names it.
final class TemporaryFolder: Sendable {
  /// The folder's path.
  let path: String

  /// Makes one.
  ///
  /// - Parameter isForSockets: Whether a Unix socket is to stand in it, whose path has 107 bytes at
  ///   most (unix(7)): more than what some machines call their folder for temporary files leaves.
  init(isForSockets: Bool = false) throws {
    let parent = isForSockets ? "/tmp/" : NSTemporaryDirectory()
    path = parent + "waystation-test-" + UUID().uuidString.lowercased()
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// Writes a file and returns its path.
  @discardableResult
  func write(_ name: String, _ text: String) throws -> String {
    let file = path + "/" + name
    try text.write(toFile: file, atomically: true, encoding: .utf8)
    return file
  }
}
