import RelayCore

/// The access rules: each route has a row, and nothing is decided elsewhere.
///
/// A device that may use a route has to do with its own client alone: what is another's is unknown
/// to it (``Caller/mayKnow(of:)``).
package enum AccessRules {
  /// The decision on a caller.
  package enum Verdict: Equatable, Sendable {
    /// Go on.
    case allowed
    /// The caller is unknown (401).
    case unknownCaller
    /// Not this caller (403).
    case forbidden
  }

  /// The rule of one route.
  package struct Row: Equatable, Sendable {
    /// True if anybody may use it, without a credential.
    var isForEverybody = false
    /// True if a client may use it, for its own envelopes.
    var isForDevices = false
    /// True if an operator may use it.
    var isForOperators = true
    /// The permission that an operator needs.
    var role = OperatorRole.steer
    /// True if it needs a credential even where none is needed otherwise.
    var needsCredential = false
  }

  /// Returns the decision on a caller.
  ///
  /// - Parameter isOpen: Whether who shows no credential may do what needs none; see
  ///   ``AccessConfiguration/anonymous``.
  package static func verdict(on row: Row, for caller: Caller, isOpen: Bool) -> Verdict {
    if row.isForEverybody { return .allowed }
    switch caller.kind {
    case .stranger: return .unknownCaller
    case .anonymous: return isOpen && !row.needsCredential ? .allowed : .unknownCaller
    case .device: return row.isForDevices ? .allowed : .forbidden
    case .operator where !row.isForOperators: return .forbidden
    case .operator(.steer): return .allowed
    case .operator(.read): return row.role == .read ? .allowed : .forbidden
    }
  }

  /// Returns true if a caller may learn why the relay is not ready.
  package static func seesReasons(_ caller: Caller, isOpen: Bool) -> Bool {
    verdict(on: .watching, for: caller, isOpen: isOpen) == .allowed
  }
}

extension AccessRules.Row {
  /// Anybody, without a credential.
  static let everybody = Self(isForEverybody: true)
  /// Devices for their own, and whoever may look.
  static let looking = Self(isForDevices: true, role: .read)
  /// Devices for their own, and whoever may steer.
  static let handingOver = Self(isForDevices: true)
  /// Devices alone, by a credential of their own.
  static let renewing = Self(isForDevices: true, isForOperators: false, needsCredential: true)
  /// Operators who may look.
  static let watching = Self(role: .read)
  /// Operators who may steer.
  static let steering = Self()
  /// Operators who may look, by a credential also where none is needed otherwise: whoever may do
  /// everything else to an open relay must not see who may later on.
  static let seeingTokens = Self(role: .read, needsCredential: true)
  /// Operators who may steer, by a credential also where none is needed otherwise.
  static let changingTokens = Self(needsCredential: true)
}
