import RelayCore

/// Something that a salvage could not carry over, or had to put together anew.
package struct SalvageFinding: Sendable {
  /// What it is about.
  package enum Kind: String, Sendable {
    /// A page of the old database, with all that stood on it.
    case page
    /// One row that was found and could not be read, or not without putting something in it right.
    case row
    /// An envelope that was acknowledged and is lost, or a part of it without which it is.
    case envelope
    /// A name that could not be read; another one stands in its place.
    case name
    /// An envelope that was carried over, though it could not be read whether it had ended.
    case state
    /// The log of events, or a part of it.
    case events
  }

  /// What it is about.
  package var kind: Kind
  /// In which table it was found, or missed.
  package var table: String
  /// The page of the old database.
  package var page: Int?
  /// The row's number: an envelope's serial, in most tables.
  package var row: Int64?
  /// The envelope's id, where that could be read.
  package var id: EnvelopeID?
  /// The id of the token, where it is about one and that could be read.
  package var token: String?
  /// Whose it was, where that is known.
  package var client: String?
  /// In which lane it stood, where that is known.
  package var lane: String?
  /// When it was accepted, where that is known.
  package var acceptedAt: WallTime?
  /// What happened, as a part of a sentence.
  package var reason: String
}

/// What a salvage has come to.
package struct SalvageReport: Sendable {
  /// How many rows were carried over, by table.
  package var rows: [String: Int] = [:]
  /// How many findings there are, by kind.
  package var findings: [SalvageFinding.Kind: Int] = [:]
  /// How many envelopes the new store holds.
  package var envelopes = 0
  /// How many of them wait.
  package var waiting = 0
  /// How many bodies in files of their own it has.
  package var bodies = 0
  /// What of the tokens it holds.
  package var tokens = CarriedTokens()

  /// Whether everything was carried over.
  package var isWhole: Bool { findings.isEmpty }
}
