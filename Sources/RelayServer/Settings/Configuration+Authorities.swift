import Cryptography

extension Configuration {
  /// The files of authorities that cannot be used now, with the keys that name them.
  ///
  /// Without usable authorities, nothing could be sent to a server whose certificate has to be
  /// checked, and that server would seem to be at fault.
  var unusableAuthorities: [ConfigurationProblem] {
    var files = upstreams.map { ("upstreams.\($0.name)", $0.certificateAuthorities) }
    files += upstreams.map { upstream in
      ("upstreams.\(upstream.name).credentials", upstream.credentials?.certificateAuthorities)
    }
    files.append(("tracing", tracing.certificateAuthorities))
    return files.compactMap { section, path in
      guard let path else { return nil }
      do throws(TLSLoadError) {
        try AuthoritiesFile.check(path)
        return nil
      } catch {
        return ConfigurationProblem(
          key: "\(section).certificateAuthorities", reason: error.description)
      }
    }
  }
}
