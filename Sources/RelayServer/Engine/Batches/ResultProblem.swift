import JSON
import RelayCore

/// The problem document (RFC 9457) in one of several results.
enum ResultProblem {
  /// Finds it.
  ///
  /// It is the member `problem`, if that is an object. Or it is the result itself, if that has a
  /// text as `errorId`, `title` or `detail`, or a `type` that is an absolute URI: a `type` alone
  /// may be anything. A result that has a single member, which is an object, is that object.
  ///
  /// - Returns: nil if there is none.
  static func find(in result: JSONValue) -> JSONValue? {
    guard let members = (try? result.object()).map({ Array($0.prefix(2)) }) else { return nil }
    if let problem = result["problem"], (try? problem.object()) != nil { return problem }
    if isProblem(result) { return result }
    guard members.count == 1, (try? members[0].value.object()) != nil else { return nil }
    let inner = members[0].value
    if let problem = inner["problem"], (try? problem.object()) != nil { return problem }
    return isProblem(inner) ? inner : nil
  }

  private static func isProblem(_ object: JSONValue) -> Bool {
    if ["errorId", "title", "detail"].contains(where: { text(object[$0]) != nil }) { return true }
    return text(object["type"])?.contains(":") ?? false
  }

  private static func text(_ value: JSONValue?) -> String? { try? value?.string() }
}
