import RelayCore

/// Finds the target for a method and a path.
///
/// A pattern is a path whose segments are literal, `{name}` (one segment, not empty) or, at the
/// end, `{name…}` (the rest of the path with its slashes, possibly empty). Paths are matched byte
/// for byte; captures are decoded only on request. Of the patterns that match a path, the one added
/// first owns it, whatever the method: add literal patterns before captures.
package struct Router<Target: Sendable>: Sendable {
  /// The result for a request.
  package enum Match: Sendable {
    /// A target, and the captures of its pattern.
    case found(Target, PathCaptures)
    /// No pattern matches the path (404).
    case notFound
    /// The path has other methods only (405 with this `Allow`).
    case methodNotAllowed(allow: String)
    /// The request was OPTIONS, to which the router responds by itself (204 with this `Allow`).
    case options(allow: String)
  }

  /// The targets, by the routes' numbers.
  package private(set) var targets: [Target] = []
  /// The routes.
  package private(set) var table = RouteTable()

  /// Makes a router without routes.
  package init() {}

  /// Adds a route for one method; a route for GET serves HEAD as well.
  package mutating func add(_ method: HTTPMethod, _ pattern: String, _ target: Target) {
    table.add(method, pattern)
    targets.append(target)
  }

  /// Adds a route for every method, OPTIONS included.
  package mutating func addAny(_ pattern: String, _ target: Target) {
    table.add(nil, pattern)
    targets.append(target)
  }

  /// Finds the target for a method and a path; `OPTIONS *` matches too.
  ///
  /// All generic code is in this function, so that it is compiled with its callers.
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
  /// The result for a request; see ``Router/Match``.
  package enum Match: Sendable {
    /// The number of a route, and the captures of its pattern.
    case found(Int, PathCaptures)
    /// No pattern matches the path.
    case notFound
    /// The path has other methods only.
    case methodNotAllowed(allow: String)
    /// The request was OPTIONS.
    case options(allow: String)
  }

  private struct Route: Sendable {
    let method: HTTPMethod?
    let pattern: PathPattern
    /// The pattern as written: routes with the same text are the methods of one resource.
    let text: String
  }

  private var routes: [Route] = []

  init() {}

  /// Adds a route for one method, or for every one.
  mutating func add(_ method: HTTPMethod?, _ pattern: String) {
    routes.append(Route(method: method, pattern: PathPattern(pattern), text: pattern))
  }

  /// Finds the route for a method and a path.
  package func match(_ method: HTTPMethod, path: ArraySlice<UInt8>) -> Match {
    if path.count == 1, path.first == 0x2A { return .options(allow: allow(routes)) }
    var owner: String?
    // By index: most routes are passed over, and are not worth a copy.
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

  /// The methods of some routes, each once, for `Allow`.
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

/// A parsed path pattern.
struct PathPattern: Sendable {
  private enum Segment: Sendable {
    case literal([UInt8])
    case capture(String)
  }

  private var segments: [Segment] = []
  private var rest: String?
  /// The whole path, if nothing in it is captured.
  private var literal: [UInt8]?

  /// Parses a pattern; traps on an invalid one, since patterns are part of the program.
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

/// The values of a pattern's names in one path.
package struct PathCaptures: Sendable {
  fileprivate(set) var items: [(name: String, value: ArraySlice<UInt8>)] = []

  /// A capture, byte for byte as in the path; nil if the pattern has no such name.
  package func raw(_ name: String) -> ArraySlice<UInt8>? {
    items.first { $0.name == name }?.value
  }

  /// A capture with its percent-encoding decoded; nil if that is broken or not UTF-8.
  package func decoded(_ name: String) -> String? {
    raw(name).flatMap { PercentEncoding.decode($0) }
  }
}
