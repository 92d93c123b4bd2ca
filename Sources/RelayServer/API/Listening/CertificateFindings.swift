import Cryptography
import RelayCore

/// The findings about a certificate that could be loaded.
struct CertificateFindings {
  /// So long before its end a certificate is spoken of.
  static let soonMs: Int64 = 14 * 86_400_000

  /// Why clients will not accept it, or will not be accepted, as sentences.
  private(set) var problems: [String] = []
  /// The warnings, which can wait.
  private(set) var warnings: [String] = []

  init(_ context: TLSContext, _ tls: TLSConfiguration, now: WallTime) {
    add(context.facts, tls.certificate, now: now)
    if context.isKeyReadableByEveryone { addReadable(tls.key) }
    guard let due = context.revocationsDueSeconds, let asked = tls.clientCertificates,
      let lists = asked.revocations
    else { return }
    let renewal = WallTime(millisecondsSinceEpoch: due * 1000)
    if now >= renewal {
      problems.append(
        "\(lists): a revocation list was to be renewed by \(RFC3339.format(renewal)); until it is,"
          + " its authority's clients are turned away")
    }
  }

  /// Looks at the certificate that an upstream is shown.
  init(_ identity: ClientIdentity, now: WallTime) {
    add(identity.facts, identity.path, now: now)
    if identity.isKeyReadableByEveryone { addReadable(identity.keyPath) }
  }

  private mutating func addReadable(_ path: String) {
    warnings.append("\(path): every user of this machine can read the key; chmod o-r \(path)")
  }

  private mutating func add(_ facts: CertificateFacts, _ path: String, now: WallTime) {
    let from = WallTime(millisecondsSinceEpoch: facts.validFromSeconds * 1000)
    let until = WallTime(millisecondsSinceEpoch: facts.validUntilSeconds * 1000)
    let certificate = "\(path): the certificate of \(facts.name)"
    if now >= until {
      problems.append(
        "\(certificate) has expired, at \(RFC3339.format(until)); renew it, then send the relay a"
          + " SIGHUP")
    } else if now < from {
      problems.append(
        "\(certificate) does not hold before \(RFC3339.format(from)); look at this machine's clock")
    } else if until.millisecondsSinceEpoch - now.millisecondsSinceEpoch < Self.soonMs {
      warnings.append(
        "\(certificate) expires soon, at \(RFC3339.format(until)); renew it, then send the relay a"
          + " SIGHUP")
    }
  }
}

/// The findings of `waystation check` about certificates: the listeners' own, those that upstreams
/// are shown, and the authorities for those of upstreams and of the collector of traces.
package struct CertificateReport: Sendable {
  /// The errors: the relay would not start, or clients would not accept the certificate.
  package private(set) var problems: [ConfigurationProblem] = []
  /// The warnings, as sentences; they can wait.
  package private(set) var warnings: [String] = []

  /// Reads the certificates, keys and lists that a configuration names.
  package init(of configuration: Configuration, now: WallTime) {
    for (index, listener) in configuration.listen.enumerated() {
      guard let tls = listener.tls else { continue }
      let key = configuration.listen.count == 1 ? "listen.tls" : "listen[\(index)].tls"
      do throws(TLSLoadError) {
        let findings = CertificateFindings(
          try TLSContext(loading: tls.settings), tls, now: now)
        problems += findings.problems.map { ConfigurationProblem(key: key, reason: $0) }
        if let fault = try listener.trustFault(tls) {
          let reason = "\(tls.certificate) \(fault)"
          problems.append(ConfigurationProblem(key: "\(key).certificate", reason: reason))
        }
        warnings += findings.warnings.map { "\(key): \($0)" }
      } catch {
        problems.append(ConfigurationProblem(key: key, reason: error.description))
      }
    }
    let files = configuration.connectionFiles(&problems).upstreams
    for upstream in configuration.upstreams {
      if let identity = files[upstream.name]?.identity { add(identity, of: upstream, now: now) }
    }
  }

  private mutating func add(
    _ identity: ClientIdentity, of upstream: UpstreamConfiguration, now: WallTime
  ) {
    let key = "upstreams.\(upstream.name).clientCertificate"
    let findings = CertificateFindings(identity, now: now)
    problems += findings.problems.map { ConfigurationProblem(key: key, reason: $0) }
    warnings += findings.warnings.map { "\(key): \($0)" }
  }
}
