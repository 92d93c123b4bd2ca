import Cryptography
import EventLoop
import JSON
import RelayCore

/// The flags of the command line that configure the relay.
package struct ConfigurationFlags: Equatable, Sendable {
  /// `--listen`, as often as it was given.
  package var listen: [String] = []
  /// `--data`.
  package var data: String?
  /// `--upstream NAME=URL`, as often as it was given.
  package var upstreams: [String] = []
  /// `--allow-anonymous`.
  package var allowsAnonymous = false
  /// `--log-level`.
  package var logLevel: String?
  /// `--log-format`.
  package var logFormat: String?
  /// Whether a line for each request was asked for.
  package var logsAccess = false
  /// `--set-aside-damaged`.
  package var setsAsideDamaged = false

  /// No flags.
  package init() {}
}

extension Configuration {
  /// The configuration that a file, variables and flags make together: flags beat variables beat
  /// the file, and what none of them says has its default.
  ///
  /// Variables: `WAYSTATION_LISTEN` (addresses), `WAYSTATION_DATA`, `WAYSTATION_POSTGRES_URL`,
  /// `WAYSTATION_UPSTREAMS` (`NAME=URL`), `WAYSTATION_ANONYMOUS` (`allow`), `WAYSTATION_HOSTS`
  /// (names),
  /// `WAYSTATION_OPERATORS` (`NAME=ROLE:DIGEST`), `WAYSTATION_TRACING_ENDPOINT`,
  /// `WAYSTATION_LOG_LEVEL`, `WAYSTATION_LOG_FORMAT` and
  /// `WAYSTATION_LOG_ACCESS` (`true` or `false`); an empty one says nothing.
  /// `STATE_DIRECTORY` (systemd.exec(5)) is the default of the data folder, which all others beat.
  /// Addresses do not replace listeners of which the file says `tls` or `for`.
  /// Lists are separated by commas or blanks, so a comma in a URL there is written `%2C`. An
  /// upstream that a variable or flag names keeps what the file says of it but the URL.
  ///
  /// Reads nothing itself, so that a bad configuration cannot touch anything.
  ///
  /// - Parameters:
  ///   - file: The file's path, for messages, and what it holds.
  ///   - needsUpstream: Whether one without upstreams is a mistake, as for a relay that is to run.
  ///   - readSecret: Reads the files that the configuration names as `${file:PATH}`.
  /// - Returns: The configuration, or everything that is wrong with it.
  package static func load(
    file: (path: String, bytes: [UInt8])? = nil,
    environment: [String: String] = [:],
    flags: ConfigurationFlags = ConfigurationFlags(), needsUpstream: Bool = true,
    readSecret: @escaping SecretFile.Reader = SecretFile.unread
  ) -> Result<Configuration, ConfigurationErrors> {
    var configuration = Configuration()
    let problems = ProblemCollector()
    // One that is made for the service stands before the others, if there are several.
    if let folder = environment["STATE_DIRECTORY"]?.split(separator: ":").first {
      configuration.data = String(folder)
    }
    let usualData = configuration.data
    if let file {
      let secrets = SecretSources(environment: environment, readFile: readSecret)
      configuration.apply(file: file, secrets: secrets, problems: problems)
      configuration.origin = ConfigurationOrigin(
        path: file.path, sha256: Hexadecimal.encode(SHA256.digest(of: file.bytes)))
    }
    let variables = Overrides(environment: environment)
    configuration.apply(variables, problems: problems)
    configuration.apply(Overrides(flags: flags), problems: problems)
    configuration.setsAsideDamaged = flags.setsAsideDamaged
    if configuration.store.postgres != nil, configuration.data != usualData {
      configuration.unusedData = configuration.data
    }
    if needsUpstream, configuration.upstreams.isEmpty, problems.problems.isEmpty {
      problems.add(
        "upstreams",
        "no upstream is configured; name one with --upstream default=https://api.example.com,"
          + " WAYSTATION_UPSTREAMS=default=https://api.example.com, or in the file that --config"
          + " names")
    }
    configuration.checkRelations(problems)
    guard problems.problems.isEmpty else {
      return .failure(ConfigurationErrors(problems.problems))
    }
    return .success(configuration)
  }

