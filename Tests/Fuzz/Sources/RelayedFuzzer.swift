import RelayCore

@testable import HTTPServer
@testable import RelayServer

/// A whole request on `/v1/relay/{upstream}/{path}`, from its bytes to its draft.
enum RelayedFuzzer {
  private static let router: Router<Bool> = {
    var router = Router<Bool>()
    router.addAny("/v1/relay/{upstream}/{path…}", true)
    router.addAny("/v1/relay/{upstream}", false)
    return router
  }()

  static func run(_ bytes: [UInt8]) {
    guard let request = HTTPRequest(parsing: bytes, limits: ParserFuzzer.limits),
      case .found(_, let captures) = router.match(request.head.method, path: request.head.path)
    else { return }
    _ = Preferences(request.head.values(of: "Prefer"))
    do throws(Problem) {
      let decoded = try RelayRequestDecoder(EnvelopeFuzzer.rules).decode(
        request.head, upstream: captures.raw("upstream") ?? [], rest: captures.raw("path") ?? [],
        at: EnvelopeFuzzer.now)
      DraftCheck.check(decoded.draft)
      _ = decoded.fingerprint().finish()
    } catch {
      ProblemCheck.check(error)
    }
  }
}
