/// The number of an ending; a client gives back the greatest one that it has seen.
///
/// Numbers ascend in the order in which endings were committed, over all clients, and are never
/// given out twice.
package typealias EndingNumber = Int64

/// An envelope that has ended, told to a client that checks in.
package struct ClientEnding: Sendable, Equatable {
  /// The ending's number.
  package var number: EndingNumber
  /// The envelope's state, and how it came to it.
  package var fate: EnvelopeFate
  /// The lane's name.
  package var lane: String
  /// The sender's own key; nil if it gave none.
  package var key: String?
  /// The sender's own number within the lane; nil if it gave none.
  package var sequence: Int64?

  /// Puts the parts together.
  package init(
    number: EndingNumber, fate: EnvelopeFate, lane: String, key: String?, sequence: Int64?
  ) {
    self.number = number
    self.fate = fate
    self.lane = lane
    self.key = key
    self.sequence = sequence
  }
}

/// The endings that a client is told when it checks in.
package struct CheckInPage: Sendable, Equatable {
  /// The endings, in the order of their numbers.
  package var endings: [ClientEnding]
  /// The number up to which everything has been told; the client gives it back next time.
  package var toldThrough: EndingNumber
  /// Whether there are more.
  package var hasMore: Bool

  /// Puts a page together.
  package init(endings: [ClientEnding], toldThrough: EndingNumber, hasMore: Bool) {
    self.endings = endings
    self.toldThrough = toldThrough
    self.hasMore = hasMore
  }
}
