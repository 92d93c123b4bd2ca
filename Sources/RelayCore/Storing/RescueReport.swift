/// The result of ``EmbeddedStore/rescue(to:)``.
package struct RescueReport: Sendable, Equatable {
  /// The number of pages of the new database.
  package var pages: Int
  /// The number of body files that were copied.
  package var bodies: Int
  /// The number of body files that are gone: their envelopes cannot be sent.
  package var missingBodies: Int
  /// The size of everything on disk, in bytes.
  package var bytes: Int64

  /// Puts a report together.
  package init(pages: Int, bodies: Int, missingBodies: Int, bytes: Int64) {
    self.pages = pages
    self.bodies = bodies
    self.missingBodies = missingBodies
    self.bytes = bytes
  }
}
