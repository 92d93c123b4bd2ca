/// How far a client has been told of its endings: it gives back the greatest number it has seen.
///
/// Numbers grow in the order in which endings were committed, over all clients, and are never given
/// out twice.
package typealias EndingNumber = Int64

/// An envelope that has ended, told to a client that checks in.
package struct ClientEnding: Sendable, Equatable {
  /// The ending's number.
  package var number: EndingNumber
  /// How it ended.
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

/// What a client that checks in is told of its endings.
package struct CheckInPage: Sendable, Equatable {
  /// The endings, in the order of their numbers.
  package var endings: [ClientEnding]
  /// Everything up to this number has been told; what the client is to give back next time.
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
