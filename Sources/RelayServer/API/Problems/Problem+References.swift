import RelayCore

extension Problem {
  /// The sender's names for the parts of an envelope that may have references.
  package enum ReferenceNames {
    /// As members of a JSON object.
    case json
    /// As a request.
    case relayed
  }

  /// A reference, or what stands around it, cannot be used.
  package static func malformedReference(
    _ fault: ReferenceFault, _ names: ReferenceNames
  ) -> Problem {
    let field =
      switch (fault.place, names) {
      case (.path, .json): "/path"
      case (.path, .relayed): "path"
      case (.header(let name), .json): "/headers/\(name)"
      case (.header(let name), .relayed): name
      case (.body, .json): "/body"
      case (.body, .relayed): "body"
      }
    let first = fault.detail.prefix(1).uppercased()
    return .invalidField(
      field, "\(first)\(fault.detail.dropFirst()).",
      fix: "Write {{response:KEY#/pointer}}, or leave references out.")
  }
}

extension EnvelopeContent {
  /// Whether the references in a request, and what stands around them, can be used.
  ///
  /// - Parameter bodyBytesMax: The most bytes of a body with references.
  func checkReferences(
    _ names: Problem.ReferenceNames, bodyBytesMax: Int? = nil
  ) throws(Problem) {
    do throws(ReferenceFault) {
      _ = try ReferencedContent(self, bodyBytesMax: bodyBytesMax)
    } catch {
      throw .malformedReference(error, names)
    }
  }
}
