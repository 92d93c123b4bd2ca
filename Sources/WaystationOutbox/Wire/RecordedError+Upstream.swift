import JSON

extension RecordedError {
  /// The upstream has refused it.
  ///
  /// - Parameters:
  ///   - id: What the upstream calls the mistake; nil if it has no name.
  ///   - words: What it says to people, or what is known beside; nil if nothing is.
  static func upstream(
    id: String? = nil, status: Int?, words: String? = nil
  ) -> RecordedError {
    RecordedError(
      id: id ?? status.map { "status-\($0)" } ?? "failed",
      message: words ?? "The upstream refused it.")
  }

  /// The upstream has refused it with this answer.
  ///
  /// - Parameter reason: What is said where the answer says nothing.
  static func upstream(_ response: Response, reason: String?) -> RecordedError {
    let said =
      response.isCut
      ? nil : ErrorDocument(response.body, contentType: response.header("content-type") ?? "")
    return upstream(id: said?.id, status: response.status, words: said?.words ?? reason)
  }
}
