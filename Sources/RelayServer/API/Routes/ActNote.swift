import Synchronization

/// What an endpoint has to say of the act that it carries out, for the audit log.
final class ActNote: Sendable {
  private let words = Mutex<String?>(nil)

  /// What was said last; nil for nothing.
  var text: String? { words.withLock { $0 } }

  /// Says it; never a secret, nor anything of an envelope's content.
  func say(_ text: String) { words.withLock { $0 = text } }
}
