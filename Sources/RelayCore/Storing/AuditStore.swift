/// An operator's request, for the audit log.
package struct AuditAct: Hashable, Sendable {
  /// The time of the request.
  package var at: WallTime
  /// The operator: a name or an id that is no secret.
  package var who: String
  /// The operator's role.
  package var role: String
  /// The requested action.
  package var action: String
  /// The action's subject; at most ``subjectBytesMax``.
  package var subject: String

  /// The most bytes of a subject: two names in percent-encoding and the words around them.
  package static let subjectBytesMax = 1024
  /// The most bytes of an entry's detail.
  package static let detailBytesMax = 512

  /// Describes an act; see the properties for what each part means.
  package init(at: WallTime, who: String, role: String, action: String, subject: String) {
    self.at = at
    self.who = who
    self.role = role
    self.action = action
    self.subject = Self.cut(subject, to: Self.subjectBytesMax)
  }

  /// The beginning of a text, cut between characters.
  package static func cut(_ text: String, to bytesMax: Int) -> String {
    guard text.utf8.count > bytesMax else { return text }
    var cut = text.unicodeScalars.prefix(bytesMax)
    while cut.reduce(0, { $0 + UTF8.width($1) }) > bytesMax { cut.removeLast() }
    return String(cut)
  }
}

/// The result of an act.
package struct AuditEnd: Hashable, Sendable {
  /// The result of an act, in one word.
  package enum Result: String, CaseIterable, Sendable {
    /// It is under way, or the relay went down before its result was known.
    case begun
    /// It was carried out.
    case done
    /// It was not carried out, since it was not possible just then.
    case refused
    /// It was not carried out, or not wholly, or that is not known: the relay was in trouble.
    case failed
  }

  /// The result, in one word.
  package var result: Result
  /// The status of the answer; nil while there is none.
  package var status: Int?
  /// Details in words; nil if there are none.
  package var detail: String?

  /// Puts a result together; `detail` is cut to ``AuditAct/detailBytesMax``.
  package init(_ result: Result, status: Int? = nil, detail: String? = nil) {
    self.result = result
    self.status = status
    self.detail = detail.map { AuditAct.cut($0, to: AuditAct.detailBytesMax) }
  }
}

/// An act and its result, as recorded in the audit log.
package struct AuditEntry: Hashable, Sendable {
  /// Its number, from 1; each act has the next one.
  package var number: Int64
  /// The act.
  package var act: AuditAct
  /// Its result.
  package var end: AuditEnd

  /// Puts an entry together.
  package init(number: Int64, act: AuditAct, end: AuditEnd) {
    self.number = number
    self.act = act
    self.end = end
  }
}

/// A page of the audit log, the newest first.
package struct AuditPage: Sendable {
  /// The entries.
  package var entries: [AuditEntry]
  /// Whether older ones follow.
  package var hasMore: Bool

  /// Puts a page together.
  package init(entries: [AuditEntry], hasMore: Bool) {
    self.entries = entries
    self.hasMore = hasMore
  }
}

/// A store of the operators' acts: durable, and bounded.
///
/// All calls may come from any thread. When a call returns, its change is on disk.
package protocol AuditStore: Sendable {
  /// Records that an act begins. Beyond the number that is kept, the oldest are deleted.
  ///
  /// - Returns: The entry's number.
  /// - Throws: ``StoreError`` if nothing was written: the act must not be carried out.
  func beginAct(_ act: AuditAct) async throws(StoreError) -> Int64

  /// Records the result of an act; does nothing if its entry is not kept any more.
  ///
  /// - Throws: ``StoreError`` if nothing was written: its entry stays as begun.
  func endAct(_ number: Int64, _ end: AuditEnd) async throws(StoreError)

  /// Reads the log, the newest first.
  ///
  /// - Parameters:
  ///   - number: Only entries before this one; nil for the newest.
  ///   - subject: Only acts on this subject; nil for all.
  ///   - countMax: The most entries to return.
  func acts(
    before number: Int64?, subject: String?, countMax: Int
  ) async throws(StoreError) -> AuditPage
}
