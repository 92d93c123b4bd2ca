import Cryptography
import RelayCore

/// The contents of the files that an upstream's section names, as far as the relay reads them
/// itself.
///
/// They are read at the start and at each reload. An upstream whose files hold something else than
/// before is sought anew, as if its section had changed.
struct UpstreamFiles: Sendable, Equatable {
  /// The certificate that the upstream is shown, and its key; nil if it is shown none.
  var identity: ClientIdentity?
  /// The key by which the relay shows a server of access tokens who it is; nil if it has none.
  var signingKey: SigningKey?

  /// No files.
  init() {}

  /// Reads them.
  ///
  /// - Throws: The first file that cannot be used, with the key that names it.
  init(of upstream: UpstreamConfiguration) throws(ConfigurationProblem) {
    try readSigningKey(of: upstream)
    guard let certificate = upstream.clientCertificate, let key = upstream.clientKey else { return }
    do throws(TLSLoadError) {
      identity = try ClientIdentity(certificate: certificate, key: key)
    } catch {
      let name = error.path == key ? "clientKey" : "clientCertificate"
      throw ConfigurationProblem(
        key: "upstreams.\(upstream.name).\(name)", reason: error.description)
    }
  }

  private mutating func readSigningKey(
    of upstream: UpstreamConfiguration
  ) throws(ConfigurationProblem) {
    guard let path = upstream.credentials?.privateKey else { return }
    do throws(TLSLoadError) {
      signingKey = try SigningKey(reading: path)
    } catch {
      throw ConfigurationProblem(
        key: "upstreams.\(upstream.name).credentials.privateKey", reason: error.description)
    }
  }
}

extension Configuration {
  /// The files of all upstreams, by the upstreams' names.
  ///
  /// - Throws: The first that cannot be used.
  func upstreamFiles() throws(ConfigurationProblem) -> [String: UpstreamFiles] {
    var files: [String: UpstreamFiles] = [:]
    for upstream in upstreams { files[upstream.name] = try UpstreamFiles(of: upstream) }
    return files
  }
}
