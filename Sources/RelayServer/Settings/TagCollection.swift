/// A set of tags under one name, so that a device can have all that belongs to some occasion run
/// without knowing what that is: before it reads, say, everything that it wrote.
package struct TagCollection: Equatable, Sendable {
  /// Its name in a run: 1 to 128 visible ASCII characters.
  package let name: String
  /// The envelopes' tags that it stands for; at least one, none twice.
  package let tags: [String]

  /// The most tags of a collection.
  package static let tagsMax = 1000

  /// Names a set of tags.
  package init(name: String, tags: [String]) {
    self.name = name
    self.tags = tags
  }
}
