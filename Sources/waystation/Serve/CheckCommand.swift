import EventLoop
import RelayCore
import RelayServer

/// `waystation check`: checks a configuration without running it.
enum CheckCommand {
  static func run(_ source: ConfigurationSource) -> ExitCode {
    do throws(ConfigurationSource.Failure) {
      let variables = try source.variables(over: Environment.variables(), warn: warn)
      let configuration = try source.load(environment: variables)
      let certificates = CertificateReport(of: configuration, now: WallClock.now())
      let problems =
        certificates.problems.map(\.description) + configuration.storeFileProblems
        + configuration.receiptKeyProblems
      guard problems.isEmpty else { throw ConfigurationSource.Failure(problems: problems) }
      StandardStream.output.line("the configuration is good")
      StandardStream.output.line(summary(of: configuration))
      for warning in certificates.warnings { warn("\(warning)") }
      if let folder = configuration.unusedData {
        warn("the store is in PostgreSQL: the data folder \(folder) is not used")
      }
      let store = source.triesStore ? tryStore(of: configuration) : .good
      let upstreams = source.triesUpstreams ? tryUpstreams(of: configuration) : .good
      return store == .good ? upstreams : store
    } catch {
      error.report()
      return .failed
    }
  }

  /// Looks at the place of the store, and says what was found there.
  private static func tryStore(of configuration: Configuration) -> ExitCode {
    let trial = StoreTrial(of: configuration)
    for finding in trial.findings { StandardStream.output.line("store \(trial.place): \(finding)") }
    guard !trial.faults.isEmpty else {
      StandardStream.output.line("the store can be used")
      return report(trial.doubt, of: trial.place)
    }
    for fault in trial.faults { StandardStream.error.line("store \(trial.place): \(fault)") }
    StandardStream.error.line("the store cannot be used")
    return .failed
  }

  /// Says why commits may be less safe than the configuration wants.
  private static func report(_ doubt: DurabilityDoubt?, of place: String) -> ExitCode {
    guard let doubt else { return .good }
    guard doubt.isCertain else {
      warn("store \(place): \(doubt.sentence)")
      return .good
    }
    StandardStream.error.line("store \(place): \(doubt.sentence)")
    StandardStream.error.line("its commits are less safe than store.postgres.durability wants")
    return .failed
  }

  /// Tries all upstreams, and says what came of it.
  private static func tryUpstreams(of configuration: Configuration) -> ExitCode {
    do throws(SystemError) {
      let loop = try EventLoop(name: "check")
      return Blocking.run(on: loop) {
        let trials = await UpstreamTrial.run(configuration.upstreams)
        for trial in trials {
          let line = "upstream \(trial.upstream): \(trial.words)"
          if trial.isGood {
            StandardStream.output.line(line)
          } else {
            StandardStream.error.line(line)
          }
        }
        let faults = trials.count { !$0.isGood }
        guard faults > 0 else {
          StandardStream.output.line("all upstreams that were tried can be used")
          return .good
        }
        StandardStream.error.line(
          "\(faults) of \(HumanText.counted(Int64(trials.count), "upstream")) cannot be used")
        return .failed
      }
    } catch {
      StandardStream.error.line("the upstreams cannot be tried: \(error)")
      return .failed
    }
  }

  private static func warn(_ sentence: String) {
    StandardStream.error.line("warning: \(sentence)")
  }

