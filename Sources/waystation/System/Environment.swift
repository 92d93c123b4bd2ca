import Glibc

/// The environment of this process.
enum Environment {
  /// All variables; none if /proc cannot be read.
  ///
  /// They come from /proc, since `environ` is a global that any thread may change (environ(7)).
  static func variables() -> [String: String] {
    let bytes = (try? FileContents.read("/proc/self/environ", bytesMax: 16 << 20)) ?? []
    var variables: [String: String] = [:]
    for entry in bytes.split(separator: 0) {
      guard let equals = entry.firstIndex(of: UInt8(ascii: "=")) else { continue }
      let name = String(decoding: entry[..<equals], as: UTF8.self)
      // getenv(3) takes the first of two entries of one name, too.
      if variables[name] == nil {
        variables[name] = String(decoding: entry[(equals + 1)...], as: UTF8.self)
      }
    }
    return variables
  }
}
