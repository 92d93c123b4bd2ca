#if PostgreSQL
/// Two servers of a database on loopback, of which one writes, and the other one is its synchronous
/// standby.
package protocol DatabasePair: Sendable {
  /// Where the two listen.
  var ports: [UInt16] { get }
  /// The port of the one that writes.
  var writerPort: UInt16 { get }

  /// Whether the one that has lost its standby commits without one, until ``addStandby()``.
  var goesOnAlone: Bool { get }

  /// Kills the one that writes as a power cut would, and waits until the standby has its place.
  func failOver() throws
  /// Stops all processes of the one that writes, which then neither answers nor ends.
  func freezeWriter() throws
  /// Waits until the standby has the place of the one that writes, whatever that one does.
  func promote() throws
  /// Has the one go on that wrote before the promotion, and knows of none.
  func thawFormer() throws
  /// Gives the one that writes a standby again, and waits until commits wait for it.
  func addStandby() throws
}

extension DatabasePair {
  /// For both: whoever connects finds one that says that it writes.
  package var url: String { PostgresPair.url(by: ports) }

  /// For the one that writes, whatever the other one says.
  package var writerURL: String { PostgresPair.url(by: [writerPort]) }
}
#endif
