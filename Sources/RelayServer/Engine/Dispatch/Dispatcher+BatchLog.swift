import Forwarder
import RelayCore
import Synchronization

// What the log says of requests that carry several envelopes.
extension Dispatcher {
  /// A request is sent.
  func tell(sent request: BatchesInFlight.Request, bytes: Int64) {
    log.debug(
      "request with envelopes is sent", ("upstream", .text(name(of: request.upstream))),
      ("batch", .text(request.key)), ("count", .integer(Int64(request.members.count))),
      ("bytes", .integer(bytes)))
  }

  /// A request has ended, and the scheduler has said what is made of it.
  ///
  /// Before anything that follows from it is carried out: so an upstream that takes no gzip gets
  /// none with the next request.
  func note(_ verdict: BatchVerdict, of ended: EndedBatch) {
    let request = ended.request
    if log.isOn(.debug) {
      var fields: [Log.Field] = [
        ("upstream", .text(name(of: request.upstream))), ("batch", .text(request.key)),
        ("count", .integer(Int64(request.members.count))),
      ]
      switch ended.event {
      case .answered(let response): fields.append(("status", .integer(Int64(response.status))))
      case .failed, .unsendable: fields.append(("error", .text(ended.event.sentence)))
      }
      fields.append(("result", .text(verdict.rawValue)))
      log.write(.debug, "request with envelopes ended", fields: fields)
    }
    if verdict == .unreadable {
      let name = name(of: request.upstream)
      log.repeating(
        .warning, "results do not fit the envelopes of a request, which then go one by one",
        about: name, .usual, ("upstream", .text(name)),
        ("reason", .text(ended.reports.first?.sentence ?? "")))
    }
    warnOfUnknownResults(in: ended)
    guard verdict == .uncompressed, !request.target.isRetired,
      codingRefusals.insert(request.upstream)
    else { return }
    log.warning(
      "upstream takes no gzip, and gets uncompressed requests until the next reload or start",
      ("upstream", .text(name(of: request.upstream))),
      ("fix", "Set batch.gzip to false, or have the upstream take Content-Encoding: gzip."))
  }

  /// An upstream that says something of each in a form that is not known refuses some unheard.
  private func warnOfUnknownResults(in ended: EndedBatch) {
    let request = ended.request
    guard !request.form.hasNoResults, case .whole = ended.subject,
      case .answered(let response) = ended.event,
      (200..<300).contains(response.status), request.members.count > 1, !request.form.isRelay,
      !request.target.isRetired, !resultless.contains(request.upstream),
      response.isJSONOfParts(
        bytesMax: BatchAnswer.unpackedBytesMax(
          count: request.members.count, bodyBytesMax: request.target.responseBodyBytesMax)),
      resultless.insert(request.upstream)
    else { return }
    log.warning(
      "upstream answers several envelopes with JSON without known results: all count as delivered",
      ("upstream", .text(name(of: request.upstream))),
      (
        "fix",
        .text(
          "If that JSON can refuse single envelopes, take batch out of the upstream's"
            + " configuration; if it cannot, set batch.results to \"none\".")
      ))
    needs.expire()
  }

  /// Requests were too large for an upstream.
  func logCeiling(_ ceiling: (upstream: UpstreamNumber, refusedBytes: Int, bytesMax: Int)) {
    let name = name(of: ceiling.upstream)
    log.repeating(
      .info, "upstream wants smaller requests", about: name, .usual, ("upstream", .text(name)),
      ("refusedBytes", .integer(Int64(ceiling.refusedBytes))),
      ("bytesMax", .integer(Int64(ceiling.bytesMax))))
  }

  private func name(of upstream: UpstreamNumber) -> String {
    targets.withLock { $0[upstream]?.name } ?? ""
  }
}

extension UpstreamResponse {
  /// Whether the body begins as an object or an array does: what is malformed is no answer for all.
  ///
  /// - Parameter bytesMax: The most bytes that may be made of a body that is packed.
  fileprivate func isJSONOfParts(bytesMax: Int) -> Bool {
    let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    guard let body = uncodedBody(bytesMax: bytesMax) else { return false }
    let first = body.dropFirst(body.starts(with: mark) ? mark.count : 0).first { $0 > 0x20 }
    return first == UInt8(ascii: "[") || first == UInt8(ascii: "{")
  }
}