  /// The file to read, if one was named: `--config` beats `WAYSTATION_CONFIG`.
  package static func filePath(flag: String?, environment: [String: String]) -> String? {
    flag ?? Overrides.nonEmpty(environment["WAYSTATION_CONFIG"])
  }

  private mutating func apply(
    file: (path: String, bytes: [UInt8]), secrets: SecretSources, problems: ProblemCollector
  ) {
    do throws(JSONError) {
      let value = try JSONValue.parse(file.bytes)
      guard
        var section = SectionReader(
          value, path: "", problems: problems, secrets: secrets)
      else { return }
      section.read(into: &self)
      section.finish()
    } catch {
      let place = TextPlace(of: error.offset, in: file.bytes[...])
      problems.add(
        "",
        "\(file.path) is not valid JSON: \(error.reason), at line \(place.line), column "
          + "\(place.column)" + (error.path.isEmpty ? "" : " (\(error.path))"))
    }
  }

  private mutating func apply(_ overrides: Overrides, problems: ProblemCollector) {
    if let (key, texts) = overrides.listen {
      let form = ListenerConfiguration.form
      refuseToReplace(listen, key: key, problems)
      if texts.isEmpty { problems.add(key, expected: form, found: "nothing") }
      listen = texts.compactMap { text -> ListenerConfiguration? in
        let endpoint = Endpoint(text)
        if endpoint == nil { problems.add(key, expected: form, found: "\"\(text)\"") }
        return endpoint.map(ListenerConfiguration.init)
      }
    }
    if let (key, text) = overrides.data {
      if text.isEmpty { problems.add(key, expected: "the path of a folder", found: "nothing") }
      data = text
    }
    if let (key, text) = overrides.postgresURL {
      let url = Secret(text)
      if let flaw = PostgresConfiguration.flaw(in: url) { problems.add(key, flaw) }
      store.postgres = store.postgres ?? PostgresConfiguration()
      store.postgres?.url = url
    }
    if let (key, text) = overrides.anonymous {
      access.anonymous = Self.word(text, key: key, or: access.anonymous ?? .refuse, problems)
    }
    if let (key, texts) = overrides.hosts {
      access.hosts = texts.compactMap { text in
        let host = KnownHost(text)
        if host == nil { problems.add(key, expected: KnownHost.rule, found: "\"\(text)\"") }
        return host
      }
    }
    for (key, text) in overrides.operators { access.add(operator: text, key: key, problems) }
    for (key, text) in overrides.upstreams { applyUpstream(text, key: key, problems: problems) }
    if let (key, text) = overrides.tracingEndpoint { applyTracing(text, key, problems) }
    if let (key, text) = overrides.logLevel {
      log.level = Self.word(text, key: key, or: log.level, problems)
    }
    if let (key, text) = overrides.logFormat {
      log.format = Self.word(text, key: key, or: log.format, problems)
    }
    if let (key, text) = overrides.logAccess {
      let word = Self.word(text, key: key, or: log.access ? TruthWord.true : .false, problems)
      log.access = word == .true
    }
  }

  /// An address alone cannot say what the file says of its listeners: in their place it would leave
  /// out TLS, or let devices at the operators' routes, in silence.
  private func refuseToReplace(
    _ listeners: [ListenerConfiguration], key: String, _ problems: ProblemCollector
  ) {
    guard let other = listeners.first(where: { $0.tls != nil || $0.audience != nil }) else {
      return
    }
    let term = other.tls != nil ? "tls" : "for"
    problems.add(
      key,
      "would take the place of the file's \"listen\", where \(other) has \"\(term)\", which an"
        + " address alone cannot say; leave \(key) out, or take \"listen\" out of the file")
  }

