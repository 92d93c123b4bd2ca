import RelayCore

/// The small answers of the upstream that a device is told together with its endings.
struct EndingResponses {
  private let context: EndpointContext

  /// The most bytes of answers that one check-in brings; the rest are asked for one by one, and so
  /// are those for which there is no memory.
  static let bytesMax = 1_048_576

  init(_ context: EndpointContext) { self.context = context }

  /// The answers to envelopes that have ended, by the number of their ending, as far as they are
  /// kept, whole, and small enough.
  ///
  /// - Parameter bodyBytesMax: The most bytes of a body that the device wants.
  func read(
    _ endings: [ClientEnding], bodyBytesMax: Int, _ memory: inout MemoryReservation
  ) async throws(Problem) -> [EndingNumber: CheckInView.Response] {
    var found: [EndingNumber: CheckInView.Response] = [:]
    var room = Self.bytesMax
    for ending in endings where ending.fate.responseStatus != nil {
      guard let response = try await response(to: ending, bodyBytesMax: bodyBytesMax) else {
        continue
      }
      // Once as it is here, and once in the answer.
      let count = response.json.count
      guard count <= room, (try? memory.take(2 * count)) != nil else { break }
      room -= count
      found[ending.number] = response
    }
    return found
  }

  private func response(
    to ending: ClientEnding, bodyBytesMax: Int
  ) async throws(Problem) -> CheckInView.Response? {
    do throws(StoreError) {
      guard let answer = try await context.store.response(ending.fate.id), !answer.isTruncated,
        answer.body.count <= bodyBytesMax,
        let record = try await context.store.envelope(ending.fate.id)
      else { return nil }
      let shown = context.upstreamAnswer(to: record)
      return CheckInView.Response(fields: shown.fields(of: answer), body: answer.body)
    } catch {
      throw context.problem(error)
    }
  }
}
