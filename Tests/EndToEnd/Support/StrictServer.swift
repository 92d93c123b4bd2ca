import Foundation

/// nginx, which demands a certificate, and answers with its subject and the connection.
final class StrictServer: Sendable {
  static let isPossible = ChildProcess.program("nginx") != nil

  let port: UInt16
  private let folder: TemporaryFolder
  private let process: ChildProcess

  init(_ pair: CertificateAuthority.Pair, for clients: CertificateAuthority) async throws {
    folder = try TemporaryFolder()
    port = try ReservedPort.kept()
    let settings = """
      daemon off; master_process off; pid \(folder.path)/pid; error_log stderr notice;
      events {}
      http {
        access_log off;
        client_body_temp_path \(folder.path)/body; proxy_temp_path \(folder.path)/proxy;
        fastcgi_temp_path \(folder.path)/fastcgi; uwsgi_temp_path \(folder.path)/uwsgi;
        scgi_temp_path \(folder.path)/scgi;
        server {
          listen 127.0.0.1:\(port) ssl;
          ssl_certificate \(pair.certificate); ssl_certificate_key \(pair.key);
          ssl_protocols TLSv1.2 TLSv1.3;
          ssl_verify_client on; ssl_client_certificate \(clients.certificate);
          location / { return 200 "$ssl_client_s_dn on $connection"; }
        }
      }
      """
    let path = try folder.write("nginx.conf", settings)
    process = try ChildProcess(
      ChildProcess.program("nginx") ?? "nginx", ["-e", "stderr", "-c", path])
    try await process.errors(hold: "event method")
  }

  deinit { process.signal(SIGTERM) }
}
