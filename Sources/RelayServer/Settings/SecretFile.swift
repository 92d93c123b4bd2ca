/// A file that holds one secret; the configuration names it as `${file:PATH}`.
package enum SecretFile {
  /// The longest such file, in bytes, its line end included.
  package static let bytesMax = 65_536

  /// The reason that a file cannot be used, in words that follow its path.
  package struct Fault: Error, Equatable {
    /// The reason.
    package let reason: String

    /// A fault in the caller's words.
    package init(_ reason: String) { self.reason = reason }

    /// A file of more than ``SecretFile/bytesMax`` bytes.
    package static let tooLarge = Fault(
      "has more than \(bytesMax) bytes, the most of a secret; name the file that holds the secret"
        + " alone")
  }

  /// Reads a file that has at most ``bytesMax`` bytes.
  package typealias Reader = (_ path: String) throws(Fault) -> [UInt8]

  /// A reader for configurations that may name no files.
  package static func unread(_ path: String) throws(Fault) -> [UInt8] {
    throw Fault("cannot be read here")
  }

  /// The secret that a file's bytes are: all of them but one line end (LF, or CR LF) at their end.
  ///
  /// - Throws: ``Fault`` for what can be no secret, none of which it shows.
  static func secret(in bytes: [UInt8]) throws(Fault) -> String {
    guard bytes.count <= bytesMax else { throw .tooLarge }
    var rest = bytes[...]
    if rest.last == 0x0A {
      rest = rest.dropLast()
      if rest.last == 0x0D { rest = rest.dropLast() }
    }
    guard !rest.isEmpty else { throw Fault("is empty; write the secret into it") }
    guard !rest.starts(with: [0xEF, 0xBB, 0xBF]) else {
      throw Fault("begins with a byte order mark; write the secret into it without one")
    }
    guard let text = String(validating: rest, as: UTF8.self) else {
      throw Fault("is not UTF-8; write the secret into it as text")
    }
    guard !text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
    else {
      throw Fault(
        "holds a control character, such as a second line; write the secret alone into it, in one"
          + " line")
    }
    return text
  }
}