  /// A few lines on what the relay would do, without any header field of an upstream.
  static func summary(of configuration: Configuration) -> String {
    var lines = configuration.listen.map { ("listen", describe($0)) }
    lines.append(("access", access(to: configuration)))
    let isFolder = configuration.store.postgres == nil
    lines.append((isFolder ? "data" : "store", configuration.shownStore))
    for upstream in configuration.upstreams {
      lines.append(("upstream", describe(upstream)))
    }
    let retention = configuration.retention
    lines.append(
      (
        "keep",
        "delivered for \(duration(retention.deliveredSeconds)), other ended ones for"
          + " \(duration(retention.failedSeconds))"
          + (retention.keySeconds > 0 ? ", keys for \(duration(retention.keySeconds))" : "")
      ))
    if let receipts = configuration.receipts, let folder = configuration.receiptKeysFolder {
      lines.append(("receipts", "\(receipts.issuer), keys in \(folder)"))
    }
    let evidence = configuration.lanes.entries.filter(\.value.isEvidence).map(\.pattern)
    if !evidence.isEmpty { lines.append(("evidence", "lanes " + evidence.joined(separator: ", "))) }
    if let endpoint = configuration.tracing.shownEndpoint { lines.append(("tracing", endpoint)) }
    lines.append(
      ("log", "\(configuration.log.level.rawValue), \(configuration.log.format.rawValue)"))
    return lines.map { label, text in
      "  " + label + String(repeating: " ", count: 10 - label.count) + text
    }
    .joined(separator: "\n")
  }

  private static func describe(_ listener: ListenerConfiguration) -> String {
    var words = [listener.shown(bound: listener.endpoint)]
    if let audience = listener.audience { words.append("for \(audience.rawValue)") }
    if let tls = listener.tls { words.append("TLS \(tls.minVersion.rawValue) and later") }
    if let clients = listener.tls?.clientCertificates {
      words.append("client certificates \(clients.isRequired ? "required" : "taken")")
    }
    return words.joined(separator: ", ")
  }

  /// The clients that may use the relay, in a few words.
  private static func access(to configuration: Configuration) -> String {
    func count(_ number: Int, _ one: String) -> String {
      "\(number) \(one)\(number == 1 ? "" : "s")"
    }
    let access = configuration.access
    let isOpen = access.anonymous.map { $0 == .allow } ?? !configuration.tellsCallersApart
    let known =
      count(access.operators.count, "operator") + ", "
      + count(access.clientKeys.count, "client key")
    return isOpen ? "anybody who can reach it; \(known)" : known
  }

  private static func describe(_ upstream: UpstreamConfiguration) -> String {
    let headers =
      switch upstream.headers.count {
      case 0: ""
      case 1: ", 1 header set"
      case let count: ", \(count) headers set"
      }
    let credentials = upstream.credentials.map { ", credentials \($0.kind.rawValue)" } ?? ""
    let identity = upstream.clientCertificate == nil ? "" : ", client certificate"
    return "\(upstream.name) = \(upstream.shownURL) (\(upstream.maxConcurrent) at once,"
      + " on failure \(upstream.onFailure.rawValue),"
      + " expires after \(duration(upstream.deadlineSeconds))\(together(upstream))"
      + "\(headers)\(credentials)\(identity))"
  }

  private static func together(_ upstream: UpstreamConfiguration) -> String {
    let batch = upstream.batch
    let form = batch.format.map { format in
      ", up to \(batch.itemsMax) together as \(format.rawValue)"
        + (batch.path.map { " to \($0)" } ?? "") + (batch.gzip ? " in gzip" : "")
    }
    let pace = upstream.requestsPerSecondMax.map { rate in
      ", \(HumanText.rate(rate))" + (upstream.burst.map { " and \($0) at once" } ?? "")
    }
    let version =
      upstream.minTLSVersion == UpstreamConfiguration.minTLSVersionUsual
      ? "" : ", TLS \(upstream.minTLSVersion.rawValue) and later"
    return (form ?? "") + (pace ?? "") + version + (upstream.http2 ? "" : ", without HTTP/2")
  }

  private static func duration(_ seconds: Int) -> String {
    if seconds != 0, seconds % 86_400 == 0 { return "\(seconds / 86_400) d" }
    if seconds != 0, seconds % 3600 == 0 { return "\(seconds / 3600) h" }
    return "\(seconds) s"
  }
}
