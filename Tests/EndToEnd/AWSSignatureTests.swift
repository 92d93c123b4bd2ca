import Foundation
import Testing

extension EndToEnd {
  @Suite(
    "AWS signatures", .serialized,
    .enabled(if: Botocore.isPossible, "botocore for python3 checks the signatures"), .ofNoStore)
  struct AWSSignatures {
    /// Checks as AWS would, by AWS's own library for Python: with the signed fields alone, and the
    /// digest of the body that has come.
    private static let checker = """
      import hashlib, json, re, sys
      from botocore.auth import S3SigV4Auth, SigV4Auth
      from botocore.awsrequest import AWSRequest
      from botocore.credentials import Credentials
      seen = json.load(open(sys.argv[1]))
      fields = [(name.lower(), value) for name, value in seen["fields"]]
      given = dict(fields)
      parts = dict(re.findall(r"(\\w+)=([^, ]+)", given["authorization"]))
      key, day, region, service, end = parts["Credential"].split("/")
      url = "http://" + given["host"] + seen["target"]
      request = AWSRequest(method=seen["method"], url=url)
      for name in parts["SignedHeaders"].split(";"):
          for found, value in fields:
              if found == name:
                  request.headers.add_header(name, value)
      request.context["timestamp"] = given["x-amz-date"]
      digest = hashlib.sha256(open(sys.argv[2], "rb").read()).hexdigest()
      auth = (S3SigV4Auth if service == "s3" else SigV4Auth)(
          Credentials(key, sys.argv[3], given.get("x-amz-security-token")), service, region)
      canonical = auth.canonical_request(request)
      signature = auth.signature(auth.string_to_sign(request, canonical), request)
      print(signature == parts["Signature"])
      print(given["x-amz-content-sha256"] == digest)
      print(parts["SignedHeaders"])
      """

    private static let secretKey = "s3cr3t/key+of=the-relay"

    private static func credentials(_ service: String) -> [String: any Sendable] {
      [
        "kind": "aws-sigv4", "region": "eu-central-1", "service": service,
        "accessKey": "AKIDEXAMPLE", "secretKey": "${SECRET_KEY}", "sessionToken": "sessi0n/token==",
      ]
    }

    @Test("AWS's own library finds the same for every target, field and size of a body")
    func checked() async throws {
      let upstream = try TestUpstream()
      let common = Relay.quick(upstream)
      let relay = try Relay(
        upstreams: [
          "api": common.merging(["credentials": Self.credentials("execute-api")]) { $1 },
          "s3": common.merging(
            ["credentials": Self.credentials("s3"), "url": upstream.url + "/base"]) { $1 },
        ], environment: ["SECRET_KEY": Self.secretKey])
      try await relay.start()
      let device = relay.device()
      let large = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
      let cases: [(String, String, [UInt8])] = [
        ("GET", "/", []), ("GET", "/a?b=1&a=2&a=1", []), ("GET", "/a?flag", []),
        ("GET", "/a%20b/c%2Fd", []), ("GET", "/a?x=a%2Fb&y=%C3%A4&z=a%20b", []),
        ("DELETE", "/a/", []), ("POST", "/a", []), ("POST", "/a?q=1", Array("{}".utf8)),
        ("PUT", "/large", large),
      ]
      for service in ["api", "s3"] {
        for (method, path, body) in cases {
          let answer = try await device.relay(
            method, path, upstream: service,
            headers: [
              "Prefer": "wait=20", "Content-Type": "application/json",
              "X-Amz-Meta-B": " two  words",
              "X-Amz-Target": "DynamoDB_20120810.PutItem", "Authorization": "Basic Zm9yZ2Vk",
              "X-Amz-Date": "19700101T000000Z", "X-Amz-Content-Sha256": "UNSIGNED-PAYLOAD",
              "X-Amz-Security-Token": "forged", "Cookie": "a=b",
            ], body: body)
          #expect(answer["Waystation-Upstream-Status"] == "200", "\(answer)")
          let request = try #require(upstream.received.last)
          #expect(request.message.fields.count { $0.name.lowercased() == "authorization" } == 1)
          let names =
            "content-type;host;x-amz-content-sha256;x-amz-date;x-amz-meta-b;x-amz-security-token;"
            + "x-amz-target"
          #expect(
            try await check(request) == ["True", "True", names], "\(service) \(method) \(path)")
        }
      }
      #expect(upstream.received.contains { $0.message.body.count == large.count })
      #expect(!relay.log.contains(Self.secretKey))
    }

    @Test("a request that carries several envelopes, compressed or not, is signed as it goes")
    func together() async throws {
      for isCompressed in [false, true] {
        let upstream = try TestUpstream()
        let batch: [String: any Sendable] = [
          "format": "json", "path": "/in?stream=a%2Fb", "gzip": isCompressed,
        ]
        let settings: [String: any Sendable] = [
          "credentials": Self.credentials("firehose"), "batch": batch,
        ]
        let relay = try Relay(
          upstreams: ["default": Relay.quick(upstream, settings)],
          environment: ["SECRET_KEY": Self.secretKey])
        try await relay.start()
        let device = relay.device()
        _ = try await device.request("POST", "/v1/upstreams/default/pause")
        let envelopes = (0..<40).map { number -> [String: any Sendable] in
          ["client": "d-\(number % 4)", "path": "/", "body": number]
        }
        #expect(try await device.post(batch: envelopes).status == 202)
        _ = try await device.request("POST", "/v1/upstreams/default/resume")
        let request = try #require(try await upstream.received(count: 1).first)
        #expect(request["Waystation-Batch"] == "40")
        #expect(request["Content-Encoding"] == (isCompressed ? "gzip" : nil))
        #expect(try await check(request).prefix(2) == ["True", "True"])
      }
    }

    private func check(_ request: WireRequest) async throws -> [String] {
      let folder = try TemporaryFolder()
      let seen: [String: any Sendable] = [
        "method": request.method, "target": request.target,
        "fields": request.message.fields.map { [$0.name, $0.value] },
      ]
      let file = try folder.write("seen.json", String(decoding: Device.json(seen), as: UTF8.self))
      try Data(request.body).write(to: URL(fileURLWithPath: folder.path + "/body"))
      let process = try ChildProcess(
        Botocore.python, ["-c", Self.checker, file, folder.path + "/body", Self.secretKey])
      try await process.ending()
      #expect(process.errors.isEmpty, "\(process.errors)")
      return process.output.split(separator: "\n").map(String.init)
    }
  }
}

/// AWS's own library for Python.
enum Botocore {
  static let python = ChildProcess.program("python3") ?? "python3"

  static let isPossible: Bool = {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: python)
    process.arguments = ["-c", "import botocore.auth"]
    process.standardError = FileHandle.nullDevice
    guard (try? process.run()) != nil else { return false }
    process.waitUntilExit()
    return process.terminationStatus == 0
  }()
}
