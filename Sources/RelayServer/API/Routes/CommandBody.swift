import HTTPServer
import RelayCore

/// The body of a call that changes an envelope.
struct CommandBody {
  private let context: EndpointContext

  init(_ context: EndpointContext) { self.context = context }

  /// A small body in JSON, unpacked; nil if there is none.
  func read(_ request: HTTPRequest) async throws(Problem) -> [UInt8]? {
    // Nothing is nothing, packed or not; a packing that nobody knows is a mistake all the same.
    if request.body.knownLength == 0 {
      _ = try PostBody.isPacked(request.head)
      return nil
    }
    var memory = MemoryReservation(context, request.origin)
    defer { memory.giveBack() }
    let text = try await PostBody(request, context).read(&memory)
    if text.isEmpty { return nil }
    try Self.check(request.head, isOneOf: ["application/json"])
    return text
  }

  /// Checks that a request's body is of an accepted type; parameters make no difference.
  static func check(
    _ head: RequestHead, isOneOf types: [StaticString]
  ) throws(Problem) {
    let accepted = types.map { "\($0)" }
    guard let value = head.value(of: "Content-Type") else {
      throw .unsupportedMediaType(nil, accepted: accepted)
    }
    let name = FieldSyntax.trimmingWhitespace(value.prefix { $0 != UInt8(ascii: ";") })
    guard !types.contains(where: { FieldSyntax.equals(name, $0) }) else { return }
    throw .unsupportedMediaType(String(decoding: value, as: UTF8.self), accepted: accepted)
  }
}
