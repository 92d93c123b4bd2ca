import HTTPServer
import JSON
import RelayCore

/// `GET /v1/envelopes`: what is stored, oldest first, a page at a time.
struct ListEnvelopes {
  private let context: EndpointContext

  /// How many stored envelopes one call looks at; a page that is not full by then goes on in the
  /// next one.
  private static let looksMax = 10_000_000

  init(_ context: EndpointContext) { self.context = context }

  func respond(to request: HTTPRequest) async -> HTTPResponse {
    do throws(Problem) {
      let parameters = try ListParameters(request.head.query, from: context.caller.client)
      var filter = parameters.filter
      filter.inFlight = context.relay.dispatcher.inFlightSerials()
      let page = try await page(filter, parameters)
      return .json(json(page, parameters, inFlight: filter.inFlight))
    } catch {
      return error.response
    }
  }

  private func page(
    _ filter: EnvelopeFilter, _ parameters: ListParameters
  ) async throws(Problem) -> EnvelopePage {
    do throws(StoreError) {
      return try await context.store.list(
        filter, after: parameters.start, countMax: parameters.limit, looksMax: Self.looksMax)
    } catch {
      throw context.problem(error)
    }
  }

  /// What was being delivered when the page was asked for is shown so, as the filter had it.
  private func json(
    _ page: EnvelopePage, _ parameters: ListParameters, inFlight: Set<Serial>
  ) -> [UInt8] {
    let now = context.relay.now().wall
    let dispatcher = context.relay.dispatcher
    var json = JSONWriter()
    json.object { json in
      json.memberArray("envelopes") { json in
        for envelope in page.envelopes {
          let serial = envelope.fate.serial
          let view = EnvelopeView(
            envelope, isInFlight: inFlight.contains(serial),
            position: dispatcher.placement(of: serial, in: envelope.lane).position, now: now)
          view.write(to: &json)
        }
      }
      if page.hasMore {
        json.member("next", parameters.cursor(behind: page.scannedThrough).text)
      }
    }
    return json.finish()
  }
}
