import JSON
import RelayCore

/// The times of an envelope that its sender gives as spans, since its clock may be wrong.
///
/// They count from when the sender made the envelope: `age` before it came.
struct RelativeTimes: Sendable, Equatable {
  /// How long ago the sender made the envelope, in seconds.
  var age: Int64?
  /// How long after that it may be attempted, in seconds.
  var notBeforeIn: Int64?
  /// How long after that it expires, in seconds.
  var expiresIn: Int64?

  /// The spans that there are, in seconds: up to a hundred years.
  static let range: ClosedRange<Int64> = 0...3_155_760_000

  /// Whether a repeat of the envelope, which is older, would come to other times.
  var isSaid: Bool { notBeforeIn != nil || expiresIn != nil }
}

extension TermForm<Int64> {
  /// A span of time.
  static var span: TermForm {
    TermForm(
      rule:
        "a whole number of seconds from \(RelativeTimes.range.lowerBound) to "
        + "\(RelativeTimes.range.upperBound)",
      json: { value in
        value.wholeNumber.flatMap { RelativeTimes.range.contains($0) ? $0 : nil }
      },
      text: { text in
        guard !text.isEmpty, text.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return Int64(String(decoding: text, as: UTF8.self))
          .flatMap { RelativeTimes.range.contains($0) ? $0 : nil }
      })
  }
}

extension EnvelopeTerms {
  /// When it may be attempted first; nil for at once.
  func notBefore(from arrival: ArrivalTime) -> WallTime? {
    relative.notBeforeIn.map { arrival.after(seconds: $0 - (relative.age ?? 0)) } ?? notBefore
  }

  /// When it expires; nil if the sender does not say.
  func expiresAt(from arrival: ArrivalTime) -> WallTime? {
    relative.expiresIn.map { arrival.deadline(afterSeconds: $0 - (relative.age ?? 0)) }
      ?? expiresAt
  }

  /// Refuses a time that is given both as a time of day and as a span.
  func checkSpans(_ fields: AcceptanceRules.TermFields) throws(Problem) {
    if expiresAt != nil, relative.expiresIn != nil {
      throw .saidTwice(fields.expiresIn, fields.expiresAt)
    }
    if notBefore != nil, relative.notBeforeIn != nil {
      throw .saidTwice(fields.notBeforeIn, fields.notBefore)
    }
  }
}

extension Problem {
  /// Two fields say the same thing.
  static func saidTwice(_ field: String, _ other: String) -> Problem {
    .invalidField(
      field, "\(other) is given as well, and both say the same.", fix: "Leave one of them out.")
  }
}
