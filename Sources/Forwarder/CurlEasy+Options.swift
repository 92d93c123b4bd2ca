import CCurl
import Cryptography
import RelayCore

extension CurlEasy {
  /// Sets the options that all requests to an upstream share.
  ///
  /// libcurl is told what not to do as much as what to do: it follows no redirect, keeps no cookie,
  /// decodes nothing, reads no `.netrc`, and uses no proxy that is not configured.
  func configure(for target: UpstreamTarget, limits: ForwarderLimits) {
    // The path comes with each request, as CURLOPT_REQUEST_TARGET.
    set(url: "\(target.url.origin)/")
    _ = waystation_curl_restrict_protocols(pointer)
    set(CURLOPT_FOLLOWLOCATION, 0)
    set(CURLOPT_HTTP_CONTENT_DECODING, 0)
    set(CURLOPT_HTTP09_ALLOWED, 0)
    set(CURLOPT_NETRC, Int(CURL_NETRC_IGNORED.rawValue))
    // Signals belong to the process; otherwise libcurl would use SIGALRM for name look-ups.
    set(CURLOPT_NOSIGNAL, 1)
    configureProxy(target)
    configureTLS(target)
    configureConnections(target, limits)
  }

  private func configureProxy(_ target: UpstreamTarget) {
    // An empty string, unlike no string, keeps the environment's proxy out (CURLOPT_PROXY(3)).
    set(CURLOPT_PROXY, target.proxy ?? "")
    set(CURLOPT_NOPROXY, "")
    set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
  }

  private func configureTLS(_ target: UpstreamTarget) {
    set(CURLOPT_SSL_VERIFYPEER, 1)
    set(CURLOPT_SSL_VERIFYHOST, 2)
    let oldest =
      target.oldestVersion == .tls13 ? CURL_SSLVERSION_TLSv1_3 : CURL_SSLVERSION_TLSv1_2
    set(CURLOPT_SSLVERSION, Int(oldest))
    if let identity = target.identity { show(identity) }
    trust(target.certificates)
    // HTTP/2 if ALPN selects it; HTTP/1.1 in plain text.
    let version = target.mayUseHTTP2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1
    set(CURLOPT_HTTP_VERSION, Int(version))
    // The first connection to an upstream may carry all requests: wait for what it speaks.
    set(CURLOPT_PIPEWAIT, target.mayUseHTTP2 ? 1 : 0)
  }

  /// Sets the certificate that is shown to a server that asks for one.
  func show(_ identity: ClientIdentity) {
    set(CURLOPT_SSLCERT_BLOB, blob: identity.certificate)
    set(CURLOPT_SSLKEY_BLOB, blob: identity.key)
  }

  /// Sets the authorities that a server's certificate has to come from.
  ///
  /// libcurl gets what the file held, and no path: it would read the file for each connection, and
  /// could find half of it there.
  func trust(_ certificates: UpstreamTarget.CertificateAuthorities) {
    guard case .only(let file) = certificates else { return }
    set(CURLOPT_CAINFO_BLOB, blob: file.bytes)
    let code = waystation_curl_trust_nothing_else(pointer)
    precondition(code == CURLE_OK, "libcurl would trust others: \(code.rawValue)")
  }

  private func configureConnections(_ target: UpstreamTarget, _ limits: ForwarderLimits) {
    set(CURLOPT_CONNECTTIMEOUT_MS, target.connectTimeoutMs)
    // 0 means no limit: CURLOPT_TIMEOUT_MS(3).
    set(CURLOPT_TIMEOUT_MS, target.attemptTimeoutMs ?? 0)
    _ = waystation_curl_abandon_lookups(pointer)
    set(CURLOPT_DNS_CACHE_TIMEOUT, limits.nameCacheSeconds)
    set(CURLOPT_MAXAGE_CONN, limits.idleConnectionSeconds)
    mustConnectAnew(!target.reusesConnections)
    set(CURLOPT_FORBID_REUSE, target.reusesConnections ? 0 : 1)
    set(CURLOPT_TCP_NODELAY, 1)
    set(CURLOPT_TCP_KEEPALIVE, 1)
    set(CURLOPT_TCP_KEEPIDLE, limits.keepaliveIdleSeconds)
    set(CURLOPT_TCP_KEEPINTVL, limits.keepaliveIntervalSeconds)
  }

  /// Sets whether requests use a new connection, whatever connections are kept.
  func mustConnectAnew(_ isNew: Bool) { set(CURLOPT_FRESH_CONNECT, isNew ? 1 : 0) }
}
