import JSON

/// Header fields as given on a command line: `NAME: VALUE`.
enum HeaderOptions {
  /// Writes them as an object; one without a value becomes `null`, several of one name an array.
  static func write(_ lines: [String], to json: inout JSONWriter) {
    var names: [String] = []
    var values: [String: [String]] = [:]
    for line in lines {
      let colon = line.firstIndex(of: ":") ?? line.endIndex
      let name = String(line[..<colon])
      let value = line[colon...].dropFirst().drop { $0 == " " }
      if values[name] == nil { names.append(name) }
      values[name, default: []].append(String(value))
    }
    json.object { json in
      for name in names {
        let all = values[name] ?? []
        if all == [""] {
          json.member(name) { $0.null() }
        } else if all.count == 1 {
          json.member(name, all[0])
        } else {
          json.memberArray(name) { json in for value in all { json.string(value) } }
        }
      }
    }
  }
}
