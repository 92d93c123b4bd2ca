import RelayServer
import Testing

@Suite("Accepted types")
struct AcceptedTypesTests {
  private func read(_ fields: [String]) -> AcceptedTypes {
    AcceptedTypes(fields.map { Array($0.utf8)[...] })
  }

  @Test(
    "how much a type is liked is told by the range that names it most exactly",
    arguments: [
      ([], 1000), ([""], 1000), (["*/*"], 1000), (["text/html"], 1000), (["TEXT/HTML"], 1000),
      (["text/*;q=0.5, */*"], 500), (["*/*, text/html;q=0.2"], 200), (["text/html;q=0"], 0),
      (["application/json"], 0), (["text/plain", "text/html;Q=0.75"], 750),
      (["text/html;level=1;q=0.3"], 300), (["text/html ; q=1.000"], 1000),
      (["text/x;a=\"b, text/html;q=0.1\", text/html;q=0.9"], 900),
    ] as [([String], Int)])
  func quality(_ fields: [String], _ quality: Int) {
    #expect(read(fields).quality("text", "html") == quality)
  }

  @Test(
    "what is no media range is passed over",
    arguments: [
      "text", "/html", "text/", "text/html;q=2", "text/html;q=1.001", "text/html;q=0.1234",
      "text/html;q=", "text/html;q=.5", "text/html;q=-1", ", ,;",
    ])
  func nonsense(_ element: String) {
    #expect(read([element + ", text/plain"]).quality("text", "html") == 0)
    #expect(read(["text/html;q=0.4", element]).quality("text", "html") == 400)
  }

  @Test("only so many ranges are looked at")
  func bounded() {
    let many = Array(repeating: "a/b", count: 10_000).joined(separator: ",")
    #expect(read([many + ",text/html"]).quality("text", "html") == 0)
  }
}
