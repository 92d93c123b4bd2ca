import EventLoop
import JSON
import RelayCore

extension Configuration: CustomStringConvertible {
  /// The configuration in force, in the file's own form, with what might be secret hidden.
  package var description: String {
    var writer = JSONWriter(pretty: true)
    write(to: &writer)
    return String(decoding: writer.finish(), as: UTF8.self)
  }

  private func write(to json: inout JSONWriter) {
    json.object { json in
      json.memberArray("listen") { json in
        for listener in listen { listener.write(to: &json) }
      }
      json.memberObject("access") { access.writeMembers(to: &$0) }
      json.member("data", data)
      json.memberObject("upstreams") { json in
        for upstream in upstreams { json.member(upstream.name) { upstream.write(to: &$0) } }
      }
      json.memberPatterns("lanes", lanes) { $0.write(to: &$1) }
      json.memberPatterns("clients", clients) { $0.write(to: &$1) }
      json.memberCollections("collections", collections)
      json.member("limits") { limits.write(to: &$0) }
      json.memberObject("retention") { json in
        json.member("deliveredSeconds", retention.deliveredSeconds)
        json.member("failedSeconds", retention.failedSeconds)
      }
      json.memberObject("events") { events.writeMembers(to: &$0) }
      json.memberObject("audit") { audit.writeMembers(to: &$0) }
      json.memberObject("clock") { clock.writeMembers(to: &$0) }
      json.memberObject("tracing") { tracing.writeMembers(to: &$0) }
      json.memberObject("log") { json in
        json.member("level", log.level.rawValue)
        json.member("format", log.format.rawValue)
        json.member("access", log.access)
      }
      json.member("shutdownGraceSeconds", shutdownGraceSeconds)
    }
  }
}

extension LimitsConfiguration {
  fileprivate func write(to json: inout JSONWriter) {
    json.object { json in
      json.member("bodyBytesMax", bodyBytesMax)
      json.member("connectionsMax", connectionsMax)
      json.member("connectionsPerPeerMax") { $0.integerOrNull(connectionsPerPeerMax) }
      json.member("clientSharePercent", shares.clientPercent)
      json.member("peerSharePercent", shares.sourcePercent)
      json.member("operatorReservePercent", shares.reservePercent)
      json.member("requestLineBytesMax", requestLineBytesMax)
      json.member("headerCountMax", headerCountMax)
      json.member("headerBytesMax", headerBytesMax)
      json.member("idleTimeoutMs", idleTimeoutMs)
      json.member("headTimeoutMs", headTimeoutMs)
      json.member("bodyTimeoutMs", bodyTimeoutMs)
      json.member("stallTimeoutMs", stallTimeoutMs)
      json.member("handshakeTimeoutMs", handshakeTimeoutMs)
      json.member("handshakesMax", handshakesMax)
      json.member("bodyTotalTimeoutMs", bodyTotalTimeoutMs)
      json.member("batchCountMax", batchCountMax)
      json.member("batchBytesMax", batchBytesMax)
      json.member("memoryInFlightBytesMax", memoryInFlightBytesMax)
      json.member("spoolThresholdBytes", spoolThresholdBytes)
      json.member("waitSecondsMax", waitSecondsMax)
      writeQuotas(to: &json)
      json.member("acceptanceDelayMsMax", acceptanceDelayMsMax)
      json.member("storeBytesMax") { $0.integerOrNull(storeBytesMax) }
      json.member("storeLogBytesMax", storeLogBytesMax)
      json.member("diskReserveBytes") { $0.integerOrNull(diskReserveBytes) }
    }
  }
}

extension UpstreamConfiguration {
  fileprivate func write(to json: inout JSONWriter) {
    json.object { json in
      json.member("url", shownURL)
      json.memberObject("headers") { json in
        for header in headers { json.member(header.name, header.value.description) }
      }
      json.member("connectTimeoutMs", connectTimeoutMs)
      json.member("attemptTimeoutMs") { $0.integerOrNull(attemptTimeoutMs) }
      json.member("idleTimeoutMs") { $0.integerOrNull(idleTimeoutMs) }
      json.member("maxConcurrent", maxConcurrent)
      json.member("reuseConnections", reuseConnections)
      json.memberObject("retry") { json in
        json.member("firstDelayMs", retry.firstDelayMs)
        json.member("maxDelayMs", retry.maxDelayMs)
        json.member("factor", retry.factor)
      }
      json.member("onFailure", onFailure.rawValue)
      json.member("deadlineSeconds", deadlineSeconds)
      json.memberObject("outcomes") { json in
        json.member("retry") { outcomes.retry.write(to: &$0) }
        json.member("deliver") { outcomes.deliver.write(to: &$0) }
      }
      json.member("responseBodyBytesMax", responseBodyBytesMax)
      json.member("retryAfterMaxSeconds", retry.retryAfterMaxMs / 1000)
      json.member("proxy") { json in
        if let proxy { json.string(proxy.description) } else { json.null() }
      }
      json.memberObject("reachability") { json in
        json.member("failuresBeforeUnreachable", reachability.failuresBeforeUnreachable)
        json.member("firstProbeDelayMs", reachability.firstProbeDelayMs)
        json.member("maxProbeDelayMs", reachability.maxProbeDelayMs)
      }
      json.member("startPaused", startPaused)
      json.member("certificateAuthorities") { json in
        if let certificateAuthorities {
          json.string(certificateAuthorities)
        } else {
          json.null()
        }
      }
      json.memberArray("passHeaders") { json in for name in passHeaders { json.string(name) } }
      if let signing {
        json.memberObject("signing") { json in
          json.memberArray("keys") { json in
            for key in signing.keys { json.string(key.description) }
          }
        }
      }
      json.member("ambiguous", ambiguous.rawValue)
      if let verify { json.memberObject("verify") { $0.member("path", verify.description) } }
    }
  }
}

extension StatusCodeSet {
  fileprivate func write(to json: inout JSONWriter) {
    json.array { json in
      for code in codes { json.integer(code) }
      for number in classes { json.string("\(number)xx") }
    }
  }
}

extension JSONWriter {
  /// A whole number, or `null` where there is none.
  mutating func integerOrNull(_ value: (some BinaryInteger)?) {
    if let value { integer(value) } else { null() }
  }
}
