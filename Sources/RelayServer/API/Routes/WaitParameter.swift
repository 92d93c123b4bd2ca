import HTTPServer
import RelayCore

extension EndpointContext {
  /// How many seconds the query's `wait` asks to wait; 0 if it is not there.
  func waitSeconds(_ query: ArraySlice<UInt8>?) throws(Problem) -> Int {
    guard query != nil else { return 0 }
    let secondsMax = limits.waitSecondsMax
    let rule = "a whole number of seconds from 0 to \(secondsMax)"
    let text: String?
    do throws(QueryParameters.Failure) {
      text = try QueryParameters(query).single("wait")
    } catch {
      throw .invalidField(
        "wait",
        error == .malformedEncoding
          ? "The query is not properly percent-encoded." : "wait is given twice.",
        fix: "Give wait once, as \(rule).")
    }
    guard let text else { return 0 }
    guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let seconds = Int(text),
      (0...secondsMax).contains(seconds)
    else { throw .invalidField("wait", "wait is \(text.quoted); it has to be \(rule).") }
    return seconds
  }
}
