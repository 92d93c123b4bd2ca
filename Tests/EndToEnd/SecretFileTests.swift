import Foundation
import Glibc
import Testing

extension EndToEnd {
  @Suite("Secrets in files", .serialized)
  struct SecretFiles {
    @Test("a rotated secret is sent after a SIGHUP; a bad one is refused, and the old one goes on")
    func rotated() async throws {
      let upstream = try TestUpstream()
      let secrets = try TemporaryFolder()
      let path = try secrets.write("token", "tok-first\n")
      let relay = try await Relay.started(
        upstream, upstreamMore: ["headers": ["Authorization": "Bearer ${file:\(path)}"]])
      let device = relay.device()
      func send(_ target: String) async throws -> String? {
        let answer = try await device.relay("GET", target, headers: ["Prefer": "wait=20"])
        try answer.require(200)
        return upstream.received.first { $0.target == target }?["Authorization"]
      }
      #expect(try await send("/1") == "Bearer tok-first")
      try secrets.write("token", "tok-second")
      #expect(try await send("/2") == "Bearer tok-first", "it is read at a start and a reload")
      relay.signal(SIGHUP)
      try await relay.log(holds: #""changed":"upstreams.default""#)
      #expect(try await send("/3") == "Bearer tok-second")
      try secrets.write("token", "tok-third\nand more\n")
      relay.signal(SIGHUP)
      try await relay.log(
        holds: "upstreams.default.headers.Authorization: the file \(path) holds a control")
      #expect(try await send("/4") == "Bearer tok-second")
      try FileManager.default.removeItem(atPath: path)
      relay.signal(SIGHUP)
      try await relay.log(holds: "the file \(path) cannot be read: No such file or directory")
      #expect(try await send("/5") == "Bearer tok-second")
      #expect(!relay.log.contains("tok-"))
    }

    @Test("check names all that is missing, and takes variables as systemd would")
    func check() async throws {
      let folder = try TemporaryFolder()
      let secret = try folder.write("secret", String(repeating: "1e", count: 32) + "\n")
      let config = try folder.write(
        "config.json",
        """
        {"upstreams": {"a": {"url": "http://127.0.0.1:1",
          "headers": {"X": "${FIRST}", "Y": "${SECOND} ${file:\(folder.path)/none}"}}},
         "access": {"clientKeys": {"k": {"secrets": "${file:\(secret)}", "clients": "*"}}}}
        """)
      let bare = try await Waystation.run("check", "--config", config)
      #expect(bare.ending == .exit(1))
      let missing = ["variable FIRST is", "variable SECOND is", "file \(folder.path)/none cannot"]
      for words in missing {
        #expect(bare.errors.contains(words), "\(bare.errors)")
      }
      #expect(bare.errors.contains("3 problems"))
      try folder.write("none", "now there")
      let variables = try folder.write("relay.env", "# secrets\nFIRST='a b'\nexport SECOND=c\n")
      let one = try await Waystation.run(
        "check", "--config", config, "--environment-file", variables)
      #expect(one.ending == .exit(1) && one.errors.contains("a problem"), "\(one.errors)")
      #expect(one.errors.contains("variable SECOND") && !one.errors.contains("variable FIRST"))
      #expect(one.errors.contains("\(variables): line 3 assigns nothing to a variable"))
      let second = try folder.write("second.env", "SECOND=\"c\"\n")
      let both = try await Waystation.run(
        "check", "--config", config, "--environment-file", variables, "--environment-file", second)
      #expect(both.ending == .exit(0), "\(both.errors)")
      let nowhere = try await Waystation.run(
        "check", "--config", config, "--environment-file", "/nowhere.env")
      #expect(nowhere.ending == .exit(1) && nowhere.errors.contains("/nowhere.env cannot be read"))
    }

    @Test("a pipe, a folder, a device and a file of others are refused, and never waited for")
    func kinds() async throws {
      let folder = try TemporaryFolder()
      let pipe = folder.path + "/pipe"
      #expect(mkfifo(pipe, 0o600) == 0)
      let faults = [
        (pipe, "is no regular file"), ("/dev/zero", "is no regular file"),
        (folder.path, "cannot be read: Is a directory"),
        (Waystation.path, "has more than 65536 bytes"),
      ]
      for (path, reason) in faults {
        let config = try folder.write(
          "config.json",
          #"{"upstreams": {"a": {"url": "http://x", "headers": {"X": "${file:\#(path)}"}}}}"#)
        let checked = try await Waystation.run("check", "--config", config)
        #expect(checked.ending == .exit(1))
        #expect(
          checked.errors.contains("upstreams.a.headers.X: the file \(path) \(reason)"),
          "\(checked.errors)")
      }
    }
  }
}
