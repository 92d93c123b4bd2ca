import WaystationOutbox
import WaystationOutboxFoundation

/// What was counted on a shelf.
///
/// It is reported under the shift that somebody has signed in to by then, so it is a command: the
/// request is made when its turn comes.
public struct ShelfCount: CodableCommand, Equatable {
  /// The tag of all counts.
  public static let tag: Tag = "stock.count"

  /// What was counted.
  public var article: String
  /// How many there are.
  public var pieces: Int

  /// A count.
  public init(article: String, pieces: Int) {
    self.article = article
    self.pieces = pieces
  }

  /// The request that reports it.
  func request(shift: String) throws(JSONFault) -> Request {
    Request("PUT", "/shifts/\(shift)/stock/\(article)", try .json(encoding: pieces))
  }
}
