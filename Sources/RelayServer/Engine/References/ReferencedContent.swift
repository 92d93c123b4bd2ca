import RelayCore

/// An envelope's request with its references found: in its path, its header fields and its body.
package struct ReferencedContent {
  private let content: EnvelopeContent
  private let target: ReferenceTemplate
  private let headers: [(name: ArraySlice<UInt8>, value: ReferenceTemplate)]
  /// nil for a body that is no text, which stays as it is.
  private let body: ReferenceTemplate?

  /// All references, in order, as often as they stand there.
  package let references: [Reference]

  /// Finds the references, and checks that the request could be sent with them filled.
  ///
  /// - Parameter bodyBytesMax: The most bytes of a body that is looked through; nil for any number,
  ///   of one that was accepted.
  package init(_ content: EnvelopeContent, bodyBytesMax: Int? = nil) throws(ReferenceFault) {
    self.content = content
    target = try Self.within(.path) { () throws(ReferenceFault) in
      try Self.template(ofTarget: content.target)
    }
    var headers: [(name: ArraySlice<UInt8>, value: ReferenceTemplate)] = []
    for field in content.headers {
      let place = ReferenceFault.Place.header(String(decoding: field.name, as: UTF8.self))
      let value = try Self.within(place) { () throws(ReferenceFault) in
        try ReferenceTemplate(Array(field.value), .plain)
      }
      headers.append((field.name, value))
    }
    self.headers = headers
    body = try Self.template(of: content, bodyBytesMax: bodyBytesMax)
    references = target.references + headers.flatMap(\.value.references) + (body?.references ?? [])
    guard references.count <= Reference.countMax else {
      throw ReferenceFault("an envelope may hold \(Reference.countMax) references at the most")
    }
  }

  /// The request with a value in each reference's place.
  ///
  /// - Parameter value: The text that a reference stands for.
  /// - Throws: Why it cannot be filled.
  package func filled(
    _ value: (Reference) throws(ReferenceFault) -> [UInt8]
  ) throws(ReferenceFault) -> EnvelopeContent {
    var filled = content
    filled.target = try target.filled { reference throws(ReferenceFault) in
      let bytes = try value(reference)
      guard !bytes.isEmpty else {
        throw ReferenceFault("for the path, \(reference.text.quoted) is an empty text")
      }
      return bytes
    }
    if let refusal = TargetSyntax.refusal(of: filled.target[...]) {
      throw ReferenceFault("with its references filled, the path \(refusal)", in: .path)
    }
    filled.headers = RelayCore.HeaderBlock()
    for header in headers {
      let isTaken = filled.headers.append(name: header.name, value: try header.value.filled(value))
      guard isTaken else {
        let name = String(decoding: header.name, as: UTF8.self)
        throw ReferenceFault(
          "with its references filled, the header field \(name) would hold a control character",
          in: .header(name))
      }
    }
    if let body { filled.body = .inline(try body.filled(value)) }
    return filled
  }

  // MARK: - Parts

  /// The path is checked with a harmless text in place of each reference.
  private static func template(
    ofTarget target: [UInt8]
  ) throws(ReferenceFault) -> ReferenceTemplate {
    let template = try ReferenceTemplate(target, .percentEncoded)
    let sample = try template.filled { _ in [UInt8(ascii: "x")] }
    if let refusal = TargetSyntax.refusal(of: sample[...]) {
      throw ReferenceFault("the path \(refusal)")
    }
    guard target.count <= TargetSyntax.bytesMax else {
      throw ReferenceFault("the path may have \(TargetSyntax.bytesMax) bytes at the most")
    }
    return template
  }

  private static func template(
    of content: EnvelopeContent, bodyBytesMax: Int?
  ) throws(ReferenceFault) -> ReferenceTemplate? {
    guard content.body.byteCount > 0,
      let form = content.headers.first(where: { $0.isNamed("Content-Type") })
        .flatMap({ self.form(ofType: $0.value) })
    else { return nil }
    guard case .inline(let bytes) = content.body, bytes.count <= bodyBytesMax ?? .max else {
      let words = bodyBytesMax.map { "of more than \($0) bytes" } ?? "that is so large"
      throw ReferenceFault("a text \(words) cannot hold references")
    }
    return try ReferenceTemplate(bytes, form)
  }

  /// The encoding of a value in a body of this type; nil for a type that is not searched for
  /// references.
  private static func form(ofType value: ArraySlice<UInt8>) -> ReferenceTemplate.Form? {
    let type = FieldSyntax.trimmingWhitespace(value.prefix { $0 != UInt8(ascii: ";") })
    for json: StaticString in ["application/json", "application/x-ndjson", "application/jsonl"]
    where FieldSyntax.equals(type, json) {
      return .json
    }
    if type.count >= 5, FieldSyntax.equals(type.suffix(5), "+json") { return .json }
    if FieldSyntax.equals(type, "application/x-www-form-urlencoded") { return .percentEncoded }
    return FieldSyntax.hasPrefix(type, "text/") ? .plain : nil
  }

  private static func within<Value>(
    _ place: ReferenceFault.Place, _ body: () throws(ReferenceFault) -> Value
  ) throws(ReferenceFault) -> Value {
    do throws(ReferenceFault) {
      return try body()
    } catch {
      throw ReferenceFault(error.detail, in: place)
    }
  }
}
