import HTTPServer
import RelayCore

/// The parameters and body that a changing call takes beside its path.
///
/// Whoever gives more than that means something by it, such as to forget one lane only: a call that
/// did not heed it would do too much.
struct CallTerms: Sendable {
  /// Neither parameters nor a body.
  static let nothing = CallTerms()
  /// A body, and no parameters.
  static let body = CallTerms(hasBody: true)

  /// The query's parameters.
  var parameters: [String] = []
  /// True if it has a body.
  var hasBody = false

  /// Looks whether a request gives anything that the call does not take.
  ///
  /// Inlined, since most calls take a body, and then there is nothing to wait for.
  ///
  /// - Throws: `unknown-field` for a parameter, `invalid-field` for a body.
  @inline(__always)
  func check(_ request: HTTPRequest) async throws(Problem) {
    if let query = request.head.query { try checkParameters(query) }
    if !hasBody { try await checkBody(request.body) }
  }

  @inline(never)
  private func checkBody(_ body: RequestBody) async throws(Problem) {
    guard await Self.isNothing(body) else {
      throw .invalidField(
        "", "This call takes no body, and does not read the one that came.",
        fix: "Leave the body out; `docs/protocol.md` says what the call does.")
    }
  }

  /// Returns true if a body says nothing: none, or an empty object, as many libraries send it.
  ///
  /// A chunked body has no known length, so that it is read as far as it may go.
  private static func isNothing(_ body: RequestBody) async -> Bool {
    let emptyObject = Array("{}".utf8)
    if let length = body.knownLength, length > emptyObject.count { return false }
    var bytes: [UInt8] = []
    do throws(RequestBodyError) {
      while bytes.count <= emptyObject.count, let piece = try await body.read() { bytes += piece }
    } catch {
      return false
    }
    return bytes.isEmpty || bytes == emptyObject
  }

  @inline(never)
  private func checkParameters(_ query: ArraySlice<UInt8>) throws(Problem) {
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
