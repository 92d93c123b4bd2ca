import Cryptography
import EventLoop
import RelayCore

/// The certificates of the listeners: loaded at the start, and again once they were renewed.
final class ListenerCertificates: Sendable {
  /// Why a listener cannot be secured, as a sentence.
  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  private let listeners: [ListenerConfiguration]
  /// One for each listener, in their order; nil where it has no TLS.
  private let credentials: [TLSCredentials?]
  private let log: Log

  /// Loads all of them, and says until when they hold.
  ///
  /// One that has expired is used all the same, with a warning: a relay that is started again must
  /// not stay away from its other listeners and upstreams, nor from devices whose clocks are wrong.
  /// `/readyz` says so for as long as it is so.
  ///
  /// - Throws: What is wrong with the first one that cannot be used at all.
  init(loading listeners: [ListenerConfiguration], log: Log) throws(Failure) {
    self.listeners = listeners
    self.log = log
    var credentials: [TLSCredentials?] = []
    for listener in listeners {
      guard let tls = listener.tls else {
        credentials.append(nil)
        continue
      }
      do throws(TLSLoadError) {
        let context = try TLSContext(loading: tls.settings)
        if let fault = try listener.trustFault(tls) {
          throw TLSLoadError(path: tls.certificate, reason: fault)
        }
        Self.tell(context, of: listener, "certificate loaded", log)
        let findings = CertificateFindings(context, tls, now: WallClock.now())
        for sentence in findings.problems + findings.warnings {
          log.warning("certificate needs attention", ("reason", .text(sentence)))
        }
        credentials.append(TLSCredentials(context))
      } catch {
        throw Failure(description: "cannot secure \(listener): \(error)")
      }
    }
    self.credentials = credentials
  }

  /// Returns the TLS credentials of a listener; nil for a listener without TLS.
  func credentials(of number: Int) -> TLSCredentials? { credentials[number] }

  /// Why clients do not accept a certificate, or are not accepted, as things stand; as sentences.
  func problems(at now: WallTime) -> [String] {
    zip(listeners, credentials).flatMap { listener, credentials in
      guard let tls = listener.tls, let credentials else { return [String]() }
      return CertificateFindings(credentials.current, tls, now: now).problems
    }
  }

  /// What the certificates and revocation lists are, and when each ends.
  var ends: [(what: String, endsAt: WallTime)] {
    zip(listeners, credentials).flatMap { listener, credentials in
      guard let tls = listener.tls, let context = credentials?.current else {
        return [(what: String, endsAt: WallTime)]()
      }
      let time = { (seconds: Int64) in WallTime(millisecondsSinceEpoch: seconds * 1000) }
      let certificate = "\(tls.certificate): the certificate of \(context.facts.name)"
      var ends = [(what: certificate, endsAt: time(context.facts.validUntilSeconds))]
      if let due = context.revocationsDueSeconds, let lists = tls.clientCertificates?.revocations {
        ends.append((what: "\(lists): a revocation list", endsAt: time(due)))
      }
      return ends
    }
  }

  /// True if there is anything to load again.
  var isEmpty: Bool { credentials.allSatisfy { $0 == nil } }

  /// Loads all of them again, for connections that are made from now on.
  ///
  /// A certificate that cannot be used, or is not valid now, is not taken; the old one stays in
  /// use.
  ///
  /// - Returns: What is wrong with those that are not taken, as sentences.
  func reload() -> [String] {
    var problems: [String] = []
    for (listener, credentials) in zip(listeners, credentials) {
      guard let tls = listener.tls, let credentials else { continue }
      do throws(TLSLoadError) {
        let context = try TLSContext(loading: tls.settings)
        if let fault = try listener.trustFault(tls) {
          throw TLSLoadError(path: tls.certificate, reason: fault)
        }
        let findings = CertificateFindings(context, tls, now: WallClock.now())
        if let problem = findings.problems.first {
          problems.append("listen: \(listener): \(problem)")
          continue
        }
        credentials.replace(with: context)
        Self.tell(context, of: listener, "certificate reloaded", log)
        for sentence in findings.warnings {
          log.warning("certificate needs attention", ("reason", .text(sentence)))
        }
      } catch {
        problems.append("listen: \(listener): \(error)")
      }
    }
    return problems
  }

  private static func tell(
    _ context: TLSContext, of listener: ListenerConfiguration, _ event: StaticString, _ log: Log
  ) {
    let until = WallTime(millisecondsSinceEpoch: context.facts.validUntilSeconds * 1000)
    log.info(
      event, ("listener", .text(listener.description)), ("name", .text(context.facts.name)),
      ("validUntil", .text(RFC3339.format(until))))
  }
}

extension ListenerConfiguration {
  /// What keeps other relays from believing the certificate of a listener for relays; nil if
  /// nothing does.
  func trustFault(_ tls: TLSConfiguration) throws(TLSLoadError) -> String? {
    guard audience == .relays, let clients = tls.clientCertificates else { return nil }
    guard let relaysHost else { return nil }
    return try MutualTrust.fault(
      of: tls.certificate, trusting: clients.authorities, as: relaysHost)
  }

  /// The name or address at which other relays reach it.
  private var relaysHost: String? {
    if let advertised { return (try? UpstreamURL("https://\(advertised)"))?.host }
    guard case .tcp(let address) = endpoint else { return nil }
    return address.hostDescription
  }
}

extension TLSConfiguration {
  /// The same, for what secures connections.
  var settings: TLSSettings {
    TLSSettings(
      certificate: certificate, key: key, oldestVersion: minVersion.version,
      clients: clientCertificates.map {
        TLSSettings.Clients(
          authorities: $0.authorities, isRequired: $0.isRequired, revocations: $0.revocations)
      })
  }
}
