import Glibc
import WaystationOutbox

/// The token that a file holds, which somebody may replace.
struct TokenFile: Credentials {
  let path: String

  func current() async -> Credential? {
    guard let file = fopen(path, "re") else { return nil }
    defer { fclose(file) }
    var buffer = [UInt8](repeating: 0, count: 4096)
    let count = fread(&buffer, 1, buffer.count, file)
    let text = buffer[..<count].prefix { $0 > 0x20 }
    return text.isEmpty ? nil : .bearer(String(decoding: text, as: UTF8.self))
  }

  func refused(_ old: Credential?) async -> Credential? {
    let new = await current()
    return new?.header?.1 == old?.header?.1 ? nil : new
  }
}
