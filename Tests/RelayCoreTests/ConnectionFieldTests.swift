import RelayCore
import Testing

@Suite("Fields that end at a relay")
struct ConnectionFieldTests {
  @Test("those of RFC 9110 section 7.6.1 do, in any case, and no others")
  func list() {
    let ending = [
      "TE", "Trailer", "Upgrade", "Connection", "keep-alive", "PROXY-CONNECTION",
      "Transfer-Encoding", "proxy-authenticate", "Proxy-Authorization",
    ]
    for name in ending { #expect(ConnectionField.isOne(Array(name.utf8)[...]), "\(name)") }
    for name in ["", "T", "Trailers", "Connections", "Via", "Host", "Keep_Alive"] {
      #expect(!ConnectionField.isOne(Array(name.utf8)[...]), "\(name)")
    }
  }

  @Test("a Connection field lists names, with blanks around them")
  func names() {
    let names = ConnectionField.names(in: Array("close, X-Hop ,,\tA".utf8)[...])
    #expect(names.map { String(decoding: $0, as: UTF8.self) } == ["close", "X-Hop", "A"])
  }
}
