import HTTPServer
import JSON
import RelayCore

/// `POST /v1/store/rescue`: write what the store holds to a new place, while only this process can.
struct RescueStore {
  private let context: EndpointContext

  init(_ context: EndpointContext) { self.context = context }

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    let folder = try RescueTerms(try await CommandBody(context).read(request)).folder
    // A relay whose store is in its place writes nowhere else, whoever asks.
    guard let store = context.relay.embedded, store.displacement != nil else {
      throw .storeInPlace()
    }
    return .freshJSON(try await rescue(store, to: folder))
  }

  private func rescue(
    _ store: any EmbeddedStore, to folder: String
  ) async throws(Problem) -> [UInt8] {
    let log = context.relay.log
    let who = context.caller.publicName ?? Auditor.nobody
    do throws(StoreError) {
      let report = try await store.rescue(to: folder)
      log.warning(
        "what the store holds was written to a new place", ("folder", .text(folder)),
        ("who", .text(who)), ("missingBodies", .integer(Int64(report.missingBodies))))
      return Self.json(report, folder)
    } catch {
      log.error(
        "what the store holds could not be written to a new place", ("folder", .text(folder)),
        ("who", .text(who)), ("error", .text(error.description)))
      guard error.kind != .closed else { throw Problem(error) }
      throw .invalidField(
        "/to", "Nothing was written there that can be used: \(error.description)",
        fix: "Name another folder, in which the relay may write and there is room.")
    }
  }

  private static func json(_ report: RescueReport, _ folder: String) -> [UInt8] {
    var json = JSONWriter()
    json.object { json in
      json.member("folder", folder)
      json.member("pages", report.pages)
      json.member("bodyFiles", report.bodies)
      json.member("missingBodyFiles", report.missingBodies)
      json.member("bytes", report.bytes)
    }
    return json.finish()
  }
}
