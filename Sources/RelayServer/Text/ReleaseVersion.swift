import Forwarder
import SQLite

/// Which release of Waystation this is.
package enum ReleaseVersion {
  /// The number, by Semantic Versioning 2.0.0.
  package static let number = "0.1.0"

  /// The libraries that it runs on, with the versions that were found at run time.
  package static var libraries: [String] {
    [SQLiteLibrary.version] + CurlLibrary.version.split(separator: " ").map(String.init)
  }
}
