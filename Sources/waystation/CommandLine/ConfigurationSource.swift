import EventLoop
import Glibc
import RelayServer

/// The source of a configuration, as the command line names it.
struct ConfigurationSource: Equatable {
  /// The value of `--config`, if it was given.
  var configPath: String?
  /// The options, which override variables and the file.
  var flags = ConfigurationFlags()
  /// The files of variables to read as systemd would, for `check`; later ones take precedence.
  var environmentFiles: [String] = []
  /// Whether `check` tries the upstreams, too.
  var triesUpstreams = false
  /// Whether `check` looks at the place of the store, too.
  var triesStore = false

  /// The longest configuration file, in bytes.
  static let fileBytesMax = 16 << 20

  /// The problems that make a configuration unusable, one line each.
  struct Failure: Error, Equatable {
    let problems: [String]
  }

  /// Loads the configuration that file, variables and options make together.
  ///
  /// Opens no other files than those that the configuration names as `${file:PATH}`.
  ///
  /// - Parameters:
  ///   - isAnew: Whether it is loaded while the relay runs. Then the file has to be a regular one:
  ///     a pipe would be waited for.
  ///   - needsUpstream: Whether one without upstreams is a mistake.
  func load(
    environment: [String: String], isAnew: Bool = false, needsUpstream: Bool = true
  ) throws(Failure) -> Configuration {
    var file: (path: String, bytes: [UInt8])?
    if let path = Configuration.filePath(flag: configPath, environment: environment) {
      do throws(SystemError) {
        let read = isAnew ? FileContents.readRegular : FileContents.read
        file = (path, try read(path, Self.fileBytesMax))
      } catch  where error.code == EINVAL {
        throw Failure(problems: ["\(path) is no regular file, and only such a one is read again"])
      } catch {
        throw Failure(problems: ["\(path) cannot be read: \(error.reason)"])
      }
    }
    switch Configuration.load(
      file: file, environment: environment, flags: flags, needsUpstream: needsUpstream,
      readSecret: Self.readSecret)
    {
    case .success(let configuration): return configuration
    case .failure(let errors): throw Failure(problems: errors.problems.map(\.description))
    }
  }

  private static func readSecret(_ path: String) throws(SecretFile.Fault) -> [UInt8] {
    do throws(SystemError) {
      return try FileContents.readRegular(path, bytesMax: SecretFile.bytesMax)
    } catch {
      switch error.code {
      case EFBIG: throw .tooLarge
      case EINVAL: throw SecretFile.Fault("is no regular file; name a file that holds the secret")
      case EACCES:
        throw SecretFile.Fault("cannot be read: \(error.reason); let the relay's user read it")
      default:
        throw SecretFile.Fault(
          "cannot be read: \(error.reason); put the secret there, or correct the path")
      }
    }
  }

  /// The process's variables, with those of ``environmentFiles`` over them.
  ///
  /// - Parameter warn: Called with a sentence about each line that systemd leaves out.
  func variables(
    over process: [String: String], warn: (String) -> Void
  ) throws(Failure) -> [String: String] {
    var variables = process
    for path in environmentFiles {
      let file = try Self.environmentFile(path)
      variables.merge(file.variables) { _, new in new }
      for line in file.ignoredLines {
        warn("\(path): line \(line) assigns nothing to a variable; systemd leaves it out")
      }
    }
    return variables
  }

  private static func environmentFile(_ path: String) throws(Failure) -> EnvironmentFile {
    let bytes: [UInt8]
    do throws(SystemError) {
      bytes = try FileContents.read(path, bytesMax: EnvironmentFile.bytesMax)
    } catch {
      throw Failure(problems: ["--environment-file: \(path) cannot be read: \(error.reason)"])
    }
    do throws(EnvironmentFile.Fault) {
      return try EnvironmentFile(bytes)
    } catch {
      throw Failure(problems: ["--environment-file: \(path) \(error.reason)"])
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
