/// What a store says of a move that it takes part in, or has taken part in.
///
/// A relay does not start on a store that has one.
package struct MoveMark: Equatable, Sendable {
  /// What the store is in the move.
  package enum Side: String, Sendable {
    /// It has been moved away; what it holds is the other one's by now.
    case departed
    /// A move into it is not finished.
    case arriving
  }

  /// What this store is in it.
  package var side: Side
  /// The number of the move, by which both stores of one are known.
  package var move: Int64
  /// Where the other store is, for people: never a password.
  package var place: String

  /// Names a move.
  package init(_ side: Side, move: Int64, place: String) {
    self.side = side
    self.move = move
    self.place = place
  }

  /// Why a relay does not start on this store.
  package func refusal(to operation: String, _ subject: String) -> StoreError {
    let detail =
      switch side {
      case .departed:
        "it has been moved to \(place). Start the relay on that. 'waystation store reopen' lifts "
          + "this, for a relay that is to deliver once more what both have."
      case .arriving:
        "a move into it, from \(place), is not finished. Run 'waystation store move' again."
      }
    return StoreError(kind: .other, operation: operation, subject: subject, detail: detail)
  }

  /// Why nothing is moved into the place of this store, which has been moved away.
  package func refusalAsTarget(_ subject: String) -> StoreError {
    StoreError(
      kind: .other, operation: "move to", subject: subject,
      detail: "it still has the store that was moved from there to \(place). Name another place: a "
        + "new database, or a folder that is empty or not there yet. To use the same folder, move "
        + "the old one away, and make an empty one that belongs to the relay's user.")
  }
}
