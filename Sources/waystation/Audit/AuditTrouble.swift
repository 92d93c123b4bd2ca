/// Why an audit came to no verdict on the numbers of the lane.
enum AuditTrouble: Error, Equatable {
  /// Something that has to be signed.
  enum Document: String {
    case keys, receipt, page
  }

  /// A file cannot be read, or is none of the kind that is wanted; the words say which and why.
  case unreadable(String)
  /// It does not hold by itself, whatever else holds.
  ///
  /// `place` counts those of one file from 1; nil for a file with one.
  case unproven(Document, place: Int? = nil, String)
}
