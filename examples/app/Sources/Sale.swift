import WaystationOutbox
import WaystationOutboxFoundation

/// Something that was sold.
public struct Sale: Codable, Equatable, Sendable {
  /// The till's own number of it, by which a repeat is recognised everywhere.
  public var number: Int
  /// What was sold.
  public var article: String
  /// What it cost.
  public var cents: Int

  /// A sale.
  public init(number: Int, article: String, cents: Int) {
    self.number = number
    self.article = article
    self.cents = cents
  }

  /// The request that reports it.
  func request() throws(JSONFault) -> Request {
    Request("POST", "/sales", try .json(encoding: self))
  }
}
