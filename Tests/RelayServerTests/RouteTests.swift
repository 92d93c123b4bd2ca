import Foundation
import HTTPServer
import RelayCore
import Testing

@testable import RelayServer

@Suite("Routes")
struct RouteTests {
  @Test("openapi.yaml has exactly the routes that the relay has")
  func contract() throws {
    let served = Route.all.map { route in
      let path = route.pattern.replacingOccurrences(of: "…", with: "")
      return "\(route.method?.description.lowercased() ?? "any") \(path)"
    }
    // A relayed request without a path is the same call, with an empty one.
    let relayed: Set = ["any /v1/relay/{upstream}", "any /v1/relay/{upstream}/{path}"]
    #expect(Set(served).isSuperset(of: relayed))
    let written = try Self.contractRoutes()
    let writtenRelayed = written.filter { $0.hasSuffix("/v1/relay/{upstream}/{path}") }
    #expect(!writtenRelayed.isEmpty)
    for route in Set(served).subtracting(relayed).subtracting(written).sorted() {
      Issue.record("openapi.yaml lacks \(route)")
    }
    for route in written.subtracting(writtenRelayed).subtracting(served).sorted() {
      Issue.record("openapi.yaml has \(route), and the relay has no such route")
    }
    #expect(Set(served).count == served.count, "no route stands twice")
  }

  @Test("what is written down of a call names only what its path names")
  func subjects() {
    for route in Route.all {
      guard let subject = route.act?.subject else { continue }
      for segment in subject.split(separator: "/") where segment.hasPrefix("{") {
        #expect(route.pattern.contains(segment), "\(route.pattern)")
      }
    }
  }

  @Test("the protocol's table says of every route who may use it, as its record does")
  func callers() throws {
    let served = Route.all.map { route in
      let path = route.pattern.replacingOccurrences(of: "…", with: "")
      return Self.line(
        route.method.map { "\($0) \(path)" } ?? path, Self.words(of: route.access))
    }
    let rows = try Documents.table("route | a client", in: "docs/protocol.md")
    let written = rows.flatMap { row in
      Documents.quoted(in: row[0]).map { Self.line($0, Array(row[1...])) }
    }
    for line in Set(served).subtracting(written).sorted() {
      Issue.record("docs/protocol.md lacks: \(line)")
    }
    for line in Set(written).subtracting(served).sorted() {
      Issue.record("docs/protocol.md has: \(line)")
    }
    #expect(written.count == Set(written).count, "no route stands twice")
  }

  private static func line(_ route: String, _ cells: [String]) -> String {
    "\(route) | \(cells.joined(separator: " | "))"
  }

  /// A record's callers in the words of the table: a client, an operator who may look, one who may
  /// steer.
  private static func words(of access: AccessRules.Row) -> [String] {
    func cell(_ word: String, _ may: Bool) -> String {
      may ? word + (access.needsCredential ? ", by a credential" : "") : ""
    }
    if access == .everybody { return ["yes", "yes", "yes"] }
    return [
      cell("its own", access.isForDevices),
      cell("yes", access.isForOperators && access.role == .read),
      cell("yes", access.isForOperators),
    ]
  }

  /// The paths and methods of `openapi.yaml`.
  private static func contractRoutes() throws -> Set<String> {
    let root = #filePath.components(separatedBy: "/Tests/")[0]
    let text = try String(contentsOfFile: root + "/openapi.yaml", encoding: .utf8)
    var routes: Set<String> = []
    var path: String?
    for line in text.split(separator: "\n", omittingEmptySubsequences: true) {
      if !line.hasPrefix("  ") { path = nil }
      if line.hasPrefix("  /") { path = line.dropFirst(2).replacingOccurrences(of: ":", with: "") }
      for method in ["get", "put", "post", "delete", "patch", "head", "options"] {
        if let path, line == "    \(method):" { routes.insert("\(method) \(path)") }
      }
    }
    return routes
  }
}
