import RelayCore

/// What was accepted a moment ago and is about to be attempted, so that it need not be read back.
///
/// Bounded in bytes; what does not fit, or is pushed out, is read from the store when its turn
/// comes.
struct ContentCache {
  /// How many bytes are kept at the most.
  static let bytesMax = 16 * 1024 * 1024
  /// What an entry costs beside its content, in bytes.
  private static let overheadBytes = 512

  /// How many numbers of envelopes that have left may stay in the order before it is tidied.
  private static let staleCountMax = 1024

  private var contents: [Serial: DeliverableEnvelope] = [:]
  private var order = Deque<Serial>()
  private var bytes = 0

  mutating func insert(_ envelope: DeliverableEnvelope) {
    bytes += Self.cost(of: envelope)
    contents[envelope.serial] = envelope
    order.append(envelope.serial)
    while bytes > Self.bytesMax, let oldest = order.popFirst() { _ = drop(oldest) }
  }

  /// Takes an envelope out; nil if it is not here.
  mutating func take(_ serial: Serial) -> DeliverableEnvelope? {
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
    bytes -= Self.cost(of: envelope)
    return envelope
  }

  private static func cost(of envelope: DeliverableEnvelope) -> Int {
    let content = envelope.content
    let inline = if case .inline(let body) = content.body { body.count } else { 0 }
    return overheadBytes + content.target.count + content.headers.bytes.count + inline
  }
}
