import JSON
import RelayCore

extension ReferencedContent {
  /// The request with what earlier envelopes were answered in its references' place.
  ///
  /// - Parameter answers: What became of the envelopes of all the references' keys.
  /// - Throws: Why it cannot be sent, in words for the record.
  package func filled(
    from answers: [String: ReferencedAnswer]
  ) throws(ReferenceFault) -> EnvelopeContent {
    var documents: [String: JSONValue] = [:]
    return try filled { reference throws(ReferenceFault) in
      let document: JSONValue
      if let known = documents[reference.key] {
        document = known
      } else {
        document = try Self.document(of: answers[reference.key] ?? .unknown, for: reference)
        documents[reference.key] = document
      }
      return try Self.value(of: reference, in: document)
    }
  }

  private static func document(
    of answer: ReferencedAnswer, for reference: Reference
  ) throws(ReferenceFault) -> JSONValue {
    switch answer {
    case .unknown: throw fault(reference, "no envelope of this key is known")
    case .elsewhere: throw fault(reference, "the envelope of this key stands in another lane")
    case .notEarlier: throw fault(reference, "the envelope of this key is no earlier one")
    case .undelivered(let state):
      throw fault(reference, "the envelope of this key is \(state.rawValue), not delivered")
    case .delivered(let response):
      guard let response else { throw fault(reference, "no answer was kept for it") }
      guard !response.isTruncated else {
        throw fault(reference, "its answer was longer than what is kept")
      }
      guard let document = try? JSONValue.parse(response.body) else {
        throw fault(reference, "its answer is no JSON")
      }
      return document
    }
  }

  private static func value(
    of reference: Reference, in document: JSONValue
  ) throws(ReferenceFault) -> [UInt8] {
    guard let value = document.value(at: reference.tokens) else {
      throw fault(reference, "its answer has nothing at this place")
    }
    let bytes: [UInt8]
    switch value.kind {
    case .string: bytes = (try? value.utf8()) ?? []
    case .number, .boolean: bytes = Array(value.raw)
    case .object, .array, .null:
      throw fault(reference, "at this place of its answer stands \(value.kind.inWords)")
    }
    guard bytes.count <= Reference.valueBytesMax else {
      throw fault(reference, "at this place stand over \(Reference.valueBytesMax) bytes")
    }
    return bytes
  }

  private static func fault(_ reference: Reference, _ why: String) -> ReferenceFault {
    ReferenceFault("\(reference.text.quoted) could not be filled: \(why)")
  }
}

extension EnvelopeStore {
  /// A request with its references filled from the answers that are kept, or why it cannot be.
  ///
  /// - Parameter serial: The number of its envelope: references are to earlier ones of its lane.
  func filled(
    _ content: EnvelopeContent, for serial: Serial
  ) async throws(StoreError) -> Result<EnvelopeContent, ReferenceFault> {
    let referenced: ReferencedContent
    do throws(ReferenceFault) {
      referenced = try ReferencedContent(content)
    } catch {
      return .failure(error)
    }
    let answers = try await answers(to: Set(referenced.references.map(\.key)), for: serial)
    return Result { () throws(ReferenceFault) in try referenced.filled(from: answers) }
  }
}
