import RelayCore

// Problems with what an envelope says, and with what is asked of envelopes.

extension Problem {
  /// There is no such field.
  package static func unknownField(_ field: String, name: String, near: String?) -> Problem {
    let words = "There is no field \(name.quoted)."
    return Problem(
      .unknownField, words, field: field,
      fix: near.map { "Leave the field out, or correct its name; did you mean \"\($0)\"?" }
        ?? "Leave the field out, or correct its name.")
  }

  /// A field's value cannot be used.
  ///
  /// - Parameters:
  ///   - field: A JSON pointer, or the name of a header field or query parameter.
  ///   - detail: What stands there and what has to, in a sentence.
  package static func invalidField(
    _ field: String, _ detail: String, fix: String? = nil
  ) -> Problem {
    Problem(.invalidField, detail, field: field, fix: fix)
  }

  /// A sender that numbers its envelopes wants none of them left out.
  package static func coalesceWithSequence(_ field: String) -> Problem {
    .invalidField(
      field, "An envelope with a sequence number cannot coalesce: its number would be missing.",
      fix: "Leave one of the two out.")
  }

  /// The request carries a part of a content, which the upstream would take for the whole.
  package static func partialContent(upstream: String, field: String) -> Problem {
    Problem(
      .partialContent,
      "Content-Range says that this is a part, and \(upstream.quoted) would take it for the whole.",
      field: field,
      fix:
        "Send the whole content in one request, without Content-Range. If the upstream puts parts"
        + " together, ask the operator to set its takesContentRange.")
  }

  /// A field that has to be there is not.
  package static func missingField(_ field: String, _ detail: String, fix: String) -> Problem {
    Problem(.missingField, detail, field: field, fix: fix)
  }

  /// No such upstream is configured.
  ///
  /// - Parameter field: Where it was named; nil for the path of the request itself.
  package static func unknownUpstream(_ name: String, field: String?) -> Problem {
    var problem = Problem(
      .unknownUpstream, "No upstream named \(name.quoted) is configured.", field: field,
      fix: "Use a configured upstream; GET /status lists them to operators.")
    if field == nil { problem.status = problem.kind.record.statusInPath ?? problem.status }
    return problem
  }

  /// The key was used before with other content.
  ///
  /// - Parameter id: The envelope that has the key; nil if that is one of the same batch, of which
  ///   nothing was stored.
  package static func keyConflict(_ key: String?, id: EnvelopeID?, field: String) -> Problem {
    let words = key.map { "The key \($0.quoted)" } ?? "The key"
    var problem = Problem(
      .keyConflict, "\(words) was used before with other content.", field: field,
      fix: "Use a new key for new content; post the same content to repeat a post.")
    problem.id = id
    return problem
  }

  /// The lane has waited for this number long enough, and gone on without it.
  package static func sequencePassed(_ sequence: Int64?, last: Int64, field: String) -> Problem {
    var problem = Problem(
      .sequencePassed,
      "The lane has gone on without sequence \(sequence ?? last); it comes too late.",
      field: field,
      fix: "To send it anyway, post it with a number above lastSequence, or without"
        + " one.")
    problem.lastSequence = last
    return problem
  }

  /// The number was used before with other content.
  ///
  /// - Parameter id: The envelope that has the number; nil if that is one of the same batch, of
  ///   which nothing was stored.
  package static func sequenceConflict(
    _ sequence: Int64?, id: EnvelopeID?, field: String
  ) -> Problem {
    let words = sequence.map { "The lane's sequence number \($0)" } ?? "The sequence number"
    var problem = Problem(
      .sequenceConflict, "\(words) was used before with other content.", field: field,
      fix: "Use the next number for new content; GET /v1/clients/{client} tells where to go on.")
    problem.id = id
    return problem
  }

  /// No item of a batch was taken.
  package static func batchRejected(
    rejectedCount: Int, count: Int, isStrict: Bool, results: [UInt8]
  ) -> Problem {
    let words = "\(rejectedCount) of \(count) envelopes could not be taken"
    var problem = Problem(
      .batchRejected, isStrict ? "\(words), and the batch is all or nothing." : "\(words).",
      fix: "See the problem of each result, correct those, and post the batch again.")
    problem.results = results
    return problem
  }

  /// An item of a strict batch that nothing is wrong with.
  package static func leftOut() -> Problem {
    Problem(
      .batchRejected, "Left out, since another envelope of the batch could not be taken.")
  }

  /// There is no envelope of this id, or no longer.
  package static func unknownEnvelope(_ id: String) -> Problem {
    let isID = EnvelopeID(parsing: id) != nil
    return Problem(
      .unknownEnvelope,
      "There is no envelope \(isID ? id : id.quoted); ended ones are forgotten after a while.")
  }

  /// The client has posted nothing under this key, or it is forgotten.
  package static func unknownKey(_ key: String, of client: String) -> Problem {
    Problem(
      .unknownEnvelope,
      "The client \(client.quoted) has no envelope with the key \(key.quoted); ended ones are"
        + " forgotten after a while.")
  }

  /// Nothing from this client was ever accepted.
  package static func unknownClient(_ name: String) -> Problem {
    Problem(
      .unknownClient, "Nothing is known of a client named \(name.quoted).",
      fix: "Correct the name. A client is known from its first envelope on, and a client's token"
        + " shows its own client alone.")
  }

  /// The upstream has not answered so far.
  package static func noResponseYet(_ state: EnvelopeState) -> Problem {
    let words =
      state.isEnd
      ? "The envelope is \(state.rawValue), and the upstream has not answered it."
      : "The envelope is \(state.rawValue), and the upstream has not answered it so far."
    return Problem(
      .noResponseYet, words,
      fix: state.isEnd
        ? "See its attempts with GET /v1/envelopes/{id}."
        : "Ask again later, or wait with GET /v1/envelopes/{id}?wait=20.")
  }
}
