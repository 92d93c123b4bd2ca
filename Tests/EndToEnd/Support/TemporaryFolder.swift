import Foundation

/// A folder that goes away with the value that names it.
final class TemporaryFolder: Sendable {
  /// The folder's path.
  let path: String

  init() throws {
    path = NSTemporaryDirectory() + "waystation-test-" + UUID().uuidString.lowercased()
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
