import HTTPServer
import RelayCore
import RelayServer
import Testing

@Suite("Credentials of a request")
struct CredentialsTests {
  private static let token = "wso_" + String(repeating: "5a", count: 32)

  private func shown(
    _ fields: String..., isRelayed: Bool = false, isOpen: Bool = false
  ) throws -> Credentials.Shown {
    let text = (["GET / HTTP/1.1", "Host: r"] + fields).joined(separator: "\r\n") + "\r\n\r\n"
    let request = try #require(HTTPRequest(parsing: Array(text.utf8)))
    return try Credentials(request.head, isRelayed: isRelayed, isOpen: isOpen).shown
  }

  private let good = AccessToken(parsing: Array(Self.token.utf8)[...]).map(Credentials.Shown.token)

  @Test("a token stands in either field, behind a scheme whose letters' case does not count")
  func either() throws {
    for field in ["Authorization", "authorization", "Waystation-Authorization"] {
      for scheme in ["Bearer", "bearer", "BEARER", "Bearer  "] {
        #expect(try shown("\(field): \(scheme) \(Self.token)") == good)
      }
    }
    #expect(try shown() == .nothing)
  }

  @Test("what is of another kind is the upstream's business on its route, and nobody's elsewhere")
  func others() throws {
    #expect(try shown("Authorization: Basic abc") == .nothing)
    #expect(try shown("Authorization: Bearer abc") == .nonsense)
    #expect(try shown("Authorization: Bearer abc", isOpen: true) == .nothing)
    #expect(try shown("Authorization: Bearer abc", isRelayed: true) == .nothing)
    #expect(try shown("Authorization: Bearer wst_abc", isRelayed: true) == .nonsense)
    #expect(try shown("Authorization: Bearer wst_abc", isOpen: true) == .nonsense)
    #expect(try shown("Waystation-Authorization: Basic abc", isOpen: true) == .nonsense)
    #expect(try shown("Authorization: \(Self.token)") == .nothing)
  }

  @Test("the relay's own field beats the common one, and neither may be there twice")
  func both() throws {
    #expect(
      try shown("Authorization: Bearer abc", "Waystation-Authorization: Bearer \(Self.token)")
        == good)
    for field in ["Authorization", "Waystation-Authorization"] {
      #expect(throws: Problem.self) {
        try shown("\(field): Bearer \(Self.token)", "\(field): Bearer \(Self.token)")
      }
    }
  }
}
