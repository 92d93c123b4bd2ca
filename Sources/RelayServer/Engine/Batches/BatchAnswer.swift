import JSON
import RelayCore

/// What an upstream's answer to a batch says of the envelopes in it.
enum BatchAnswer {
  /// One thing of all of them.
  case whole(UpstreamResponse)
  /// One thing of each, in their order.
  case each([UpstreamResponse])
  /// Nothing that can be read, though it was to say something of each; the reason is a sentence's
  /// part.
  case unreadable(String)
  /// The same, but it shows that the upstream has read the request: what it says can be read, and
  /// does not fit the envelopes.
  case unfitting(String)

  /// The most bytes of an answer that are read for what it says of each.
  static let bytesMax = 4 * 1024 * 1024
  /// The fewest bytes that may be made, for each envelope, of an answer that is packed.
  private static let unpackedBytesMin = 64 * 1024
  /// The most bytes that are kept of the body of an answer that is for several.
  static let sharedBodyBytesMax = 1024
  /// The most bytes that are kept of its header fields.
  static let sharedHeaderBytesMax = 1024

  /// The most bytes that are made of an answer that is packed: as many as results for so many
  /// envelopes, and what stands around them, may need.
  ///
  /// A few thousand bytes can be packed millions.
  ///
  /// - Parameter bodyBytesMax: The most bytes that are kept of the answer to one.
  static func unpackedBytesMax(count: Int, bodyBytesMax: Int) -> Int {
    min(bytesMax, (count + 1) * min(bytesMax, max(bodyBytesMax, unpackedBytesMin)))
  }

  /// Reads an answer.
  ///
  /// An answer with 2xx that has no ``UpstreamResults`` is for all of them, unless it has to have
  /// some: 207 does (RFC 4918 section 13), and every answer does where the configuration says so.
  /// Where it answers one envelope alone and cannot be read, its status is about that one.
  ///
  /// - Parameters:
  ///   - form: The form of the request that it answers.
  ///   - count: The number of envelopes.
  ///   - bodyBytesMax: The most bytes that are kept of the answer to one.
  init(_ response: UpstreamResponse, to form: BatchForm, count: Int, bodyBytesMax: Int) {
    if form.isRelay {
      self.init(ofRelay: response, count: count, bodyBytesMax: bodyBytesMax)
      return
    }
    guard (200..<300).contains(response.status) else {
      self = .whole(response.shared(by: count, bodyBytesMax: bodyBytesMax))
      return
    }
    let needsResults = form.requiresResults || response.status == 207
    guard needsResults || !form.hasNoResults else {
      self = .whole(response.shared(by: count, bodyBytesMax: bodyBytesMax))
      return
    }
    let unpackedBytesMax = Self.unpackedBytesMax(count: count, bodyBytesMax: bodyBytesMax)
    switch UpstreamResults(response, count: count, unpackedBytesMax: unpackedBytesMax) {
    case .none where needsResults:
      self = .unreadable("answered \(response.status) without a result for each envelope")
    case .withoutStatus where needsResults:
      self = .unfitting("answered \(response.status) without a result for each envelope")
    case .unreadable(let reason) where needsResults || count > 1: self = .unreadable(reason)
    case .unfitting(let reason) where needsResults || count > 1: self = .unfitting(reason)
    case .none, .withoutStatus, .unreadable, .unfitting:
      self = .whole(response.shared(by: count, bodyBytesMax: bodyBytesMax))
    case .some(let results) where results.count == count:
      self = .each(
        results.map { Self.response($0.status, $0.value, bodyBytesMax: bodyBytesMax) })
    case .some(let results):
      self = .unfitting("answered \(results.count) results to \(count) envelopes")
    }
  }

  /// Reads the answer to an envelope that had a request of its own, though its upstream takes
  /// several in one.
  ///
  /// What the configuration says of answers is about the path of the batch. So an answer from the
  /// envelope's own path needs no result, but one that is there counts. 207 says nothing by itself
  /// (RFC 4918 section 13), so it needs one.
  ///
  /// - Parameters:
  ///   - form: The form of the requests that carry several.
  ///   - bodyBytesMax: The most bytes that are kept of the answer.
  init(alone response: UpstreamResponse, as form: BatchForm, bodyBytesMax: Int) {
    let whole = BatchAnswer.whole(response.keeping(bodyBytesMax: bodyBytesMax))
    guard (200..<300).contains(response.status), form.requiresResults || response.status == 207
    else {
      self = whole
      return
    }
    let results = UpstreamResults(
      response, count: 1,
      unpackedBytesMax: Self.unpackedBytesMax(count: 1, bodyBytesMax: bodyBytesMax))
    switch results {
    case .some(let results):
      self = .each(
        results.map { Self.response($0.status, $0.value, bodyBytesMax: bodyBytesMax) })
    case .unreadable(let reason) where response.status == 207: self = .unreadable(reason)
    case .unfitting(let reason) where response.status == 207: self = .unfitting(reason)
    case .none where response.status == 207:
      self = .unreadable("answered 207 without a result for the envelope")
    case .withoutStatus where response.status == 207:
      self = .unfitting("answered 207 without a result for the envelope")
    case .none, .withoutStatus, .unreadable, .unfitting: self = whole
    }
  }

