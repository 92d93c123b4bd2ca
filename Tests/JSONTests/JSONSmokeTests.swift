import JSON
import Testing

@Test("an object is read member by member, in order, by name")
func objectInOrder() throws {
  let value = try JSONValue.parse(Array(#"{"a": 1, "b": [true, null], "\u0063": "x\ty"}"#.utf8))
  var seen: [String] = []
  for member in try value.object() {
    switch member.name {
    case "a": seen.append("a=\(try member.value.int64())")
    case "b": seen.append("b=\(try member.value.array().map(\.kind.rawValue))")
    case "c": seen.append("c=\(try member.value.string())")
    default: Issue.record("unknown name \(member.name.string)")
    }
  }
  #expect(seen == ["a=1", #"b=["boolean", "null"]"#, "c=x\ty"])
}
