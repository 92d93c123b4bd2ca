extension String {
  /// A text of a sender's or an operator's as it can stand in a sentence: in quotes, and cut if it
  /// is long.
  var quoted: String {
    let shownCharactersMax = 80
    let cut = prefix(shownCharactersMax)
    return cut.utf8.count == utf8.count ? "\"\(self)\"" : "\"\(cut)…\""
  }
}
