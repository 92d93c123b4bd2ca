import Cryptography
import RelayCore

/// The contents of the files that a configuration names for connections that the relay makes, as
/// they are at the start and at each reload.
struct ConnectionFiles: Sendable, Equatable {
  /// Those of the upstreams, by their names.
  var upstreams: [String: UpstreamFiles] = [:]
  /// Those of the collector of traces.
  var tracing = UpstreamFiles()
}

extension Configuration {
  /// Reads the files that it names for connections that the relay makes.
  ///
  /// Without usable authorities, nothing could be sent to a server whose certificate has to be
  /// checked, and that server would seem to be at fault.
  ///
  /// - Throws: The first that cannot be used, with the key that names it.
  func connectionFiles() throws(ConfigurationProblem) -> ConnectionFiles {
    var problems: [ConfigurationProblem] = []
    let files = connectionFiles(&problems)
    if let problem = problems.first { throw problem }
    return files
  }

  /// Reads them, and adds each that cannot be used to the problems.
  func connectionFiles(_ problems: inout [ConfigurationProblem]) -> ConnectionFiles {
    var files = ConnectionFiles()
    for upstream in upstreams {
      files.upstreams[upstream.name] = UpstreamFiles(of: upstream, &problems)
    }
    guard let path = tracing.certificateAuthorities else { return files }
    do throws(TLSLoadError) {
      files.tracing.authorities = try AuthoritiesFile(reading: path)
    } catch {
      problems.append(
        ConfigurationProblem(key: "tracing.certificateAuthorities", reason: error.description))
    }
    return files
  }
}
