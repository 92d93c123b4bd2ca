import Foundation

/// A line that a gateway of the oracle is given.
struct GatewayLine: Hashable, Sendable, CustomStringConvertible {
  /// The gateway's number.
  let gateway: Int
  /// Its own number, from 0.
  let number: Int

  var description: String { "line \(number) of gateway \(gateway)" }

  /// The path under which a gateway posts.
  static func path(of gateway: Int) -> String { "/gateway-\(gateway)" }

  init(gateway: Int, number: Int) {
    self.gateway = gateway
    self.number = number
  }

  /// The line that a request has brought; nil if it is none.
  init?(_ request: WireRequest) {
    guard request.target.hasPrefix("/gateway-"),
      let gateway = Int(request.target.dropFirst("/gateway-".count)),
      let number = (try? request.message.json())?["reading"] as? Int
    else { return nil }
    self.init(gateway: gateway, number: number)
  }

  /// What it says.
  ///
  /// Most are short. Some are so long that their bodies lie in files, and one is uploaded.
  var text: String {
    let beginning = "{\"reading\": \(number), \"of\": \(gateway), \"more\": \""
    let isLong = number % 89 == 40
    let size = number == 130 ? Self.uploadBytes : isLong ? 70_000 : 60 + number * 37 % 300
    let rest = max(0, size - beginning.utf8.count - 2)
    return beginning + String(repeating: "\(number % 10)", count: rest) + "\"}"
  }

  /// The most that a gateway takes, and the least that the library uploads.
  private static let uploadBytes = 1 << 20
}
