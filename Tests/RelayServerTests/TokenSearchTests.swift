import RelayCore
import RelayServer
import Testing

@Suite("Tokens of the relay's within a field")
struct TokenSearchTests {
  private static let secret = String(repeating: "5a", count: 32)
  private static let tokens = [
    "wst_0123456789abcdef_" + secret, "wso_" + secret, "wsk_fleet.747275636b2d37." + secret,
    "wsk_a-B_9.74." + secret,
  ]

  private func isHeld(_ text: String) -> Bool { AccessToken.isHeld(in: Array(text.utf8)[...]) }

  @Test("wherever one stands it is found", arguments: tokens)
  func found(_ token: String) {
    let fields = [
      "TOKEN", "Bearer TOKEN", "bearer   TOKEN", "Bearer\tTOKEN", "Token TOKEN", "token=TOKEN",
      "Token\tTOKEN",
      "\"TOKEN\"", "Bearer \"TOKEN\"", "a, TOKEN", "TOKEN,TOKEN", "Bearer TOKEN, Basic YTpi",
      "session=1; t=TOKEN; path=/", "<https://a.example/?t=TOKEN>; rel=next", "xTOKENx", "TOKENff",
      "wst_TOKEN", "wsk_TOKEN", "wsk_fleet.TOKEN", "w TOKEN", "=?utf-8?Q?TOKEN?=",
    ]
    for field in fields {
      #expect(isHeld(field.replacing("TOKEN", with: token)), "\(field)")
      #expect(isHeld(field.replacing("TOKEN", with: token.uppercased())), "\(field), capitals")
    }
  }

  @Test(
    "one that Basic packs is found, by itself, as the name or as the password", arguments: tokens)
  func packed(_ token: String) {
    for text in [token, "\(token):", ":\(token)", "user:\(token)", "x-token:\(token)\n"] {
      let packed = Self.base64(text)
      for field in ["Basic \(packed)", "basic  \(packed)", "BASIC\t\(packed)"] {
        #expect(isHeld(field), "\(field)")
      }
      #expect(isHeld("Basic " + packed.prefix { $0 != "=" }))
      #expect(!isHeld("Digest \(packed)"))
    }
  }

  @Test(
    "what only looks like one is left alone",
    arguments: [
      "", "Bearer abc", "wst_", "wso_" + secret.dropLast(), "wst_0123456789abcdef" + secret,
      "wst_0123456789abcde_" + secret, "wst_0123456789abcdeg_" + secret, "wsk_." + secret,
      "wsk_fleet." + secret, "wsk_fleet.." + secret, "wsk_fleet.7g." + secret,
      "wsk_a b.74." + secret, "wsk_" + String(repeating: "k", count: 33) + ".74." + secret,
      "wsx_" + secret, "ws_" + secret, secret + secret, "wso_ " + secret, "w-so_" + secret,
      String(repeating: "wsk_", count: 40), String(repeating: "wst_0123456789abcdef_", count: 10),
      "Basic " + String(repeating: "!", count: 90), "Basic" + String(repeating: "=", count: 90),
      "Basic " + String(repeating: "A", count: 89),
    ])
  func others(_ text: String) {
    #expect(!isHeld(text))
  }

  private static func base64(_ text: String) -> String {
    String(decoding: Base64.encode(Array(text.utf8)), as: UTF8.self)
  }
}
