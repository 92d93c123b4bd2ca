/// Words of a command line, as a POSIX shell reads them.
enum ShellWord {
  /// The word as it is where no character has a meaning of its own; else in single quotes (POSIX
  /// Shell Command Language section 2.2.2).
  ///
  /// What a device or an upstream chose must do nothing where somebody pastes it.
  static func quoted(_ word: String) -> String {
    let isPlain =
      !word.isEmpty && !word.hasPrefix("~")
      && word.utf8.allSatisfy { TokenText.isPathByte($0) || "/:,".utf8.contains($0) }
    guard !isPlain else { return word }
    let parts = word.split(separator: "'", omittingEmptySubsequences: false)
    return "'" + parts.joined(separator: "'\\''") + "'"
  }
}
