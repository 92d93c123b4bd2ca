import RelayCore

/// The findings of a start about a store that it opened.
struct StartFindings: Sendable, Equatable {
  /// The damaged store that was moved aside in the folder.
  var setAside: SetAsideStore?
  /// Whether tokens or revocations may have been lost with a damaged store.
  var mayLackTokens = false
  /// A description of harmless findings; nil if there were none.
  var note: String?
}
