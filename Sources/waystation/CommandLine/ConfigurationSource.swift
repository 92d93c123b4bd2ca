import EventLoop
import RelayServer

/// The source of a configuration, as the command line names it.
struct ConfigurationSource: Equatable {
  /// The value of `--config`, if it was given.
  var configPath: String?
  /// The options, which override variables and the file.
  var flags = ConfigurationFlags()

  /// The longest configuration file, in bytes.
  static let fileBytesMax = 16 << 20

  /// The problems that make a configuration unusable, one line each.
  struct Failure: Error, Equatable {
    let problems: [String]
  }

  /// Loads the configuration that file, variables and options make together.
  ///
  /// Opens no other file.
  func load(environment: [String: String]) throws(Failure) -> Configuration {
    var file: (path: String, bytes: [UInt8])?
    if let path = Configuration.filePath(flag: configPath, environment: environment) {
      do throws(SystemError) {
        file = (path, try FileContents.read(path, bytesMax: Self.fileBytesMax))
      } catch {
        throw Failure(problems: ["\(path) cannot be read: \(error.reason)"])
      }
    }
    switch Configuration.load(file: file, environment: environment, flags: flags) {
    case .success(let configuration): return configuration
    case .failure(let errors): throw Failure(problems: errors.problems.map(\.description))
    }
  }
}

extension ConfigurationSource.Failure {
  /// Writes all problems on standard error, one a line.
  func report() {
    let count = problems.count == 1 ? "a problem" : "\(problems.count) problems"
    StandardStream.error.line("waystation: the configuration has \(count)")
    for problem in problems { StandardStream.error.line("  \(problem)") }
  }
}
