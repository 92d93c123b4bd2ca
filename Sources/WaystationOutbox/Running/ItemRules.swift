import RelayCore

/// Holds what an app hands over to what can be sent.
enum ItemRules {
  /// What an app has handed over cannot be used; in words.
  struct Fault: Error, CustomStringConvertible {
    let description: String
  }

  /// The most bytes of a name: of a key, a lane, a tag, a client.
  static let nameBytesMax = 128

  /// Checks a name.
  static func check(_ name: String, _ what: String) throws(Fault) {
    let utf8 = name.utf8
    guard !utf8.isEmpty, utf8.count <= nameBytesMax, utf8.allSatisfy({ (0x21...0x7E).contains($0) })
    else {
      throw Fault(
        description: "\(what) has to be 1 to \(nameBytesMax) visible ASCII characters")
    }
  }

  /// A request as it is kept, with its body, whose file is the outbox's own from now on.
  ///
  /// - Throws: ``Fault``, or `StoreError` if the disk does not take the body.
  static func checked(
    _ request: Request, _ settings: Settings, bodies: String
  ) throws -> (KeptRequest, NewBody) {
    let kept = try self.kept(request, settings)
    return (kept, try body(request.body, in: bodies))
  }

  /// A request as it is kept.
  static func kept(_ request: Request, _ settings: Settings) throws(Fault) -> KeptRequest {
    let method = Array(request.method.utf8)
    guard MethodSyntax.isMethod(method.span), MethodSyntax.canBeRelayed(method.span),
      !MethodSyntax.isTrace(method.span)
    else { throw Fault(description: "the method \(request.method) cannot be sent") }
    if let refusal = TargetSyntax.refusal(of: Array(request.path.utf8)[...]) {
      throw Fault(description: "the path \(refusal)")
    }
    if let upstream = request.upstream {
      guard case .relay = settings.destination else {
        throw Fault(description: "without a relay there is one upstream, so none can be named")
      }
      try check(upstream, "the upstream's name")
    }
    var headers: [HeaderLine] = []
    for (name, value) in request.headers {
      guard settings.signer == nil || name.lowercased() != ItemStatement.field.lowercased() else {
        throw Fault(description: "the header field \(name) is the signer's")
      }
      try check(header: name, value)
      headers.append(HeaderLine(name: name, value: value))
    }
    if let type = request.body.mediaType, !headers.contains(where: { $0.isNamed("content-type") }) {
      try check(header: "Content-Type", type)
      headers.append(HeaderLine(name: "Content-Type", value: type))
    }
    return KeptRequest(
      upstream: request.upstream, method: request.method, path: request.path, headers: headers)
  }

  private static func check(header name: String, _ value: String) throws(Fault) {
    var block = HeaderBlock()
    let lower = name.lowercased()
    guard block.append(name: name, value: value) else {
      throw Fault(description: "the header field \(name) cannot be sent")
    }
    guard !ConnectionField.isWrittenByRelay(Array(lower.utf8)[...]),
      !lower.hasPrefix("waystation-")
    else { throw Fault(description: "the header field \(name) is not the sender's") }
  }

  private static func body(_ body: Body, in folder: String) throws(StoreError) -> NewBody {
    switch body {
    case .none: return .none
    case .bytes(let bytes, _):
      if bytes.isEmpty { return .none }
      guard bytes.count >= BodyFile.bytesMin else { return .bytes(bytes) }
      return try BodyFile.store(bytes, in: folder)
    case .file(let path, _, let mode):
      return try BodyFile.take(path, mode, in: folder)
    }
  }
}

extension Body {
  /// The media type; nil if there is no body.
  var mediaType: String? {
    switch self {
    case .none: nil
    case .bytes(_, let type), .file(_, let type, _): type
    }
  }
}

extension Body {
  /// Ends the move of a file that is kept under a name of the outbox's own by now.
  func endMove() {
    if case .file(let path, _, .move) = self { Platform.remove(path) }
  }
}

extension HeaderLine {
  /// Whether it has this name, which is in lower case.
  func isNamed(_ name: String) -> Bool { self.name.lowercased() == name }
}
