import RelayCore
import Testing

@Suite("Answers that may refuse a coding")
struct CodingRefusalTests {
  private static func response(_ status: Int, _ accepted: String?) -> UpstreamResponse {
    var headers = HeaderBlock()
    if let accepted { headers.append(name: "Accept-Encoding", value: accepted) }
    return UpstreamResponse(status: status, headers: headers, body: [])
  }

  @Test(
    "415 may be for gzip, unless it says that gzip is taken",
    arguments: [
      (nil, true), ("identity", true), ("", true), ("br, gzip;q=0", true), ("gzip;q=0.000", true),
      ("GZIP", false), ("br , x-gzip ; q=0.5", false), ("*", false),
    ] as [(String?, Bool)])
  func unsupported(accepted: String?, mayRefuse: Bool) {
    #expect(Self.response(415, accepted).mayRefuseGzip == mayRefuse)
    #expect(!Self.response(400, accepted).mayRefuseGzip)
  }
}
