import EventLoop
import RelayCore

/// Attempts whose bodies are in files and have yet to be signed, since a signature is sent before
/// its body.
///
/// Each turn of the forwarder's loop signs a piece, so that a large body holds nobody up for long.
struct SigningQueue {
  /// The number of bytes signed in one turn: about half a millisecond's work.
  private static let bytesPerTurn = 512 * 1024
  private static let bufferBytes = 64 * 1024

  /// An attempt, and the state of its signature.
  final class Entry {
    let request: AttemptRequest
    let startedAt: Now
    /// The opened body: the file that was signed is the one that is sent.
    fileprivate(set) var body: OutgoingBody?
    fileprivate(set) var signature: BodySigning?
    /// Whether the next part of the body has yet to come.
    fileprivate var isAwaiting = false

    fileprivate init(
      _ request: AttemptRequest, _ body: consuming OutgoingBody,
      _ signature: consuming BodySigning, at now: Now
    ) {
      self.request = request
      self.body = consume body
      self.signature = consume signature
      startedAt = now
    }

    /// Why its body could not be read, as far as that is known.
    var failure: String? { body?.failure }

    /// Returns the body, rewound, and its signature; nil unless all of it was signed.
    func finish() -> SignedBody? {
      guard var body = body.take(), body.seek(to: 0), let signature = signature.take() else {
        return nil
      }
      return SignedBody(body: body, signatures: signature.finish())
    }
  }

  private var entries: [Entry] = []
  private var buffer: [UInt8] = []

  /// Whether there is nothing to sign: the queue is empty, or waits for parts of bodies.
  var isIdle: Bool { entries.allSatisfy(\.isAwaiting) }

  /// Whether an envelope's attempt is in the queue.
  func contains(_ serial: Serial) -> Bool { entries.contains { $0.request.serial == serial } }

  /// Adds an attempt at the end.
  mutating func append(
    _ request: AttemptRequest, _ body: consuming OutgoingBody,
    _ signature: consuming BodySigning, at now: Now
  ) {
    entries.append(Entry(request, body, signature, at: now))
  }

  /// Removes attempts that are called off, and returns their envelopes.
  mutating func remove(_ isMeant: (Serial) -> Bool) -> [Serial] {
    let serials = entries.map(\.request.serial).filter(isMeant)
    entries.removeAll { isMeant($0.request.serial) }
    return serials
  }

  /// Takes a part of a body that has come for one of them.
  func take(_ arrival: BodyArrival) {
    guard let entry = entries.first(where: { $0.request.serial == arrival.serial }),
      entry.body?.take(arrival) ?? false
    else { return }
    entry.isAwaiting = false
  }

  /// Continues for a turn with the first one whose body is there; returns it if it is finished or
  /// cannot be read.
  mutating func advance() -> Entry? {
    guard let index = entries.firstIndex(where: { !$0.isAwaiting }) else { return nil }
    let entry = entries[index]
    if buffer.isEmpty { buffer = [UInt8](repeating: 0, count: Self.bufferBytes) }
    var left = Self.bytesPerTurn
    while left > 0 {
      let reading = buffer.withUnsafeMutableBytes { entry.body?.read(into: $0) ?? .failed }
      switch reading {
      case .bytes(let count) where count > 0:
        buffer.withUnsafeBytes {
          entry.signature?.update(UnsafeRawBufferPointer(rebasing: $0[..<count]))
        }
        left -= count
      case .notYet:
        entry.isAwaiting = true
        return nil
      case .bytes, .failed:
        // A body that could not be read to its end has no signature.
        if case .failed = reading { entry.signature = nil }
        entries.remove(at: index)
        if entries.isEmpty { buffer = [] }
        return entry
      }
    }
    return nil
  }
}

/// A body that is ready to be sent, and its signatures, if any.
struct SignedBody: ~Copyable {
  var body: OutgoingBody
  var signatures = BodySignatures()
}
