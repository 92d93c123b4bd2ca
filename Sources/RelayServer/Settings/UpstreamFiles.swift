import Cryptography
import Forwarder
import RelayCore

/// The contents of the files that an upstream's section names.
///
/// They are read at the start and at each reload, and at no other time. An upstream whose files
/// hold something else than before is sought anew, as if its section had changed.
struct UpstreamFiles: Sendable, Equatable {
  /// The authorities that its certificate has to come from; nil for the system's.
  var authorities: AuthoritiesFile?
  /// The certificate that the upstream is shown, and its key; nil if it is shown none.
  var identity: ClientIdentity?
  /// The key by which the relay shows a server of access tokens who it is; nil if it has none.
  var signingKey: SigningKey?
  /// The authorities that the certificate of the server of access tokens has to come from; nil for
  /// the system's.
  var tokenAuthorities: AuthoritiesFile?

  /// No files.
  init() {}

  /// Those by which an upstream is sought now, whatever lies on disk.
  init(inForceFor target: UpstreamTarget) {
    authorities = target.certificates.file
    identity = target.identity
    signingKey = target.tokens?.key
    tokenAuthorities = target.tokens?.authorities.file
  }

  /// Whether they are the files that a section names, as far as that can be told by their kinds.
  func fit(_ upstream: UpstreamConfiguration) -> Bool {
    (authorities == nil) == (upstream.certificateAuthorities == nil)
      && (tokenAuthorities == nil) == (upstream.credentials?.certificateAuthorities == nil)
      && (signingKey == nil) == (upstream.credentials?.privateKey == nil)
  }

  /// Reads them.
  ///
  /// - Throws: The first file that cannot be used, with the key that names it.
  init(of upstream: UpstreamConfiguration) throws(ConfigurationProblem) {
    var problems: [ConfigurationProblem] = []
    self.init(of: upstream, &problems)
    if let problem = problems.first { throw problem }
  }

  /// Reads them, and adds each that cannot be used to the problems, with the key that names it.
  init(of upstream: UpstreamConfiguration, _ problems: inout [ConfigurationProblem]) {
    var reader = FileReader(section: "upstreams.\(upstream.name)")
    authorities = reader.read("certificateAuthorities", upstream.certificateAuthorities) {
      (path) throws(TLSLoadError) in try AuthoritiesFile(reading: path)
    }
    tokenAuthorities = reader.read(
      "credentials.certificateAuthorities", upstream.credentials?.certificateAuthorities
    ) { (path) throws(TLSLoadError) in try AuthoritiesFile(reading: path) }
    signingKey = reader.read("credentials.privateKey", upstream.credentials?.privateKey) {
      (path) throws(TLSLoadError) in try SigningKey(reading: path)
    }
    if let key = upstream.clientKey {
      identity = reader.read("clientCertificate", upstream.clientCertificate, "clientKey", key) {
        (path) throws(TLSLoadError) in try ClientIdentity(certificate: path, key: key)
      }
    }
    problems += reader.problems
  }
}

/// Reads the files of one section, and notes which of them cannot be used.
private struct FileReader {
  let section: String
  private(set) var problems: [ConfigurationProblem] = []

  init(section: String) { self.section = section }

  /// Reads the file that a key names; nil if it names none, or the file cannot be used.
  ///
  /// - Parameters:
  ///   - otherName: The key that names another file, which is read with this one.
  ///   - otherPath: That file.
  mutating func read<File>(
    _ name: String, _ path: String?, _ otherName: String = "", _ otherPath: String? = nil,
    _ read: (String) throws(TLSLoadError) -> File
  ) -> File? {
    guard let path else { return nil }
    do throws(TLSLoadError) {
      return try read(path)
    } catch {
      let name = error.path == otherPath ? otherName : name
      problems.append(
        ConfigurationProblem(key: "\(section).\(name)", reason: error.description))
      return nil
    }
  }
}

extension UpstreamTarget.CertificateAuthorities {
  /// Those of a file; the system's for nil.
  init(_ file: AuthoritiesFile?) { self = file.map { .only($0) } ?? .system }

  /// The file that they came from; nil for the system's.
  fileprivate var file: AuthoritiesFile? {
    if case .only(let file) = self { file } else { nil }
  }
}
