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

  /// The most bytes of an answer that are read for what it says of each.
  static let bytesMax = 4 * 1024 * 1024
  /// The most bytes that are kept of an answer that is for several.
  static let sharedBodyBytesMax = 1024

  /// Reads an answer.
  ///
  /// Results for each are an array, or the `items` of an object, with one element for each envelope
  /// in its order. An element is a status, or an object with a `status`, or an object whose only
  /// member is such an object. Any other answer with 2xx is for all of them, but for 207, which has
  /// to have results (RFC 4918 section 13).
  ///
  /// - Parameters:
  ///   - count: The number of envelopes.
  ///   - bodyBytesMax: The most bytes that are kept of the answer to one.
  init(_ response: UpstreamResponse, count: Int, bodyBytesMax: Int) {
    guard (200..<300).contains(response.status) else {
      self = .whole(response.shared(by: count))
      return
    }
    let needsResults = response.status == 207
    switch Self.statuses(response) {
    case .none where needsResults:
      self = .unreadable("answered 207 without a result for each envelope")
    case .none: self = .whole(response.shared(by: count))
    case .unreadable(let reason): self = .unreadable(reason)
    case .some(let results):
      guard results.count == count else {
        self = .unreadable("answered \(results.count) results to \(count) envelopes")
        return
      }
      self = .each(
        results.map { Self.response($0.status, $0.value, bodyBytesMax: bodyBytesMax) })
    }
  }

  /// Reads another relay's answer to a post of many.
  ///
  /// It has a result for each, in `results`, also where it took none.
  init(ofRelay response: UpstreamResponse, count: Int, bodyBytesMax: Int) {
    let isTaken = (200..<300).contains(response.status)
    guard isTaken || response.status == 422 else {
      self = .whole(response.shared(by: count))
      return
    }
    let results = (try? JSONValue.parse(response.body))?["results"].flatMap { try? $0.array() }
    guard !response.isTruncated, let results else {
      self =
        isTaken
        ? .unreadable("did not answer as a relay does, with a result for each envelope")
        : .whole(response.shared(by: count))
      return
    }
    let each = results.compactMap { Self.response(toRelayed: $0, bodyBytesMax: bodyBytesMax) }
    guard each.count == count, Array(results).count == count else {
      self = .unreadable("answered \(each.count) results to \(count) envelopes")
      return
    }
    self = .each(each)
  }

  /// The next relay's result for one envelope: its id there, or the problem.
  private static func response(
    toRelayed result: JSONValue, bodyBytesMax: Int
  ) -> UpstreamResponse? {
    guard let word = try? result["result"]?.string() else { return nil }
    guard word == "rejected" else { return response(202, result, bodyBytesMax: bodyBytesMax) }
    guard let problem = result["problem"], let status = problem["status"].flatMap(number) else {
      return nil
    }
    var response = response(status, problem, bodyBytesMax: bodyBytesMax)
    if let seconds = problem["retryAfterSeconds"]?.wholeNumber {
      response.headers.append(name: "Retry-After", value: String(seconds))
    }
    return response
  }

  private typealias Result = (status: Int, value: JSONValue)

  private enum Results {
    case none
    case some([Result])
    case unreadable(String)
  }

  private static func statuses(_ response: UpstreamResponse) -> Results {
    let first = response.body.first { $0 > 0x20 }
    guard first == UInt8(ascii: "[") || first == UInt8(ascii: "{") else { return .none }
    guard !response.isTruncated else {
      return .unreadable("answered more than \(bytesMax) bytes")
    }
    guard let value = try? JSONValue.parse(response.body),
      let list = (try? value.array()) ?? value["items"].flatMap({ try? $0.array() })
    else { return .none }
    let elements = Array(list)
    let found = elements.compactMap { element in status(of: element).map { ($0, element) } }
    guard !found.isEmpty else { return .none }
    guard found.count == elements.count else {
      return .unreadable("answered a status for \(found.count) of \(elements.count) envelopes")
    }
    return .some(found)
  }

  private static func status(of element: JSONValue) -> Int? {
    if let status = number(element) ?? element["status"].flatMap(number) { return status }
    guard let members = (try? element.object()).map(Array.init), members.count == 1 else {
      return nil
    }
    return members[0].value["status"].flatMap(number)
  }

  private static func number(_ value: JSONValue) -> Int? {
    guard let number = value.wholeNumber, StatusSet.codes.contains(Int(clamping: number)) else {
      return nil
    }
    return Int(number)
  }

  private static func response(
    _ status: Int, _ value: JSONValue, bodyBytesMax: Int
  ) -> UpstreamResponse {
    var headers = HeaderBlock()
    headers.append(name: "Content-Type", value: "application/json")
    return UpstreamResponse(
      status: status, headers: headers, body: Array(value.raw.prefix(bodyBytesMax)),
      isTruncated: value.raw.count > bodyBytesMax)
  }
}

extension UpstreamResponse {
  /// The same for each of several envelopes, which keep little of it.
  fileprivate func shared(by count: Int) -> UpstreamResponse {
    guard count > 1, body.count > BatchAnswer.sharedBodyBytesMax else { return self }
    return UpstreamResponse(
      status: status, headers: headers, body: Array(body.prefix(BatchAnswer.sharedBodyBytesMax)),
      isTruncated: true)
  }
}