  private mutating func applyUpstream(_ text: String, key: String, problems: ProblemCollector) {
    let equals = text.firstIndex(of: "=") ?? text.startIndex
    let name = String(text[..<equals])
    guard UpstreamConfiguration.isName(name) else {
      let shown = text.contains { "@?".contains($0) } ? "something else" : "\"\(text)\""
      problems.add(
        key, expected: "NAME=URL, as in default=https://api.example.com,", found: shown)
      return
    }
    let address = String(text[text.index(after: equals)...])
    do throws(UpstreamURL.Refusal) {
      let url = try UpstreamURL(address)
      if let index = upstreams.firstIndex(where: { $0.name == name }) {
        upstreams[index].url = url
      } else {
        upstreams.append(UpstreamConfiguration(name: name, url: url))
      }
    } catch {
      problems.add(
        key, expected: "for the upstream \"\(name)\" \(error.expected)",
        found: error.mayShow ? "\"\(address)\"" : "another one")
    }
  }

  private mutating func applyTracing(_ text: String, _ key: String, _ problems: ProblemCollector) {
    do throws(UpstreamURL.Refusal) {
      tracing.endpoint = try UpstreamURL(text)
    } catch {
      problems.add(
        key, expected: error.expected, found: error.mayShow ? "\"\(text)\"" : "another one")
    }
  }

  private static func word<Word: RawRepresentable<String> & CaseIterable>(
    _ text: String, key: String, or old: Word, _ problems: ProblemCollector
  ) -> Word {
    if let word = Word(rawValue: text) { return word }
    problems.add(key, expected: Word.choices, found: "\"\(text)\"")
    return old
  }
}

/// Values from variables, or from flags, each with the name for its problems.
private struct Overrides {
  var listen: (key: String, texts: [String])?
  var data: (key: String, text: String)?
  var postgresURL: (key: String, text: String)?
  var upstreams: [(key: String, text: String)] = []
  var anonymous: (key: String, text: String)?
  var hosts: (key: String, texts: [String])?
  var operators: [(key: String, text: String)] = []
  var tracingEndpoint: (key: String, text: String)?
  var logLevel: (key: String, text: String)?
  var logFormat: (key: String, text: String)?
  var logAccess: (key: String, text: String)?

  init(environment: [String: String]) {
    // An empty variable says nothing: compose files and shells set those without meaning it.
    func named(_ key: String) -> (key: String, text: String)? {
      Self.nonEmpty(environment[key]).map { (key, $0) }
    }
    listen = named("WAYSTATION_LISTEN").map { ($0.key, Self.list($0.text)) }
    data = named("WAYSTATION_DATA")
    postgresURL = named("WAYSTATION_POSTGRES_URL")
    upstreams =
      named("WAYSTATION_UPSTREAMS").map { variable in
        Self.list(variable.text).map { (variable.key, $0) }
      } ?? []
    anonymous = named("WAYSTATION_ANONYMOUS")
    hosts = named("WAYSTATION_HOSTS").map { ($0.key, Self.list($0.text)) }
    operators =
      named("WAYSTATION_OPERATORS").map { variable in
        Self.list(variable.text).map { (variable.key, $0) }
      } ?? []
    tracingEndpoint = named("WAYSTATION_TRACING_ENDPOINT")
    logLevel = named("WAYSTATION_LOG_LEVEL")
    logFormat = named("WAYSTATION_LOG_FORMAT")
    logAccess = named("WAYSTATION_LOG_ACCESS")
  }

  init(flags: ConfigurationFlags) {
    listen = flags.listen.isEmpty ? nil : ("--listen", flags.listen)
    data = flags.data.map { ("--data", $0) }
    upstreams = flags.upstreams.map { ("--upstream", $0) }
    if flags.allowsAnonymous { anonymous = ("--allow-anonymous", "allow") }
    logLevel = flags.logLevel.map { ("--log-level", $0) }
    logFormat = flags.logFormat.map { ("--log-format", $0) }
    if flags.logsAccess { logAccess = ("--log-access", TruthWord.true.rawValue) }
  }

  static func nonEmpty(_ text: String?) -> String? { text.flatMap { $0.isEmpty ? nil : $0 } }

  private static func list(_ text: String) -> [String] {
    text.split { $0 == "," || $0.isWhitespace }.map(String.init)
  }
}

/// The words of a variable that turns something on or off.
private enum TruthWord: String, CaseIterable {
  case `true`, `false`
}
