import Testing

@testable import RelayServer
@testable import waystation

@Suite("The fields of an envelope that the command sends")
struct SendingFieldTests {
  @Test("an import keeps every field but those that it writes itself or that are over")
  func imported() {
    // The key and the header fields are written anew; numbers and a deadline belong to the past.
    // Spans of time are written nowhere.
    let others: Set = [
      "key", "headers", "sequence", "expiresAt", "void", "inOrder", "notBeforeIn", "expiresIn",
      "age",
    ]
    #expect(Set(ImportCommand.kept).isDisjoint(with: others))
    let lacking = others.union(ImportCommand.kept).symmetricDifference(EnvelopeField.names)
    #expect(lacking.isEmpty, "keep these in ImportCommand.kept, or say here why not")
  }

  @Test("`send` has an option for each field, and each has its own name")
  func sent() {
    let lacking = Set(SendOptions.fields.map(\.name)).symmetricDifference(EnvelopeField.names)
    #expect(lacking.isEmpty, "give these an option in SendOptions")
    #expect(Set(SendOptions.rules.map(\.name)).count == SendOptions.fields.count)
  }
}
