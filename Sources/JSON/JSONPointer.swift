/// JSON pointers (RFC 6901): the places of values in a document.
package enum JSONPointer {
  /// A token as written in a pointer: `~` as `~0`, `/` as `~1`.
  package static func escape(_ token: String) -> String {
    guard token.utf8.contains(where: { $0 == 0x7E || $0 == 0x2F }) else { return token }
    var escaped = ""
    for character in token.unicodeScalars {
      switch character {
      case "~": escaped += "~0"
      case "/": escaped += "~1"
      default: escaped.unicodeScalars.append(character)
      }
    }
    return escaped
  }

  /// One open container on the way to the place.
  private enum Step {
    case member(nameStart: Int, nameEnd: Int)
    case element(Int)
  }

  /// The pointer to the value, or the member whose name, holds the byte at `offset`.
  ///
  /// The text need be well formed only before `offset`. Paths are computed only for errors, so that
  /// reading does not pay for them.
  static func path(
    to offset: Int, in bytes: UnsafeRawBufferPointer, from start: Int, to end: Int
  ) -> String {
    var steps: [Step?] = []
    var position = start
    // Whether a string here would be a name: right after `{`, or after `,` in an object.
    var expectsName = false
    while position < min(offset + 1, end) {
      switch bytes[position] {
      case .quote:
        let stringEnd = JSONScanner.skipString(bytes, from: position, to: end).end
        if expectsName, !steps.isEmpty {
          steps[steps.count - 1] = .member(
            nameStart: position + 1, nameEnd: max(stringEnd - 1, position + 1))
          expectsName = false
        }
        position = stringEnd
      case let opener where opener == .openBrace || opener == .openBracket:
        // The place of a container is its own, not its first child's.
        if position == offset { return pointer(steps, bytes) }
        expectsName = opener == .openBrace
        steps.append(expectsName ? nil : .element(0))
        position += 1
      case .closeBrace, .closeBracket:
        // An error at a closing bracket is about the value before it.
        if position == offset { return pointer(steps, bytes) }
        _ = steps.popLast()
        expectsName = false
        position += 1
      case .comma:
        if position == offset { return pointer(steps, bytes) }
        switch steps.last ?? nil {
        case .element(let index): steps[steps.count - 1] = .element(index + 1)
        case .member:
          steps[steps.count - 1] = nil
          expectsName = true
        case nil: break
        }
        position += 1
      default: position += 1
      }
    }
    return pointer(steps, bytes)
  }

  private static func pointer(
    _ steps: some Sequence<Step?>, _ bytes: UnsafeRawBufferPointer
  ) -> String {
    var path = ""
    for case .some(let step) in steps {
      switch step {
      case .element(let index): path += "/\(index)"
      case .member(let start, let end):
        let name = JSONText.decode(bytes, from: start, to: end)
        path += "/" + escape(String(decoding: name, as: UTF8.self))
      }
    }
    return path
  }
}
