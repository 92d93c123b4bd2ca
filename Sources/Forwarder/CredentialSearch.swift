/// Searches for several texts at once, in a time that grows with what is searched alone.
///
/// What is searched may have been made so that it nearly holds the texts everywhere. So each byte
/// is looked at once for all of them (Aho and Corasick, Communications of the ACM 18, 1975).
struct CredentialSearch: Sendable {
  /// How many of the first bytes of some text stand before a place, as a number of its own.
  typealias State = Int

  /// What stands before a place if no text begins there.
  static let start: State = 0

  /// The first bytes of one or more of the texts.
  private struct Node {
    /// The last of them.
    var byte: UInt8
    var count: Int
    /// The first of those that are one byte longer, and the next of those that are as long; 0 if
    /// there is none.
    var child = 0
    var sibling = 0
    /// The longest end of these that is the beginning of a text.
    var fallback = start
    /// The length of the longest text that ends with these; 0 if none does.
    var found = 0
  }

  private var nodes = [Node(byte: 0, count: 0)]
  /// The state after each byte at the start.
  private var first = [State](repeating: start, count: 256)
  /// The length of the longest text.
  let longest: Int

  init(_ texts: [[UInt8]]) {
    longest = texts.map(\.count).max() ?? 0
    for text in texts where !text.isEmpty { insert(text) }
    for byte in first.indices { first[byte] = child(of: Self.start, UInt8(byte)) ?? Self.start }
    link()
  }

  /// Whether it searches for anything.
  var isEmpty: Bool { nodes.count == 1 }

  /// The state behind one more byte.
  func next(_ state: State, _ byte: UInt8) -> State {
    var state = state
    while state != Self.start {
      if let next = child(of: state, byte) { return next }
      state = nodes[state].fallback
    }
    return first[Int(byte)]
  }

  /// The length of the longest text that ends here; 0 if none does.
  func found(_ state: State) -> Int { nodes[state].found }

  /// The number of the first bytes of some text that stand here.
  func count(_ state: State) -> Int { nodes[state].count }

  private func child(of state: State, _ byte: UInt8) -> State? {
    var child = nodes[state].child
    while child != 0, nodes[child].byte != byte { child = nodes[child].sibling }
    return child == 0 ? nil : child
  }

  private mutating func insert(_ text: [UInt8]) {
    var state = Self.start
    for byte in text {
      if let next = child(of: state, byte) {
        state = next
      } else {
        nodes.append(
          Node(byte: byte, count: nodes[state].count + 1, sibling: nodes[state].child))
        nodes[state].child = nodes.count - 1
        state = nodes.count - 1
      }
    }
    nodes[state].found = text.count
  }

  /// Finds the fallbacks, the shorter ones first.
  private mutating func link() {
    var line = children(of: Self.start)
    var place = 0
    while place < line.count {
      let state = line[place]
      place += 1
      for child in children(of: state) {
        let fallback = next(nodes[state].fallback, nodes[child].byte)
        nodes[child].fallback = fallback
        nodes[child].found = max(nodes[child].found, nodes[fallback].found)
        line.append(child)
      }
    }
  }

  private func children(of state: State) -> [State] {
    var children: [State] = []
    var child = nodes[state].child
    while child != 0 {
      children.append(child)
      child = nodes[child].sibling
    }
    return children
  }
}
