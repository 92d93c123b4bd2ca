import RelayCore
import Testing

@testable import RelayServer

@Suite("Places for operations")
struct OperationDeskTests {
  @Test("one operator cannot take all operations, and what is given back is free again")
  func shares() throws {
    let desk = OperationDesk {}
    let limits = PlaceShares().limits(of: OperationLimits.runningMax)
    var places: [SharedPlaces.Place] = []
    func take(_ name: String) throws {
      places.append(try desk.take(.operator(name), limits))
    }
    for _ in 0..<3 { try take("nightly") }
    #expect(throws: SharedPlaces.Refusal.self) { try take("nightly") }
    try take("on-call")
    #expect(throws: SharedPlaces.Refusal.self) { try take("another") }
    desk.giveBack(places[0])
    try take("another")
  }
}
