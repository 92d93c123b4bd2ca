import RelayCore

extension AcceptanceRules.Upstream {
  /// Refuses a request that carries a part of a content, unless the upstream puts parts together.
  ///
  /// A server that does not know the field takes the part for the whole, and answers as if all were
  /// well. RFC 9110 section 14.5 has it answer 400; so does the relay, before it stores anything.
  ///
  /// - Parameter field: How whoever sends it writes the field.
  func checkPart(_ headers: HeaderBlock, field: String) throws(Problem) {
    guard !takesContentRange, headers.has("Content-Range") else { return }
    throw .partialContent(upstream: name, field: field)
  }
}
