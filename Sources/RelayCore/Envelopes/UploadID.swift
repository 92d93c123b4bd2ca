/// The relay's name for an upload: a UUIDv7, all of whose free bits are random.
package struct UploadID: Hashable, Sendable {
  private let uuid: EnvelopeID

  /// A name for an upload that is created at `time`.
  ///
  /// - Parameter random: Two random numbers, of which 74 bits are used.
  package init(at time: WallTime, random: (UInt64, UInt64)) {
    let milliseconds = UInt64(clamping: time.millisecondsSinceEpoch) & 0xFFFF_FFFF_FFFF
    uuid = EnvelopeID(
      high: milliseconds << 16 | 0x7000 | random.0 & 0xFFF,
      low: 0b10 << 62 | random.1 & 0x3FFF_FFFF_FFFF_FFFF)
  }

  /// Parses the 36-character form; nil for a text that the relay has never given out.
  package init?(parsing text: String) {
    guard let uuid = EnvelopeID(parsing: text) else { return nil }
    self.uuid = uuid
  }

  /// Reads the sixteen bytes that are stored; nil for any other number of them.
  package init?(bytes: [UInt8]) {
    guard bytes.count == 16 else { return nil }
    let word = { (range: Range<Int>) in bytes[range].reduce(UInt64(0)) { $0 << 8 | UInt64($1) } }
    uuid = EnvelopeID(high: word(0..<8), low: word(8..<16))
  }

  /// The sixteen bytes that are stored.
  package var bytes: [UInt8] {
    [uuid.high, uuid.low].flatMap { word in
      stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: word >> UInt64($0)) }
    }
  }

  /// The time when it was created.
  package var createdAt: WallTime { uuid.acceptedAt }

  /// Where it is found.
  package var path: String { uuid.description(behind: "/v1/uploads/") }
}

extension UploadID: CustomStringConvertible {
  /// The 36 characters, in lower case.
  package var description: String { uuid.description }
}
