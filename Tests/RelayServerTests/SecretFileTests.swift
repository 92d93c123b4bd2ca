import RelayServer
import Testing

@Suite("Secrets in files")
struct SecretFileTests {
  /// Loads a configuration whose only upstream sets one header field, with files by their paths.
  private func load(
    _ value: String, files: [String: [UInt8]]
  ) -> Result<Configuration, ConfigurationErrors> {
    let text = """
      {"upstreams": {"a": {"url": "http://a", "headers": {"X": "\(value)"}}}}
      """
    return Configuration.load(
      file: ("waystation.json", Array(text.utf8)), environment: ["NAME": "variable"],
      readSecret: { (path) throws(SecretFile.Fault) in
        guard let bytes = files[path] else { throw SecretFile.Fault("cannot be read: gone") }
        return bytes
      })
  }

  private func header(_ bytes: [UInt8]) -> String? {
    try? load("${file:/s}", files: ["/s": bytes]).get().upstreams[0].headers[0].value.value
  }

  private func problem(_ bytes: [UInt8]) -> String? {
    guard case .failure(let errors) = load("${file:/s}", files: ["/s": bytes]) else { return nil }
    return errors.problems.map(\.description).joined(separator: "\n")
  }

  @Test("a file's text stands where it is named, beside variables and other files")
  func several() throws {
    let loaded = load(
      "a ${file:/run/b} ${NAME} $${file:/c} ${file:/d}",
      files: ["/run/b": Array("b\n".utf8), "/d": Array("d".utf8)])
    let upstream = try loaded.get().upstreams[0]
    #expect(upstream.headers[0].value.value == "a b variable ${file:/c} d")
    #expect(upstream.hiddenTexts == ["b", "variable", "d"], "all three are kept out of sight")
  }

  @Test("one line end at the end is left out, and no more")
  func lineEnds() {
    for text in ["token", "token\n", "token\r\n"] { #expect(header(Array(text.utf8)) == "token") }
    for text in ["token\n\n", "to\nken", "token\r", "to\u{0}ken", "\u{7F}", "\u{85}", "to\tken"] {
      #expect(
        problem(Array(text.utf8))?.hasPrefix(
          "upstreams.a.headers.X: the file /s holds a control character") == true, "\(text)")
    }
  }

  @Test("what can be no secret is refused with key, path and what to do, and is not shown")
  func refused() {
    let start = "upstreams.a.headers.X: the file /s"
    #expect(problem([])?.hasPrefix("\(start) is empty; write the secret into it") == true)
    let marked: [UInt8] = [0xEF, 0xBB, 0xBF] + Array("s3cret".utf8)
    #expect(problem(marked)?.hasPrefix("\(start) begins with a byte order mark") == true)
    #expect(problem([0x0A])?.hasPrefix("\(start) is empty") == true)
    #expect(problem(Array("s3cret".utf8) + [0xFF])?.hasPrefix("\(start) is not UTF-8") == true)
    let most = [UInt8](repeating: UInt8(ascii: "x"), count: SecretFile.bytesMax)
    #expect(header(most)?.utf8.count == SecretFile.bytesMax)
    #expect(problem(most + [0x0A])?.hasPrefix("\(start) has more than 65536 bytes") == true)
    for bytes in [Array("s3cret\n\n".utf8), Array("s3cret".utf8) + [0xC0]] {
      #expect(problem(bytes)?.contains("s3cret") == false)
    }
  }

  @Test("a path has to be absolute")
  func relative() {
    for path in ["", "secret", "./secret", "/a\\u0000b"] {
      guard case .failure(let errors) = load("${file:\(path)}", files: [:]) else {
        Issue.record("\(path) was taken")
        continue
      }
      #expect(errors.problems[0].reason.hasPrefix("expected an absolute path in \"${file:…}\""))
    }
  }

  @Test("neither a variable's name nor a file is refused with what may stand there")
  func neither() {
    for name in ["1", "", "A-B", "FILE:/s"] {
      guard case .failure(let errors) = load("${\(name)}", files: [:]) else {
        Issue.record("\(name) was taken")
        continue
      }
      #expect(
        errors.problems.map(\.reason) == [
          "expected the name of an environment variable in \"${…}\", or \"file:\" and a path"
        ])
    }
  }

  @Test("everything that is missing is told at once, also within one value and one list")
  func all() {
    let text = """
      {"upstreams": {"a": {"url": "http://a/${A}", "headers": {"X": "${B} ${file:/c}"},
        "signing": {"keys": ["${file:/d}", "${file:/e}"]}}},
       "access": {"clientKeys": {"k": {"secrets": ["${F}", "${file:/g}"], "clients": "*"}}}}
      """
    let found = problems(text)
    for name in ["A", "B", "F"] {
      #expect(found.contains { $0.contains("the environment variable \(name) is not set") })
    }
    for path in ["/c", "/d", "/e", "/g"] {
      #expect(found.contains { $0.contains("the file \(path) cannot be read") })
    }
    #expect(found.count == 7, "\(found)")
  }
}
