import RelayCore

// The app's own code runs for an item before it goes: readiness, and the making of commands. If the
// app dies in it, the item would kill it again at each start. So the item's number is on the disk
// before that code runs.
extension OutboxCore {
  /// Looks whether the app died over an item, and leaves it alone after several times.
  func takeUpDeaths() throws(StoreError) {
    guard let id = try file.number(.preparing), id > 0 else { return }
    let deaths = try file.number(.deaths) ?? 0
    guard deaths >= CoreLimits.deathsMax else { return }
    try file.set(.preparing, 0)
    try file.set(.deaths, 0)
    guard var item = try file.item(id), !item.state.needsAttention else { return }
    item.state = .quarantined
    item.error = RecordedError(
      id: "quarantined",
      message: "The app ended \(deaths) times in a row while this item was being prepared.")
    try file.update(item)
    state.attention += 1
  }

  /// The app is about to be asked about an item.
  func beginPreparing(_ item: KeptItem) throws(StoreError) {
    let isSame = try file.number(.preparing) == item.id
    try file.set(.deaths, isSame ? (try file.number(.deaths) ?? 0) + 1 : 1)
    try file.set(.preparing, item.id)
    state.preparing = item.id
    state.asksAgain = false
  }

  /// The app has said what it had to say.
  func endPreparing() throws(StoreError) {
    try file.set(.preparing, 0)
    try file.set(.deaths, 0)
    state.preparing = nil
  }
}
