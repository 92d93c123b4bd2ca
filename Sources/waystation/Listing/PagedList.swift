import JSON

/// Lists that the relay hands out in pages.
struct PagedList {
  let relay: RelayClient
  /// The path, without a query.
  let path: String
  /// The filter, as `name=value`.
  let filter: [String]
  /// What the array of a page is called.
  let member: StaticString
  /// Under which name the next page's cursor is asked.
  var cursorField = "cursor"
  /// How many a page may have.
  var pageMax = 200

  /// Goes through the items, page by page.
  ///
  /// - Parameters:
  ///   - limit: The most items; nil for all.
  ///   - cursor: Where to begin; nil for the start.
  ///   - page: Called with each page and the cursor behind it; nil at the end.
  /// - Returns: Whether there is more.
  /// - Throws: What a call did, and if the pages come to no end; what such a page brought is not
  ///   handed on.
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
        try walk.goOn(to: try next(answer), behind: items.count)
      } catch {
        throw OperatorFailure(
          reason: "the list \(path) does not come to its end: \(error.reason). What answers is no"
            + " Waystation, or a broken one; look at --server and WAYSTATION_SERVER")
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

extension Desk {
  /// How many items a list may have; nil for all.
  func limit() throws(OperatorFailure) -> Int? {
    do throws(UsageError) {
      let limit = try order.number("--limit", 0...1_000_000_000) ?? 100
      return limit == 0 ? nil : limit
    } catch {
      throw OperatorFailure(reason: error.reason, code: .usage)
    }
  }

  /// The parts of a query of those options that were given, by their names there.
  func filter(_ names: String...) -> [String] {
    names.compactMap { name in
      options.text("--\(name)").map { "\(name)=\(TokenText.percentEncoded($0))" }
    }
  }

  /// Says that a list was cut, where people read it.
  func noteMore(_ isMore: Bool) {
    if isMore, !isJSON { note("there are more; --limit 0 shows all, or narrow it down") }
  }
}
