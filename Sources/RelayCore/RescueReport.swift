/// What ``EnvelopeStore/rescue(to:)`` has written.
package struct RescueReport: Sendable, Equatable {
  /// How many pages the new database has.
  package var pages: Int
  /// How many bodies in files of their own came along.
  package var bodies: Int
  /// How many are gone: what they belong to cannot be sent.
  package var missingBodies: Int
  /// Bytes of all of it on disk.
  package var bytes: Int64

  /// Puts a report together.
  package init(pages: Int, bodies: Int, missingBodies: Int, bytes: Int64) {
    self.pages = pages
    self.bodies = bodies
    self.missingBodies = missingBodies
    self.bytes = bytes
  }
}
