import EventLoop
import RelayServer

/// Where the configuration comes from, as the command line says it.
struct ConfigurationSource: Equatable {
  /// `--config`, if it was given.
  var configPath: String?
  /// The options that beat variables and the file.
  var flags = ConfigurationFlags()

  /// The longest configuration file, in bytes.
  static let fileBytesMax = 16 << 20

  /// Why there is no configuration: one line a problem.
  struct Failure: Error, Equatable {
    let problems: [String]
  }

  /// The configuration that file, variables and options make together; opens nothing but the file.
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
  /// Tells all problems, one a line, on standard error.
  func report() {
    let count = problems.count == 1 ? "a problem" : "\(problems.count) problems"
    StandardStream.error.line("waystation: the configuration has \(count)")
    for problem in problems { StandardStream.error.line("  \(problem)") }
  }
}
