import EventLoop
import JSON

/// A list that the relay returns in pages.
struct PagedList {
  let relay: RelayClient
  /// The path, without a query.
  let path: String
  /// The filter, as `name=value`.
  let filter: [String]
  /// The name of the array in a page.
  let member: StaticString
  /// The query parameter for the next page's cursor.
  var cursorField = "cursor"
  /// The most items on a page.
  var pageMax = 200

  /// Goes through the items, page by page.
  ///
  /// - Parameters:
  ///   - limit: The most items; nil for all.
  ///   - cursor: The cursor to begin at; nil for the start.
  ///   - page: Called with each page and the cursor after it, which is nil at the end.
  /// - Returns: Whether there is more.
  /// - Throws: ``OperatorFailure`` if a call fails, or if the pages come to no end; the page that
  ///   shows it is not passed on.
  @discardableResult
  func pages(
    limit: Int?, from cursor: String? = nil,
    _ page: ([JSONObject], String?) throws(OperatorFailure) -> Void
  ) throws(OperatorFailure) -> Bool {
    var walk = PageWalk(from: cursor)
    var left = limit
    repeat {
      var query = filter + ["limit=\(min(pageMax, left ?? pageMax))"]
      if let cursor = walk.cursor {
        query.append("\(cursorField)=\(TokenText.percentEncoded(cursor))")
      }
      let answer = try relay.object("GET", path + "?" + query.joined(separator: "&"))
      var items = answer.objects(member)
      do throws(PageWalk.Fault) {
        try walk.advance(to: try next(answer), behind: items.count)
      } catch {
        throw OperatorFailure(
          reason: "the list \(path) does not end: \(error.reason). The server that answers is not"
            + " a Waystation, or is broken; check --server and WAYSTATION_SERVER")
      }
      if let most = left { items = Array(items.prefix(most)) }
      left = left.map { $0 - items.count }
      try page(items, walk.cursor)
    } while walk.cursor != nil && left != 0
    return walk.cursor != nil
  }

  /// The cursor of the next page; nil if there is none.
  private func next(_ answer: JSONObject) throws(PageWalk.Fault) -> String? {
    guard let value = answer["next"], !value.isNull else { return nil }
    guard let text = try? value.string() else {
      throw PageWalk.Fault(reason: "it names a cursor that is no string")
    }
    return text
  }
}

extension CommandContext {
  /// The most items that a list may have; nil for all.
  func limit() throws(OperatorFailure) -> Int? {
    do throws(UsageError) {
      let limit = try order.number("--limit", 0...1_000_000_000) ?? 100
      return limit == 0 ? nil : limit
    } catch {
      throw OperatorFailure(reason: error.reason, code: .usage)
    }
  }

  /// The names and values of the options that select envelopes, as the relay reads them.
  func selection() throws(OperatorFailure) -> [(name: String, value: String)] {
    do throws(UsageError) {
      return try SelectionOptions.given(options, now: WallClock.now())
    } catch {
      throw OperatorFailure(reason: error.reason, code: .usage)
    }
  }

  /// The same as a query, without its beginning.
  func selectionQuery() throws(OperatorFailure) -> String {
    try selection().map { "\($0.name)=\(TokenText.percentEncoded($0.value))" }
      .joined(separator: "&")
  }

  /// The query parameters for those of the options that were given, under the same names.
  func filter(_ names: String...) -> [String] {
    names.compactMap { name in
      options.text("--\(name)").map { "\(name)=\(TokenText.percentEncoded($0))" }
    }
  }

  /// Says that a list was cut, unless it is printed as JSON.
  func noteMore(_ isMore: Bool) {
    if isMore, !isJSON { note("there are more; use --limit 0 to show all, or a filter") }
  }
}
