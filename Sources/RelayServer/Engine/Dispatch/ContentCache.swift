import RelayCore

/// Contents of envelopes that were accepted a moment ago and are about to be attempted, so that
/// they need not be read back, and contents that were read ahead of their turn.
///
/// Bounded in bytes; what does not fit, or is pushed out, is read from the store when its turn
/// comes. What comes first is attempted first, so things are pushed out only for what has hardly
/// anything before it in its lane. What is read ahead pushes nothing out, and has some room to
/// itself. An envelope whose body lies in a file is never kept: it is read when its turn comes, so
/// that the file is checked before any of it is sent.
struct ContentCache {
  /// The most bytes that are kept.
  static let bytesMax = 16 * 1024 * 1024
  /// The most of those bytes for accepted contents.
  static let acceptedBytesMax = 12 * 1024 * 1024
  /// Up to this position in its lane an envelope's turn comes so soon that others make room for it.
  static let nearPositionMax = 4
  /// The cost of an entry beside its content, in bytes.
  private static let overheadBytes = 512

  /// The most numbers of removed envelopes that stay in the order before it is tidied.
  private static let staleCountMax = 1024

  /// The assumed size of a content that is being read ahead, in bytes.
  private static let expectedBytes = 2048

  private var contents: [Serial: DeliverableEnvelope] = [:]
  /// The envelopes being read ahead that were not taken or changed since, each with its reading's
  /// number.
  ///
  /// One that began before a change may end behind another one that began after it.
  private var expected: [Serial: UInt64] = [:]
  private var readingCount: UInt64 = 0
  private var order = Deque<Serial>()
  private var bytes = 0

  /// Whether what was accepted at a position of its lane is to be inserted.
  func wants(_ content: EnvelopeContent, position: Int) -> Bool {
    position <= Self.nearPositionMax || bytes + Self.cost(of: content) <= Self.acceptedBytesMax
  }

  /// Takes in what was accepted; the oldest goes if there is no room.
  mutating func insert(_ envelope: DeliverableEnvelope) {
    put(envelope)
    while bytes > Self.acceptedBytesMax, let oldest = order.popFirst() { _ = drop(oldest) }
  }

  private mutating func put(_ envelope: DeliverableEnvelope) {
    guard !envelope.hasBodyToCheck else { return }
    bytes += Self.cost(of: envelope.content)
    contents[envelope.serial] = envelope
    order.append(envelope.serial)
  }

  /// One reading ahead.
  struct Reading: Sendable {
    fileprivate let number: UInt64
    /// The envelopes to read; may be empty.
    fileprivate(set) var serials: [Serial] = []
  }

  /// Begins to gather what is to be read ahead.
  mutating func beginReading() -> Reading {
    readingCount += 1
    return Reading(number: readingCount)
  }

  /// Has an envelope read ahead, unless it is here, or expected, or there is no room for more.
  mutating func expect(_ serial: Serial, in reading: inout Reading) {
    guard contents[serial] == nil, expected[serial] == nil,
      bytes + (expected.count + 1) * Self.expectedBytes <= Self.bytesMax
    else { return }
    expected[serial] = reading.number
    reading.serials.append(serial)
  }

  /// Takes in what was read ahead, but for what was taken or changed since it was expected.
  ///
  /// An envelope with references is read anew when its turn comes, to be filled.
  mutating func finish(_ reading: Reading, with envelopes: [DeliverableEnvelope]) {
    var isWanted: Set<Serial> = []
    for serial in reading.serials where expected[serial] == reading.number {
      expected[serial] = nil
      isWanted.insert(serial)
    }
    for envelope in envelopes where isWanted.contains(envelope.serial) && !envelope.references {
      guard bytes + Self.cost(of: envelope.content) <= Self.bytesMax else { return }
      put(envelope)
    }
  }

  /// Takes an envelope out; nil if it is not here.
  ///
  /// A reading of it that is under way is ignored.
  mutating func take(_ serial: Serial) -> DeliverableEnvelope? {
    expected[serial] = nil
    let envelope = drop(serial)
    // Numbers of what was taken out of turn stay in the order until they come to its front, or
    // until they are the greater part of it.
    while let oldest = order.first, contents[oldest] == nil { _ = order.popFirst() }
    if order.count > 2 * contents.count + Self.staleCountMax { tidyOrder() }
    return envelope
  }

  private mutating func tidyOrder() {
    var tidied = Deque<Serial>()
    while let serial = order.popFirst() {
      if contents[serial] != nil { tidied.append(serial) }
    }
    order = tidied
  }

  private mutating func drop(_ serial: Serial) -> DeliverableEnvelope? {
    guard let envelope = contents.removeValue(forKey: serial) else { return nil }
    bytes -= Self.cost(of: envelope.content)
    return envelope
  }

  private static func cost(of content: EnvelopeContent) -> Int {
    let inline = if case .inline(let body) = content.body { body.count } else { 0 }
    return overheadBytes + content.target.count + content.headers.bytes.count + inline
  }
}

extension DeliverableEnvelope {
  /// Whether its body is in a file that is looked at before it is sent.
  var hasBodyToCheck: Bool {
    if case .file(let file) = content.body { file.checksum != nil } else { false }
  }
}
