import Foundation
import Testing

extension EndToEnd {
  @Suite("The operators' page", .ofNoStore)
  struct Page {
    /// What a browser asks for when somebody follows a link.
    private static let browser =
      "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"

    @Test("who likes HTML more than JSON gets the page, and everybody else JSON")
    func negotiation() async throws {
      let relay = try await Relay.started(try TestUpstream())
      let asked: [(String?, Bool)] = [
        (nil, false), ("*/*", false), ("application/json", false), (Self.browser, true),
        ("text/html", true), ("text/html, application/json", false),
        ("text/html;q=0.5, application/json;q=0.6", false), ("application/json;q=0.5, */*", true),
        ("text/html;q=0", false), ("text/*", true), ("image/png", false),
      ]
      for (accept, isPage) in asked {
        let fields = accept.map { ["Accept": $0] } ?? [:]
        let answer = try await relay.device().get("/status", headers: fields)
        #expect(answer.status == 200)
        let type = isPage ? "text/html; charset=utf-8" : "application/json"
        #expect(answer["Content-Type"] == type, "\(accept ?? "nothing")")
        #expect(answer["Vary"] == "Accept")
        #expect(answer.text.hasPrefix(isPage ? "<!doctype html>" : "{"))
      }
    }

    @Test("the page and its files hold no data, and come without a token; the JSON does not")
    func withoutToken() async throws {
      let relay = try await Relay.guarded(try TestUpstream())
      let page = try await relay.device().get("/status", headers: ["Accept": Self.browser])
      #expect(page.status == 200 && page.text.contains("<title>Waystation</title>"))
      #expect(try await relay.device().get("/status/page/page.js").status == 200)
      let json = try await relay.device().get("/status")
      #expect(json.status == 401 && json.problem == "unauthenticated" && json["Vary"] == "Accept")
      #expect(try await relay.reading.get("/status").status == 200)
    }

    @Test("nothing but what the relay serves may run or load, and no other page may hold it")
    func policy() async throws {
      let relay = try await Relay.started(try TestUpstream())
      let device = relay.device()
      for target in ["/status", "/status/page/page.js", "/status/page/page.css"] {
        let answer = try await device.get(target, headers: ["Accept": "text/html"])
        let policy = (answer["Content-Security-Policy"] ?? "").components(separatedBy: "; ")
        for rule in [
          "default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'",
          "form-action 'none'", "frame-ancestors 'none'", "base-uri 'none'",
          "require-trusted-types-for 'script'", "trusted-types 'none'",
        ] {
          #expect(policy.contains(rule), "\(target): \(rule)")
        }
        #expect(answer["X-Content-Type-Options"] == "nosniff")
        #expect(answer["Referrer-Policy"] == "no-referrer")
        #expect(answer["Cross-Origin-Opener-Policy"] == "same-origin")
        #expect(answer["Cross-Origin-Resource-Policy"] == "same-origin")
      }
    }

    @Test("HEAD tells the same without the content, and what is known is not sent again")
    func conditions() async throws {
      let relay = try await Relay.started(try TestUpstream())
      let device = relay.device()
      for target in ["/status", "/status/page/page.css"] {
        let fields = ["Accept": Self.browser]
        let whole = try await device.get(target, headers: fields)
        let head = try await device.request("HEAD", target, headers: fields)
        let tag = try #require(whole["ETag"])
        #expect(head.status == 200 && head.body.isEmpty && head["ETag"] == tag)
        #expect(head["Content-Length"] == "\(whole.body.count)")
        #expect(head["Cache-Control"] == "no-cache")
        for known in [tag, "W/\(tag)", "\"other\", \(tag)", "*"] {
          let again = try await device.get(
            target, headers: fields.merging(["If-None-Match": known]) { $1 })
          #expect(again.status == 304 && again.body.isEmpty && again["ETag"] == tag, "\(known)")
        }
        let other = try await device.get(
          target, headers: fields.merging(["If-None-Match": "\"other\""]) { $1 })
        #expect(other.status == 200)
      }
    }

    @Test("all that the page loads is there, comes from the relay, and makes no markup of text")
    func files() async throws {
      let relay = try await Relay.started(try TestUpstream())
      let device = relay.device()
      let page = try await device.get("/status", headers: ["Accept": Self.browser]).text
      var wanted = Set(page.matches(of: /(?:href|src)="status\/page\/([^"]+)"/).map { "\($0.1)" })
      #expect(wanted.count > 3)
      var seen: Set<String> = []
      while let name = wanted.popFirst() {
        seen.insert(name)
        let file = try await device.get("/status/page/\(name)")
        #expect(file.status == 200, "\(name)")
        guard name.hasSuffix(".js") else { continue }
        #expect(file["Content-Type"] == "text/javascript; charset=utf-8")
        for word in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("] {
          #expect(!file.text.contains(word), "\(name): \(word)")
        }
        for match in file.text.matches(of: /from "\.\/([^"]+)"/)
        where !seen.contains("\(match.1)") { wanted.insert("\(match.1)") }
        // Whatever a script imports the page names, so that all come at once.
        #expect(page.contains("status/page/\(name)"), "\(name)")
      }
      for text in [page, try await device.get("/status/page/page.css").text] {
        #expect(!text.contains("http:") && !text.contains("https:") && !text.contains("url("))
      }
      for name in ["page.html", "none.js", "..%2Fpage.js", "page.js%00", "%ff"] {
        let none = try await device.get("/status/page/\(name)")
        #expect(none.status == 404 && none.problem == "not-found", "\(name)")
      }
      #expect(try await device.request("POST", "/status/page/page.js").status == 405)
    }

    @Test("a listener for devices has no page")
    func audience() async throws {
      let relay = try Relay(
        upstreams: ["default": Relay.quick(try TestUpstream())],
        listen: [
          ["address": "127.0.0.1:0", "for": "devices"],
          ["address": "127.0.0.1:0", "for": "operators"],
        ])
      try await relay.start()
      for (listener, status) in [(0, 404), (1, 200)] {
        let device = Device("d", port: relay.port(of: listener))
        for target in ["/status", "/status/page/page.js"] {
          let answer = try await device.get(target, headers: ["Accept": Self.browser])
          #expect(answer.status == status, "\(target)")
        }
      }
    }
  }
}
