extension JSONPointer {
  /// The reference tokens of a pointer, their escapes resolved (RFC 6901 section 4).
  ///
  /// nil if the text is no pointer.
  ///
  /// The empty pointer has no tokens: it leads to the whole document.
  package static func tokens(of pointer: String) -> [String]? {
    guard !pointer.isEmpty else { return [] }
    guard pointer.utf8.first == UInt8(ascii: "/") else { return nil }
    var tokens: [String] = []
    for part in pointer.utf8.dropFirst().split(
      separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    {
      guard let token = unescape(part) else { return nil }
      tokens.append(token)
    }
    return tokens
  }

  /// Resolves the escapes of ``escape(_:)``; nil where a `~` is followed by neither 0 nor 1.
  private static func unescape(_ part: some Sequence<UInt8>) -> String? {
    var bytes: [UInt8] = []
    var isEscaped = false
    for byte in part {
      switch (isEscaped, byte) {
      case (true, UInt8(ascii: "0")): bytes.append(UInt8(ascii: "~"))
      case (true, UInt8(ascii: "1")): bytes.append(UInt8(ascii: "/"))
      case (true, _): return nil
      case (false, UInt8(ascii: "~")): break
      case (false, _): bytes.append(byte)
      }
      isEscaped = !isEscaped && byte == UInt8(ascii: "~")
    }
    return isEscaped ? nil : String(decoding: bytes, as: UTF8.self)
  }
}

extension JSONValue {
  /// The value that a pointer leads to from here (RFC 6901 section 4); nil if there is none.
  ///
  /// - Parameter tokens: The tokens that ``JSONPointer/tokens(of:)`` returned.
  package func value(at tokens: [String]) -> JSONValue? {
    var value = self
    for token in tokens {
      guard let next = value.child(token) else { return nil }
      value = next
    }
    return value
  }

  private func child(_ token: String) -> JSONValue? {
    switch kind {
    case .object: (try? object())?.first { $0.name.string == token }?.value
    case .array:
      Self.index(token).flatMap { index in (try? array())?.dropFirst(index).first { _ in true } }
    case .string, .number, .boolean, .null: nil
    }
  }

  /// An array's index: digits without a leading zero.
  private static func index(_ token: String) -> Int? {
    guard token == "0" || token.utf8.first != UInt8(ascii: "0"),
      token.utf8.allSatisfy({ $0.isDigit })
    else { return nil }
    return Int(token)
  }
}
