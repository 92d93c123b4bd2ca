import HTTPServer
import JSON
import RelayCore

/// `GET /v1/envelopes`: what is stored, oldest first, a page at a time.
struct ListEnvelopes {
  private let context: EndpointContext

  init(_ context: EndpointContext) { self.context = context }

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    let parameters = try ListParameters(request.head.query, from: context.caller.client)
    var pieces = ListingPieces(parameters, in: context)
    var begin: [UInt8] = []
    // Most are over by then, and go out with their length: whole, also to a peer that has ended
    // its side of the connection, for which this task is cancelled.
    while begin.count < ListingPieces.bytesPerPiece {
      guard let piece = try await next(&pieces) else { return .json(begin) }
      begin += piece
    }
    return stream(begin, pieces)
  }

  private func next(_ pieces: inout ListingPieces) async throws(Problem) -> [UInt8]? {
    do throws(StoreError) {
      return try await pieces.next()
    } catch {
      throw context.problem(error)
    }
  }

  /// A long list: each piece is made when the one before has gone out.
  ///
  /// If the store fails by then, the connection is cut, so that nobody takes a part for the whole.
  private func stream(_ begin: [UInt8], _ pieces: ListingPieces) -> HTTPResponse {
    var response = HTTPResponse.json([])
    response.body = .stream { writer in
      try await writer.write(begin)
      var pieces = pieces
      while let piece = try await next(&pieces) {
        try Task.checkCancellation()
        try await writer.write(piece)
      }
    }
    return response
  }
}
