import RelayServer
import Testing

@Suite("Listeners that the file says more of")
struct ListenersKeptTests {
  @Test("an address does not take the place of listeners of which the file says more")
  func listenersKept() {
    let upstreams = #""upstreams": {"a": {"url": "http://a"}}"#
    let tls = #"{"certificate": "c.pem", "key": "k.pem"}"#
    var flags = ConfigurationFlags()
    flags.listen = ["127.0.0.1:0"]
    for (listener, term) in [
      (#"{"address": "127.0.0.1:8443", "tls": \#(tls)}"#, "tls"),
      (#"{"address": "127.0.0.1:8443", "for": "devices"}"#, "for"),
    ] {
      let file = #"{"listen": ["127.0.0.1:1", \#(listener)], \#(upstreams)}"#
      func problem(_ key: String) -> String {
        "\(key): would take the place of the file's \"listen\", where 127.0.0.1:8443 has"
          + " \"\(term)\", which an address alone cannot say; leave \(key) out, or take"
          + " \"listen\" out of the file"
      }
      #expect(problems(file, flags: flags) == [problem("--listen")])
      #expect(
        problems(file, environment: ["WAYSTATION_LISTEN": "127.0.0.1:0"])
          == [problem("WAYSTATION_LISTEN")])
      #expect(problems(file) == [])
    }
    let plain = #"{"listen": {"unix": "/run/a.sock", "mode": "0660"}, \#(upstreams)}"#
    #expect(problems(plain, flags: flags) == [])
  }
}
