import EventLoop
import Glibc
import RelayCore
import RelayServer

/// `waystation token`: makes, lists, revokes, derives and digests tokens.
///
/// A secret is read from a file or a variable and never from the command line, which every user of
/// the machine can see (proc_pid_cmdline(5)).
enum TokenCommand {
  static func run(_ options: TokenOptions) -> ExitCode {
    _ = signal(SIGPIPE, SIG_IGN)
    let environment = Environment.variables()
    do throws(OperatorFailure) {
      switch options.action {
      case .derive: try derive(options, environment)
      case .hash: try hash(options, environment)
      case .create, .list, .revoke, .renew:
        try TokenRegister(options: options, relay: RelayClient(options.given, environment)).run()
      }
      return .good
    } catch {
      StandardStream.error.line("waystation token: \(error.reason)")
      return error.code
    }
  }

  private static func derive(
    _ options: TokenOptions, _ environment: [String: String]
  ) throws(OperatorFailure) {
    let digits = try secret(
      file: options.secretFile, option: "--secret-file", variable: "WAYSTATION_KEY_SECRET",
      environment)
    guard let secret = ClientKeyConfiguration.secret(digits) else {
      let range = ClientKeyConfiguration.secretBytes
      throw OperatorFailure(
        reason: "a key's secret has \(range.lowerBound) to \(range.upperBound) bytes, in"
          + " hexadecimal digits, as 'openssl rand -hex 32' makes them")
    }
    guard let token = DerivedToken(key: options.key ?? "", client: options.client ?? "") else {
      throw OperatorFailure(
        reason: "a key's name has letters, digits, '_' and '-', at most"
          + " \(KeyNameSyntax.bytesMax); a client's 1 to 128 visible ASCII characters")
    }
    StandardStream.output.line(token.text(secret))
  }

  private static func hash(
    _ options: TokenOptions, _ environment: [String: String]
  ) throws(OperatorFailure) {
    if options.isNew {
      let token = AccessToken.makeConfigured()
      StandardStream.output.line("token        \(token)")
      StandardStream.output.line("tokenSHA256  \(AccessToken.configuredDigest(of: token) ?? "")")
      return
    }
    let token = try secret(
      file: options.given.text("--token-file"), option: "--token-file",
      variable: "WAYSTATION_TOKEN", environment)
    guard let digest = AccessToken.configuredDigest(of: token) else {
      throw OperatorFailure(
        reason: "that is no operator's token for the configuration; 'waystation token hash --new'"
          + " makes one")
    }
    StandardStream.output.line(digest)
  }

  /// A secret from a file, else from a variable, without surrounding white space.
  private static func secret(
    file: String?, option: String, variable: String, _ environment: [String: String]
  ) throws(OperatorFailure) -> String {
    let bytes: [UInt8]
    if let file {
      do throws(SystemError) {
        bytes = try FileContents.read(file, bytesMax: 65536)
      } catch {
        throw OperatorFailure(reason: "\(file) cannot be read: \(error.reason)")
      }
    } else if let value = environment[variable], !value.isEmpty {
      bytes = Array(value.utf8)
    } else {
      throw OperatorFailure(reason: "give \(option) FILE, or set \(variable)")
    }
    let isBlank = { (byte: UInt8) in byte == 0x20 || (0x09...0x0D).contains(byte) }
    let text = bytes.drop(while: isBlank).reversed().drop(while: isBlank).reversed()
    return String(decoding: Array(text), as: UTF8.self)
  }
}
