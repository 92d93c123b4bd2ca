import HTTPServer
import RelayCore

/// What a call that changes something takes beside its path.
///
/// Whoever gives more than that means something by it, such as to forget one lane only: a call that
/// did not heed it would do too much.
struct CallTerms {
  /// The query's parameters.
  var parameters: [String] = []
  /// Whether it has a body.
  var hasBody = false

  /// Looks whether a request gives anything that the call does not take.
  ///
  /// - Throws: `unknown-field` for a parameter, `invalid-field` for a body.
  func check(_ request: HTTPRequest) throws(Problem) {
    if request.head.query != nil { try checkParameters(request.head.query) }
    guard hasBody || request.body.knownLength == 0 else {
      throw .invalidField(
        "", "This call takes no body, and does not read the one that came.",
        fix: "Leave the body out; `docs/protocol.md` says what the call does.")
    }
  }

  private func checkParameters(_ query: ArraySlice<UInt8>?) throws(Problem) {
    let items: [(name: String, value: String)]
    do throws(QueryParameters.Failure) {
      items = try QueryParameters(query).items
    } catch {
      throw .invalidField("", "The query is not properly percent-encoded.")
    }
    for (name, _) in items where !parameters.contains(name) {
      throw .unknownParameter(name, among: parameters)
    }
  }
}
