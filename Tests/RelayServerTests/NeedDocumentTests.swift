import RelayCore
import Testing

/// Whether the documents know each kind of need.
@Suite("Needs in the documents")
struct NeedDocumentTests {
  @Test("each kind of need has its section in the handbook", arguments: NeedKind.allCases)
  func page(_ kind: NeedKind) throws {
    let (path, heading) = try #require(kind.page.split("#"))
    #expect(try Documents.text(path).contains("\n## \(heading)\n"))
  }

  @Test("the contract lists each kind of need, and none that there is not")
  func contract() throws {
    let text = try Documents.text("openapi.yaml")
    let schema = try #require(text.split("\n    Need:\n")?.1.split("\n        severity:")?.0)
    let listed = schema.matches(of: #/\n +- ([a-z-]+)/#).map { String($0.1) }
    #expect(listed == NeedKind.allCases.map(\.rawValue))
  }
}

extension String {
  /// What stands before and behind the first place of a separator; nil if there is none.
  fileprivate func split(_ separator: String) -> (String, String)? {
    guard let range = firstRange(of: separator) else { return nil }
    return (String(self[..<range.lowerBound]), String(self[range.upperBound...]))
  }
}
