/// Finds what answers a method and a path.
///
/// A pattern is a path whose segments are literal, `{name}` (one segment, not empty) or, at the
/// end, `{name…}` (all that is left, slashes and all, maybe nothing). Paths are matched byte for
/// byte as they came; captures are decoded only when somebody asks. Of the patterns that fit a
/// path, the one added first owns it, whatever the method: add literal ones before captures.
package struct Router<Target: Sendable>: Sendable {
  /// What a router says to a request.
  package enum Match: Sendable {
    /// A target, and what its pattern's names stand for.
    case found(Target, PathCaptures)
    /// No pattern fits the path (404).
    case notFound
    /// The path exists, for other methods (405 with this `Allow`).
    case methodNotAllowed(allow: String)
    /// The request was OPTIONS, which the router answers by itself (204 with this `Allow`).
    case options(allow: String)
  }

  /// What is found, by the routes' numbers.
  package private(set) var targets: [Target] = []
  /// The routes.
  package private(set) var table = RouteTable()

  /// A router that finds nothing yet.
  package init() {}

  /// Adds a route for one method; a route for GET answers HEAD as well.
  package mutating func add(_ method: HTTPMethod, _ pattern: String, _ target: Target) {
    table.add(method, pattern)
    targets.append(target)
  }

  /// Adds a route for every method, OPTIONS included.
  package mutating func addAny(_ pattern: String, _ target: Target) {
    table.add(nil, pattern)
    targets.append(target)
  }

  /// The answer to `OPTIONS *`, and to the methods of a path.
  ///
  /// All that is generic about it stands here, to be compiled with whoever calls it.
  @inlinable
  package func match(_ method: HTTPMethod, path: ArraySlice<UInt8>) -> Match {
    switch table.match(method, path: path) {
    case .found(let index, let captures): .found(targets[index], captures)
    case .notFound: .notFound
    case .methodNotAllowed(let allow): .methodNotAllowed(allow: allow)
    case .options(let allow): .options(allow: allow)
    }
  }
}

/// The routes of a router, by their numbers.
package struct RouteTable: Sendable {
  /// What it says to a request; see ``Router/Match``.
  package enum Match: Sendable {
    /// The number of a route, and what its pattern's names stand for.
    case found(Int, PathCaptures)
    /// No pattern fits the path.
    case notFound
    /// The path exists, for other methods.
    case methodNotAllowed(allow: String)
    /// The request was OPTIONS.
    case options(allow: String)
  }

  private struct Route: Sendable {
    let method: HTTPMethod?
    let pattern: PathPattern
    /// The pattern as it was written: routes with the same one are the methods of one resource.
    let text: String
  }

  private var routes: [Route] = []

  init() {}

  /// Adds a route for one method, or for every one.
  mutating func add(_ method: HTTPMethod?, _ pattern: String) {
    routes.append(Route(method: method, pattern: PathPattern(pattern), text: pattern))
  }

  /// The answer to a method and a path.
  package func match(_ method: HTTPMethod, path: ArraySlice<UInt8>) -> Match {
    if path.count == 1, path.first == 0x2A { return .options(allow: allow(routes)) }
    var owner: String?
    // By their numbers: most routes are passed over, and none of them is worth a copy.
    for index in routes.indices where owner == nil || owner == routes[index].text {
      guard let captures = routes[index].pattern.match(path) else { continue }
      if Self.serves(routes[index].method, method) { return .found(index, captures) }
      owner = routes[index].text
    }
    guard let owner else { return .notFound }
    let others = routes.filter { $0.text == owner }
    if method == .options { return .options(allow: allow(others)) }
    return .methodNotAllowed(allow: allow(others))
  }

  private static func serves(_ offered: HTTPMethod?, _ asked: HTTPMethod) -> Bool {
    guard let offered else { return true }
    return offered == asked || offered == .get && asked == .head
  }

  /// The methods of some routes, each once, as `Allow` lists them.
  private func allow(_ routes: [Route]) -> String {
    var names: [String] = []
    for method in routes.compactMap(\.method) {
      for name in method == .get ? ["GET", "HEAD"] : [method.description]
      where !names.contains(name) {
        names.append(name)
      }
    }
    names.append("OPTIONS")
    return names.joined(separator: ", ")
  }
}

/// A path pattern, taken apart.
struct PathPattern: Sendable {
  private enum Segment: Sendable {
    case literal([UInt8])
    case capture(String)
  }

  private var segments: [Segment] = []
  private var rest: String?
  /// The whole path, where nothing in it is captured.
  private var literal: [UInt8]?

  /// Traps on a pattern that makes no sense: patterns are part of the program.
  init(_ text: String) {
    precondition(text.first == "/", "a pattern begins with a slash: \(text)")
    for part in text.dropFirst().split(separator: "/", omittingEmptySubsequences: false) {
      precondition(rest == nil, "nothing comes after {name…}: \(text)")
      guard part.first == "{", part.last == "}" else {
        segments.append(.literal(Array(part.utf8)))
        continue
      }
      let name = part.dropFirst().dropLast()
      if name.last == "…" {
        rest = String(name.dropLast())
      } else {
        segments.append(.capture(String(name)))
      }
    }
    if !text.contains("{") { literal = Array(text.utf8) }
  }

  func match(_ path: ArraySlice<UInt8>) -> PathCaptures? {
    if let literal { return path == literal[...] ? PathCaptures() : nil }
    guard path.first == 0x2F else { return nil }
    var captures = PathCaptures()
    var start = path.startIndex + 1
    for (index, segment) in segments.enumerated() {
      let end = path[start...].firstIndex(of: 0x2F) ?? path.endIndex
      switch segment {
      case .literal(let literal):
        guard path[start..<end].elementsEqual(literal) else { return nil }
      case .capture(let name):
        guard start < end else { return nil }
        captures.items.append((name, path[start..<end]))
      }
      let isLast = index == segments.count - 1 && rest == nil
      if isLast { return end == path.endIndex ? captures : nil }
      guard end < path.endIndex else { return nil }
      start = end + 1
    }
    if let rest { captures.items.append((rest, path[start...])) }
    return captures
  }
}

/// What the names in a pattern stand for in one path.
package struct PathCaptures: Sendable {
  fileprivate(set) var items: [(name: String, value: ArraySlice<UInt8>)] = []

  /// A capture, byte for byte as it stands in the path; nil where the pattern has no such name.
  package func raw(_ name: String) -> ArraySlice<UInt8>? {
    items.first { $0.name == name }?.value
  }

  /// A capture with its percent-encoding undone; nil where that is broken, or not UTF-8.
  package func decoded(_ name: String) -> String? {
    raw(name).flatMap { PercentEncoding.decode($0) }
  }
}
