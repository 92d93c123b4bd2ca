import EventLoop
import Glibc
import JSON
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
    do throws(TokenFailure) {
      switch options.action {
      case .derive: try derive(options, environment)
      case .hash: try hash(options, environment)
      case .create, .list, .revoke: return try ask(options, environment)
      }
      return .good
    } catch {
      return tell(error)
    }
  }

  private static func tell(_ failure: TokenFailure) -> ExitCode {
    StandardStream.error.line("waystation token: \(failure.reason)")
    return .failed
  }

  // MARK: - Without a relay

  private static func derive(
    _ options: TokenOptions, _ environment: [String: String]
  ) throws(TokenFailure) {
    let digits = try secret(
      file: options.secretFile, option: "--secret-file", variable: "WAYSTATION_KEY_SECRET",
      environment)
    guard let secret = ClientKeyConfiguration.secret(digits) else {
      let range = ClientKeyConfiguration.secretBytes
      throw TokenFailure(
        reason: "a key's secret has \(range.lowerBound) to \(range.upperBound) bytes, in"
          + " hexadecimal digits, as 'openssl rand -hex 32' makes them")
    }
    guard let token = DerivedToken(key: options.key ?? "", client: options.client ?? "") else {
      throw TokenFailure(
        reason: "a key's name has letters, digits, '_' and '-', at most"
          + " \(DerivedToken.keyBytesMax); a client's 1 to 128 visible ASCII characters")
    }
    StandardStream.output.line(token.text(secret))
  }

  private static func hash(
    _ options: TokenOptions, _ environment: [String: String]
  ) throws(TokenFailure) {
    if options.isNew {
      let token = AccessToken.makeConfigured()
      StandardStream.output.line("token        \(token)")
      StandardStream.output.line("tokenSHA256  \(AccessToken.configuredDigest(of: token) ?? "")")
      return
    }
    let token = try secret(
      file: options.tokenFile, option: "--token-file", variable: "WAYSTATION_TOKEN", environment)
    guard let digest = AccessToken.configuredDigest(of: token) else {
      throw TokenFailure(
        reason: "that is no operator's token for the configuration; 'waystation token hash --new'"
          + " makes one")
    }
    StandardStream.output.line(digest)
  }

  /// A secret from a file, else from a variable, without the white space around it.
  private static func secret(
    file: String?, option: String, variable: String, _ environment: [String: String]
  ) throws(TokenFailure) -> String {
    let bytes: [UInt8]
    if let file {
      do throws(SystemError) {
        bytes = try FileContents.read(file, bytesMax: 65536)
      } catch {
        throw TokenFailure(reason: "\(file) cannot be read: \(error.reason)")
      }
    } else if let value = environment[variable], !value.isEmpty {
      bytes = Array(value.utf8)
    } else {
      throw TokenFailure(reason: "give \(option) FILE, or set \(variable)")
    }
    let isBlank = { (byte: UInt8) in byte == 0x20 || (0x09...0x0D).contains(byte) }
    let text = bytes.drop(while: isBlank).reversed().drop(while: isBlank).reversed()
    return String(decoding: Array(text), as: UTF8.self)
  }

  // MARK: - With a relay

  private static func ask(
    _ options: TokenOptions, _ environment: [String: String]
  ) throws(TokenFailure) -> ExitCode {
    let token = try secret(
      file: options.tokenFile, option: "--token-file", variable: "WAYSTATION_TOKEN", environment)
    let call = try OperatorCall(options, environment, token: token)
    let loop: EventLoop
    do throws(SystemError) {
      loop = try EventLoop(name: "token")
    } catch {
      throw TokenFailure(reason: "cannot start: \(error)")
    }
    return Blocking.run(on: loop) {
      do throws(TokenFailure) {
        try await ask(options, call)
        return .good
      } catch {
        return tell(error)
      }
    }
  }

  private static func ask(
    _ options: TokenOptions, _ call: OperatorCall
  ) async throws(TokenFailure) {
    switch options.action {
    case .create:
      let answer = try await call.make("POST", "/v1/tokens", body: body(options))
      guard let object = try? JSONValue.parse(answer).object(),
        let id = try? object["id"]?.string(), let token = try? object["token"]?.string()
      else { throw .noSense }
      StandardStream.error.line("made the token \(id), which is shown this once:")
      StandardStream.output.line(token)
    case .revoke:
      let id = options.id ?? ""
      guard id.utf8.allSatisfy(TokenText.isPathByte) else {
        throw TokenFailure(reason: "'\(id)' is no token's id; 'waystation token list' shows them")
      }
      _ = try await call.make("DELETE", "/v1/tokens/\(id)")
      StandardStream.output.line("revoked \(id)")
    default:
      try await list(options, call)
    }
  }

  private static func list(
    _ options: TokenOptions, _ call: OperatorCall
  ) async throws(TokenFailure) {
    var query = "?limit=1000"
    if let client = options.client { query += "&client=" + TokenText.percentEncoded(client) }
    var cursor: String? = ""
    while let from = cursor {
      let next = from.isEmpty ? "" : "&cursor=" + from
      let answer = try await call.make("GET", "/v1/tokens" + query + next)
      guard let object = try? JSONValue.parse(answer).object(),
        let tokens = try? object["tokens"]?.array()
      else { throw .noSense }
      for token in tokens {
        guard let line = (try? token.object()).map(TokenText.line) else { throw .noSense }
        StandardStream.output.line(line)
      }
      cursor = try? object["next"]?.string()
    }
  }

  private static func body(_ options: TokenOptions) -> [UInt8] {
    var json = JSONWriter()
    json.object { json in
      if let client = options.client { json.member("client", client) }
      if let role = options.role { json.member("role", role.rawValue) }
      if let label = options.label { json.member("label", label) }
      if let end = options.expiresAt { json.member("expiresAt", end) }
    }
    return json.finish()
  }
}

/// Why a command about tokens did not work; never with a secret in it.
struct TokenFailure: Error, Equatable {
  let reason: String

  static let noSense = TokenFailure(reason: "what answers is no Waystation")
}
