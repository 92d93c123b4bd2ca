import Foundation
import Testing

extension EndToEnd {
  @Suite("What is said of uploads in header fields", .serialized, .ofNoStore)
  struct UploadFields {
    private static let inconsistent =
      "https://iana.org/assignments/http-problem-types#inconsistent-upload-length"

    private let upstream: TestUpstream

    init() throws { upstream = try TestUpstream() }

    /// Sends a request with exactly these lines.
    private func send(
      _ relay: Relay, _ method: String, _ target: String, _ lines: [String], _ content: String
    ) async throws -> WireResponse {
      let head = ["\(method) \(target) HTTP/1.1", "Host: relay", "Waystation-Client: device-1"]
      let text = (head + lines).joined(separator: "\r\n") + "\r\n\r\n" + content
      return try await relay.device().raw(Array(text.utf8), method: method)
    }

    private func expect(_ answer: WireResponse, field: String) throws {
      #expect(answer.status == 422 && answer.problem == "invalid-field", "\(answer)")
      #expect(try answer.json()["field"] as? String == field)
      #expect(try answer.json()["fix"] != nil)
    }

    /// What has reached the upstream once a request that is taken has done so.
    private func bodies(after relay: Relay) async throws -> [String] {
      _ = try await send(relay, "POST", "/v1/relay/default/last", ["Content-Length: 4"], "last")
      try await eventually("the last request arrives") {
        upstream.received.contains { $0.target == "/last" } ? true : nil
      }
      return upstream.received.map(\.message.text)
    }

    @Test("a first part whose Upload-Complete is neither ?0 nor ?1 is not taken for the whole")
    func creation() async throws {
      let relay = try await Relay.started(upstream)
      let values = ["0", "1", "?2", "?F", "false", "\"?0\"", "?0, ?0", ""]
      let lines = values.map { ["Upload-Complete: \($0)"] }
      for lines in lines + [["Upload-Complete: ?0", "Upload-Complete: ?0"]] {
        let answer = try await send(
          relay, "POST", "/v1/relay/default/p", lines + ["Content-Length: 3"], "abc")
        try expect(answer, field: "Upload-Complete")
      }
      #expect(try await bodies(after: relay) == ["last"])
    }

    @Test("an append whose fields have values of another kind is refused, and the upload stays")
    func append() async throws {
      let relay = try await Relay.started(upstream)
      let sender = Uploader(relay)
      let location = try await sender.create("/p", body: [97, 98, 99])
      for (field, value) in [
        ("Upload-Complete", "1"), ("Upload-Offset", "-3"), ("Upload-Offset", "3.0"),
        ("Upload-Offset", "three"), ("Upload-Length", "-1"), ("Upload-Length", "4 bytes"),
        ("Upload-Length", "1000000000000000"),
      ] {
        let answer = try await sender.append(
          location, at: 3, completes: true, [field: value], body: [100])
        try expect(answer, field: field)
      }
      let whole = try await sender.append(location, at: 3, completes: true, body: [100])
      #expect(whole.status == 202, "\(whole)")
      #expect(try await upstream.received(count: 1).map(\.message.text) == ["abcd"])
    }

    @Test("a length that is none is refused when an upload begins, and with a whole body")
    func length() async throws {
      let relay = try await Relay.started(upstream)
      for complete in ["?0", "?1"] {
        for value in ["-1", "3.5", "many", "3, 3"] {
          let answer = try await send(
            relay, "POST", "/v1/relay/default/p",
            ["Upload-Complete: \(complete)", "Upload-Length: \(value)", "Content-Length: 3"], "abc")
          try expect(answer, field: "Upload-Length")
        }
      }
      #expect(try await bodies(after: relay) == ["last"])
    }

    @Test("a whole body that has another length than its Upload-Length is refused")
    func whole() async throws {
      let relay = try await Relay.started(upstream)
      for said in [2, 4] {
        for (framing, content) in [
          ("Content-Length: 3", "abc"), ("Transfer-Encoding: chunked", "3\r\nabc\r\n0\r\n\r\n"),
        ] {
          let answer = try await send(
            relay, "POST", "/v1/relay/default/p",
            ["Upload-Complete: ?1", "Upload-Length: \(said)", framing], content)
          #expect(answer.status == 400 && answer.problem == Self.inconsistent, "\(answer)")
        }
      }
      let fitting = try await send(
        relay, "POST", "/v1/relay/default/p",
        ["Upload-Complete: ?1", "Upload-Length: 3", "Content-Length: 3"], "abc")
      #expect(fitting.status == 202, "\(fitting)")
      #expect(try await bodies(after: relay).sorted() == ["abc", "last"])
    }

    @Test("parameters behind a value mean nothing")
    func parameters() async throws {
      let relay = try await Relay.started(upstream)
      let sender = Uploader(relay)
      let location = try await sender.create(
        "/p", ["Upload-Complete": "?0;a=b", "Upload-Length": "4;q"], body: [97, 98, 99])
      let answer = try await sender.append(
        location, at: 3, completes: true,
        ["Upload-Complete": "?1; x", "Upload-Offset": "3;a=1;b"], body: [100])
      #expect(answer.status == 202, "\(answer)")
      #expect(try await upstream.received(count: 1).map(\.message.text) == ["abcd"])
    }

    @Test("without Upload-Complete, fields of these names are another protocol's, and go on")
    func others() async throws {
      let relay = try await Relay.started(upstream)
      let answer = try await send(
        relay, "POST", "/v1/relay/default/p",
        ["Upload-Length: -1", "Upload-Offset: none", "Content-Length: 3"], "abc")
      #expect(answer.status == 202, "\(answer)")
      let request = try await upstream.received(count: 1)[0]
      #expect(request["Upload-Length"] == "-1" && request["Upload-Offset"] == "none")
    }
  }
}