  /// Reads another relay's answer to a post of many.
  ///
  /// It has a result for each, in `results`, also where it took none. Other answers may be about
  /// the relay's own request: see ``RelayRefusal``.
  private init(ofRelay response: UpstreamResponse, count: Int, bodyBytesMax: Int) {
    let isTaken = (200..<300).contains(response.status)
    guard isTaken || response.status == 422 else {
      self = .whole(response.shared(by: count, bodyBytesMax: bodyBytesMax))
      return
    }
    let results = (try? JSONValue.parse(response.body))?["results"].flatMap { try? $0.array() }
    guard !response.isTruncated, let results else {
      self =
        isTaken
        ? .unreadable(
          response.codingWords(
            bytesMax: Self.unpackedBytesMax(count: count, bodyBytesMax: bodyBytesMax))
            ?? "did not answer as a relay does, with a result for each envelope: it answered "
            + response.statusAndType)
        : .whole(response.shared(by: count, bodyBytesMax: bodyBytesMax))
      return
    }
    // One more shows that there are too many, of which there can be millions.
    let elements = Array(results.prefix(count + 1))
    guard elements.count == count else {
      self = .unfitting(
        elements.count > count
          ? "answered more results than the \(count) envelopes"
          : "answered \(elements.count) results to \(count) envelopes")
      return
    }
    let each = elements.indices.compactMap { index in
      Self.response(toRelayed: elements[index], at: index, bodyBytesMax: bodyBytesMax)
    }
    guard each.count == count else {
      self = .unfitting("answered results that are not a relay's, or in another order")
      return
    }
    self = .each(each)
  }

  /// The next relay's result for one envelope: its id there, or the problem.
  ///
  /// - Returns: nil also for `void`, which says that nothing was stored, as an answer to a number
  ///   without an envelope, and for words that are not known here, which may mean anything.
  private static func response(
    toRelayed result: JSONValue, at index: Int, bodyBytesMax: Int
  ) -> UpstreamResponse? {
    guard let word = try? result["result"]?.string(),
      result["index"].map({ $0.wholeNumber == Int64(index) }) ?? true
    else { return nil }
    guard word == "rejected" else {
      guard RelayAnswer.isTaken(result) else { return nil }
      return response(202, result, bodyBytesMax: bodyBytesMax)
    }
    guard let problem = result["problem"], let status = problem["status"]?.status, status >= 400
    else { return nil }
    // A refusal is looked at whole, and cut off afterwards.
    let isRefusal = status == 401 || status == 403 || status == 429
    var response = response(
      status, problem, bodyBytesMax: max(bodyBytesMax, isRefusal ? RelayRefusal.bytesMax : 0))
    if let seconds = problem["retryAfterSeconds"]?.wholeNumber {
      response.headers.append(name: "Retry-After", value: String(seconds))
    }
    return response
  }

  /// An envelope's own answer: its result, or the problem document in it.
  private static func response(
    _ status: Int, _ result: JSONValue, bodyBytesMax: Int
  ) -> UpstreamResponse {
    let problem = status >= 400 ? ResultProblem.find(in: result) : nil
    var headers = HeaderBlock()
    headers.append(
      name: "Content-Type",
      value: problem == nil ? "application/json" : "application/problem+json")
    let body = (problem ?? result).raw
    return UpstreamResponse(
      status: status, headers: headers, body: Array(body.prefix(bodyBytesMax)),
      isTruncated: body.count > bodyBytesMax)
  }
}

extension UpstreamResponse {
  /// The same for each of several envelopes, which keep little of it.
  ///
  /// One alone keeps what is kept of the answer to one.
  fileprivate func shared(by count: Int, bodyBytesMax: Int) -> UpstreamResponse {
    guard count > 1 else { return keeping(bodyBytesMax: bodyBytesMax) }
    let bodyBytesMax = BatchAnswer.sharedBodyBytesMax
    return UpstreamResponse(
      status: status, headers: sharedHeaders, body: Array(body.prefix(bodyBytesMax)),
      isTruncated: isTruncated || body.count > bodyBytesMax)
  }

  /// The first fields, as many as there is room for, those that say something of the body or of a
  /// wait before others.
  private var sharedHeaders: HeaderBlock {
    guard headers.bytes.count > BatchAnswer.sharedHeaderBytesMax else { return headers }
    let names: [StaticString] = ["Content-Type", "Content-Encoding", "Retry-After", "Date"]
    let isFirst = { (field: HeaderBlock.Field) in names.contains { field.isNamed($0) } }
    var kept = HeaderBlock()
    for field in headers.filter(isFirst) + headers.filter({ !isFirst($0) }) {
      // The colon, a space and the line's end.
      let count = field.name.count + field.value.count + 4
      guard kept.bytes.count + count <= BatchAnswer.sharedHeaderBytesMax else { continue }
      kept.append(name: field.name, value: field.value)
    }
    return kept
  }
}
