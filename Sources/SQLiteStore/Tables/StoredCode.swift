import RelayCore

/// A word of the vocabulary that the database holds as a number.
///
/// Rules of SQL name the numbers by ``codeList``, never by hand: a word that is added is then known
/// to all of them at once.
protocol StoredCode: CaseIterable, Equatable {
  /// The number, fixed for good.
  var code: Int64 { get }
}

extension StoredCode {
  /// Whether a stored number stands for one of the words.
  static func isCode(_ number: Int64) -> Bool { allCases.contains { $0.code == number } }

  /// The numbers of all words, as SQL's list for `IN`.
  static var codeList: String { list { _ in true } }

  /// The numbers of some of the words, as SQL's list for `IN`.
  static func list(where isIn: (Self) -> Bool) -> String {
    "(\(allCases.filter(isIn).map { "\($0.code)" }.joined(separator: ", ")))"
  }
}

extension Standing: StoredCode {}

extension Outcome: StoredCode {}

extension EnvelopeState {
  /// The codes of the four ends, as SQL's list for `IN`.
  static let endCodeList = "(\(ends.compactMap(\.endCode).map { "\($0)" }.joined(separator: ", ")))"

  /// Whether a stored number stands for one of the four ends.
  static func isEndCode(_ number: Int64) -> Bool { ends.contains { $0.endCode == number } }
}

extension Operation.Action {
  /// The words of all actions, as SQL's list for `IN`; they are stored as they are.
  static let wordList = "(\(allCases.map { "'\($0.rawValue)'" }.joined(separator: ", ")))"
}
