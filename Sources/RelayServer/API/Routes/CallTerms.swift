import HTTPServer
import RelayCore

/// The parameters and the body that a call takes beside its path.
///
/// Whoever gives a changing call more than that means something by it, such as to forget one lane
/// only: a call that did not heed it would do too much.
enum CallTerms: Sendable {
  /// These parameters of the query, and a body if it has one: anything else is refused.
  case only(_ parameters: [String], hasBody: Bool)
  /// Those that the endpoint reads, which refuses all others itself.
  case readByEndpoint
  /// Whatever comes, as far as the endpoint knows it: for calls that show one thing, to which
  /// senders have always been able to give more.
  case anything

  /// Neither parameters nor a body.
  static let nothing = CallTerms.only([], hasBody: false)
  /// A body, and no parameters.
  static let body = CallTerms.only([], hasBody: true)

  /// Looks whether a request gives anything that the call does not take.
  ///
  /// Inlined, since most calls take a body, and then there is nothing to wait for.
  ///
  /// - Throws: `unknown-field` for a parameter, `invalid-field` for a body.
  @inline(__always)
  func check(_ request: HTTPRequest) async throws(Problem) {
    guard case .only(let parameters, let hasBody) = self else { return }
    if let query = request.head.query { try Self.check(query, parameters) }
    if !hasBody { try await Self.checkBody(request.body) }
  }

  @inline(never)
  private static func checkBody(_ body: RequestBody) async throws(Problem) {
    guard await isNothing(body) else {
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
  private static func check(
    _ query: ArraySlice<UInt8>, _ parameters: [String]
  ) throws(Problem) {
    for (name, _) in try QueryItems.read(query) where !parameters.contains(name) {
      throw .unknownParameter(name, among: parameters)
    }
  }
}
