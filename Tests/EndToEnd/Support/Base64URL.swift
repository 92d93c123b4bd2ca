import Foundation

extension Data {
  /// The bytes of a text in Base64 for URLs, without padding.
  init?(base64URL text: String) {
    let standard = text.replacing("-", with: "+").replacing("_", with: "/")
    self.init(base64Encoded: standard + String(repeating: "=", count: (4 - text.count % 4) % 4))
  }
}
