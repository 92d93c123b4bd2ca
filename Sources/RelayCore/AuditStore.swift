/// What somebody who looks after the relay asked of it.
package struct AuditAct: Hashable, Sendable {
  /// When it was asked.
  package var at: WallTime
  /// By whom: a name or an id that is no secret.
  package var who: String
  /// What the one who asked is to the relay.
  package var role: String
  /// What was to be done.
  package var action: String
  /// To what; at most ``subjectBytesMax``.
  package var subject: String

  /// The most bytes of a subject: two names in percent-encoding and the words around them.
  package static let subjectBytesMax = 1024
  /// The most bytes of the words that say more.
  package static let detailBytesMax = 512

  /// Describes an act; see the properties for what each part means.
  package init(at: WallTime, who: String, role: String, action: String, subject: String) {
    self.at = at
    self.who = who
    self.role = role
    self.action = action
    self.subject = Self.cut(subject, to: Self.subjectBytesMax)
  }

  /// The beginning of a text, without a torn character.
  package static func cut(_ text: String, to bytesMax: Int) -> String {
    guard text.utf8.count > bytesMax else { return text }
    var cut = text.unicodeScalars.prefix(bytesMax)
    while cut.reduce(0, { $0 + UTF8.width($1) }) > bytesMax { cut.removeLast() }
    return String(cut)
  }
}

/// What became of an act.
package struct AuditEnd: Hashable, Sendable {
  /// What became of an act, in one word.
  package enum Result: String, CaseIterable, Sendable {
    /// It is under way, or the relay went down before it knew what became of it.
    case begun
    /// It was carried out.
    case done
    /// It was not: it made no sense just then.
    case refused
    /// It was not, or not wholly, or that is not known yet: the relay was in trouble.
    case failed
  }

  /// In one word.
  package var result: Result
  /// The status of the answer; nil while there is none.
  package var status: Int?
  /// More, in words; nil if there is nothing to say.
  package var detail: String?

  /// Says what became of an act.
  package init(_ result: Result, status: Int? = nil, detail: String? = nil) {
    self.result = result
    self.status = status
    self.detail = detail.map { AuditAct.cut($0, to: AuditAct.detailBytesMax) }
  }
}

/// An act, and what became of it, as it stands in the audit log.
package struct AuditEntry: Hashable, Sendable {
  /// Its number, from 1, which grows by one with each act.
  package var number: Int64
  /// What was asked.
  package var act: AuditAct
  /// What became of it.
  package var end: AuditEnd

  /// Puts an entry together.
  package init(number: Int64, act: AuditAct, end: AuditEnd) {
    self.number = number
    self.act = act
    self.end = end
  }
}

/// A stretch of the audit log, the newest first.
package struct AuditPage: Sendable {
  /// What was found.
  package var entries: [AuditEntry]
  /// Whether older ones follow.
  package var hasMore: Bool

  /// Puts a page together.
  package init(entries: [AuditEntry], hasMore: Bool) {
    self.entries = entries
    self.hasMore = hasMore
  }
}

/// Where it is kept who steered the relay, how and when: durable, and bounded.
///
/// All calls may come from any thread. What returns is on disk.
package protocol AuditStore: Sendable {
  /// Writes down that an act begins. Once there are more than are kept, the oldest go.
  ///
  /// - Returns: The entry's number.
  /// - Throws: ``StoreError`` if nothing was written: the act has to be left alone.
  func beginAct(_ act: AuditAct) async throws(StoreError) -> Int64

  /// Writes down what became of it; nothing if its entry is not kept any more.
  ///
  /// - Throws: ``StoreError`` if nothing was written: its entry stays as begun.
  func endAct(_ number: Int64, _ end: AuditEnd) async throws(StoreError)

  /// What stands in the log, the newest first.
  ///
  /// - Parameters:
  ///   - number: Only what stands before this entry; nil for the newest.
  ///   - subject: Only what was done to this; nil for all.
  ///   - countMax: How many at the most.
  func acts(
    before number: Int64?, subject: String?, countMax: Int
  ) async throws(StoreError) -> AuditPage
}
