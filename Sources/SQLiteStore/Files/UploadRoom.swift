import Synchronization

/// The room on disk that open uploads have claimed: what will have come of each, as far as that is
/// known, or what has.
final class UploadRoom: Sendable {
  private struct State {
    var bytes: [String: Int64] = [:]
    var total: Int64 = 0
  }

  private let state = Mutex(State())

  /// The bytes that are claimed in all.
  var total: Int64 { state.withLock { $0.total } }

  /// Claims so many bytes for a file, in place of what it had claimed.
  func hold(_ bytes: Int64, for file: String) {
    state.withLock { state in
      state.total += bytes - (state.bytes.updateValue(bytes, forKey: file) ?? 0)
    }
  }

  /// Gives back what files have claimed: they are gone, or count as bodies.
  func release(_ files: [String]) {
    state.withLock { state in
      for file in files { state.total -= state.bytes.removeValue(forKey: file) ?? 0 }
    }
  }

  /// Whether room is claimed for a file.
  func holds(_ file: String) -> Bool { state.withLock { $0.bytes[file] != nil } }
}
