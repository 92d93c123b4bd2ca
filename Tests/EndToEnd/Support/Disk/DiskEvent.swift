import Foundation

/// One thing that a relay did to its disk, or told somebody.
struct DiskEvent {
  enum Kind: UInt32 {
    case start = 1
    case open, close, write, truncate, sync, rename, unlink, mkdir, rmdir, send
  }

  let kind: Kind
  let descriptor: Int32
  /// An offset, a size, or how a file was opened.
  let number: Int64
  let path: String
  let data: ArraySlice<UInt8>

  /// How a file was opened.
  var mayHaveMade: Bool { number & 1 != 0 }
  var wasEmptied: Bool { number & 2 != 0 }

  /// What has been sent, as text.
  var text: String { String(decoding: data, as: UTF8.self) }

  /// Reads a journal.
  static func all(in path: String) throws -> [DiskEvent] {
    let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    var events: [DiskEvent] = []
    var place = 0
    while place + headerBytes <= bytes.count {
      let (kind, descriptor, number, pathBytes, dataBytes) = bytes.withUnsafeBytes { raw in
        (
          raw.loadUnaligned(fromByteOffset: place, as: UInt32.self),
          raw.loadUnaligned(fromByteOffset: place + 4, as: Int32.self),
          raw.loadUnaligned(fromByteOffset: place + 8, as: Int64.self),
          Int(raw.loadUnaligned(fromByteOffset: place + 16, as: UInt32.self)),
          Int(raw.loadUnaligned(fromByteOffset: place + 20, as: UInt32.self))
        )
      }
      guard let kind = Kind(rawValue: kind) else {
        throw ProtocolViolation(description: "no record of the disk's journal at \(place)")
      }
      let dataStart = place + headerBytes + pathBytes
      events.append(
        DiskEvent(
          kind: kind, descriptor: descriptor, number: number,
          path: String(decoding: bytes[place + headerBytes..<dataStart], as: UTF8.self),
          data: bytes[dataStart..<dataStart + dataBytes]))
      place = dataStart + dataBytes
    }
    return events
  }

  private static let headerBytes = 24
}
