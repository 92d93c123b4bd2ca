import RelayCore

// Endings that are to be told. Only clients that have checked in have any: those who never do cost
// nothing.
extension Writer {
  /// Reads which clients check in.
  static func clientsCheckingIn(
    on connection: borrowing Connection
  ) throws(StoreError) -> Set<ClientNumber> {
    let statement = try Statement("SELECT client FROM checks_in", on: connection)
    var result: Set<ClientNumber> = []
    while try statement.step() { result.insert(ClientNumber(rawValue: statement.int(0))) }
    return result
  }

  /// From now on this client's endings are kept to be told.
  func registerCheckIn(of client: ClientNumber) throws(StoreError) {
    checkIn.register.bind(1, client.rawValue)
    try checkIn.register.run()
    if connection.changeCount > 0 { state.checkingIn.insert(client) }
  }

  /// Adds what had ended before the client first checked in.
  func fill(_ serials: [Serial], endedOf client: ClientNumber) throws(StoreError) {
    for serial in serials {
      let number = state.ledger.lastEnding + 1
      checkIn.number.bind(1, number)
      checkIn.number.bind(2, serial)
      // One that has ended since the client was registered has its number already.
      guard try checkIn.number.step() else { continue }
      checkIn.number.reset()
      state.ledger.lastEnding = number
      try insertEnding(number, of: serial, client: client)
    }
    checkIn.setFilled.bind(1, client.rawValue)
    try checkIn.setFilled.run()
  }

  /// The number of an ending that is to be told; nil if its client does not check in.
  func numberEnding(of serial: Serial, client: ClientNumber) throws(StoreError) -> EndingNumber? {
    guard state.checkingIn.contains(client) else { return nil }
    state.ledger.lastEnding += 1
    try insertEnding(state.ledger.lastEnding, of: serial, client: client)
    return state.ledger.lastEnding
  }

  private func insertEnding(
    _ number: EndingNumber, of serial: Serial, client: ClientNumber
  ) throws(StoreError) {
    checkIn.insert.bind(1, client.rawValue)
    checkIn.insert.bind(2, number)
    checkIn.insert.bind(3, serial)
    try checkIn.insert.run()
  }

  /// The envelope waits again, or is deleted: there is no ending to be told any more.
  func forgetEnding(_ number: EndingNumber?, of client: ClientNumber) throws(StoreError) {
    guard let number else { return }
    checkIn.forget.bind(1, client.rawValue)
    checkIn.forget.bind(2, number)
    try checkIn.forget.run()
  }

  /// The client has seen everything up to this number.
  func forgetEndings(through number: EndingNumber, of client: ClientNumber) throws(StoreError) {
    checkIn.forgetThrough.bind(1, client.rawValue)
    checkIn.forgetThrough.bind(2, number)
    try checkIn.forgetThrough.run()
  }
}
