import Glibc
import WaystationOutbox

/// The token that a file holds, which somebody may replace.
struct TokenFile: Credentials {
  let path: String

  func current() async -> Credential? {
    guard let text = try? Self.read(path), !text.isEmpty else { return nil }
    return .bearer(text)
  }

  func refused(_ old: Credential?) async -> Credential? {
    let new = await current()
    return new?.header?.1 == old?.header?.1 ? nil : new
  }

  /// Why a file has no token; nil if it has one.
  static func fault(_ path: String) -> String? {
    do throws(Unreadable) {
      return try read(path).isEmpty ? "there is no token in \(path)" : nil
    } catch {
      return "cannot read \(path): \(error.reason)"
    }
  }

  private struct Unreadable: Error {
    let reason: String
  }

  /// What stands in a file before the first blank or line break.
  private static func read(_ path: String) throws(Unreadable) -> String {
    guard let file = fopen(path, "re") else {
      throw Unreadable(reason: String(cString: strerror(errno)))
    }
    defer { fclose(file) }
    var buffer = [UInt8](repeating: 0, count: 4096)
    let count = fread(&buffer, 1, buffer.count, file)
    guard ferror(file) == 0 else { throw Unreadable(reason: String(cString: strerror(errno))) }
    return String(decoding: buffer[..<count].prefix { $0 > 0x20 }, as: UTF8.self)
  }
}
