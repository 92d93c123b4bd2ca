import RelayCore

/// Something that a salvage could not carry over, or had to repair.
package struct SalvageFinding: Sendable {
  /// The kind of a finding.
  package enum Kind: String, Sendable {
    /// A page of the old database, with everything on it.
    case page
    /// A row that was found and could not be read, or only after a repair.
    case row
    /// An acknowledged envelope that is lost, or an essential part of it.
    case envelope
    /// A name that could not be read and was replaced.
    case name
    /// An envelope that was carried over although its state could not be read.
    case state
    /// The event log, or a part of it.
    case events
  }

  /// The kind.
  package var kind: Kind
  /// The table in which it was found or is missing.
  package var table: String
  /// The page of the old database.
  package var page: Int?
  /// The row's number: an envelope's serial, in most tables.
  package var row: Int64?
  /// The envelope's id, if it could be read.
  package var id: EnvelopeID?
  /// The token's id, if it is about a token and the id could be read.
  package var token: String?
  /// The client, if it is known.
  package var client: String?
  /// The lane, if it is known.
  package var lane: String?
  /// The time of acceptance, if it is known.
  package var acceptedAt: WallTime?
  /// The reason, as a part of a sentence.
  package var reason: String
}

/// The result of a salvage.
package struct SalvageReport: Sendable {
  /// The number of rows that were carried over, by table.
  package var rows: [String: Int] = [:]
  /// The number of findings, by kind.
  package var findings: [SalvageFinding.Kind: Int] = [:]
  /// The number of envelopes in the new store.
  package var envelopes = 0
  /// The number of them that wait.
  package var waiting = 0
  /// The number of its bodies in files of their own.
  package var bodies = 0
  /// The tokens that it has.
  package var tokens = CarriedTokens()

  /// Whether everything was carried over.
  package var isWhole: Bool { findings.isEmpty }
}
