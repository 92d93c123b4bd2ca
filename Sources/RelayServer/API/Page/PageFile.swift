import CPage
import Cryptography
import RelayCore

/// One file of the operators' page.
struct PageFile: Sendable {
  /// Its media type.
  let type: String
  /// The file's content.
  let bytes: [UInt8]
  /// The entity tag (RFC 9110 section 8.8.3), quotes included.
  let entityTag: String

  /// The page itself.
  static var page: PageFile? { all[pageName] }

  /// A file that the page loads; nil if there is none of this name.
  static func named(_ name: String) -> PageFile? { name == pageName ? nil : all[name] }

  private static let pageName = "page.html"
  /// The number of a digest's bytes in an entity tag.
  private static let tagBytes = 12

  /// All of them by name, made when the first is asked for: a relay that nobody looks at does not
  /// spend memory on its page.
  private static let all: [String: PageFile] = {
    var files: [String: PageFile] = [:]
    var number = 0
    while let file = page_file(number)?.pointee {
      let bytes = Array(UnsafeBufferPointer(start: file.bytes, count: file.byte_count))
      files[String(cString: file.name)] = PageFile(type: String(cString: file.type), bytes: bytes)
      number += 1
    }
    return files
  }()

  private init(type: String, bytes: [UInt8]) {
    self.type = type
    self.bytes = bytes
    let digest = SHA256.digest(of: bytes).prefix(Self.tagBytes)
    entityTag = "\"" + Hexadecimal.encode(Array(digest)) + "\""
  }
}
