import HTTPServer

/// The names and values of a query, for those who go through them.
enum QueryItems {
  /// The parameters in their order.
  ///
  /// - Parameter query: What stands behind the question mark; nil if there is none.
  static func read(
    _ query: ArraySlice<UInt8>?
  ) throws(Problem) -> [(name: String, value: String)] {
    do throws(QueryParameters.Failure) {
      return try QueryParameters(query).items
    } catch {
      throw .malformedQuery()
    }
  }
}

extension Problem {
  /// The query cannot be read.
  ///
  /// - Parameters:
  ///   - field: The parameter that was looked for; none where all are gone through.
  static func malformedQuery(_ field: String = "", fix: String? = nil) -> Problem {
    .invalidField(field, "The query is not properly percent-encoded.", fix: fix)
  }

  /// The query has a parameter that is none of `known`.
  static func unknownParameter(_ name: String, among known: [String]) -> Problem {
    // A name that is longer than any is not given back in full.
    let isLong = name.utf8.count > NameSyntax.bytesMax
    return .unknownField(
      isLong ? "" : name, name: name, near: isLong ? nil : NearestWord.find(name, in: known))
  }
}
