import EventLoop
import RelayServer
import Testing

@testable import waystation

@Suite("The command line")
struct InvocationTests {
  @Test("options stand after their command, with a blank or an equals sign")
  func options() throws {
    var source = ConfigurationSource(configPath: "relay.json")
    source.flags.listen = ["127.0.0.1:1", "[::1]:2"]
    source.flags.data = "./d=1"
    source.flags.upstreams = ["a=http://a.example/?x=y", "b=http://b.example"]
    source.flags.logLevel = "debug"
    source.flags.logFormat = "json"
    source.flags.logsAccess = true
    let arguments = [
      "--config=relay.json", "--listen", "127.0.0.1:1", "--listen=[::1]:2", "--data=./d=1",
      "--upstream", "a=http://a.example/?x=y", "--upstream=b=http://b.example",
      "--log-level", "debug", "--log-format=json", "--log-access",
    ]
    #expect(try Invocation.parse(["serve"] + arguments) == .serve(source))
    #expect(try Invocation.parse(["check"] + arguments) == .check(source))
    #expect(try Invocation.parse(["serve"]) == .serve(ConfigurationSource()))
  }

  @Test("a sink is told where, how and when to answer")
  func sink() throws {
    let expected = SinkOptions(
      listen: .loopback(port: 0), status: 503, delayMs: 200, downForMs: 120_000,
      record: "r.ndjson", isQuiet: true)
    let arguments = [
      "sink", "--listen", "127.0.0.1:0", "--fail-with=503", "--delay", "200ms", "--down-for=2m",
      "--record", "r.ndjson", "--quiet",
    ]
    #expect(try Invocation.parse(arguments) == .sink(expected))
    #expect(try Invocation.parse(["sink"]) == .sink(SinkOptions()))
    #expect(SinkOptions().listen == .loopback(port: 9090))
  }

  @Test(
    "help and the version can be asked for in every usual way",
    arguments: [
      (["help"], Invocation.help(nil)), (["--help"], .help(nil)), (["-h"], .help(nil)),
      (["help", "sink"], .help(.sink)), (["sink", "--help"], .help(.sink)),
      (["serve", "--nonsense", "-h"], .help(.serve)), (["help", "help"], .help(.help)),
      (["version"], .version), (["--version"], .version), (["version", "-h"], .help(.version)),
      (["health", "--server", "http://a:1"], .health(server: "http://a:1")),
      (["token", "create", "-h"], .help(.token, action: "create")),
      (["help", "token"], .help(.token)),
      (["help", "envelopes", "edit"], .help(.envelopes, action: "edit")),
      (["store", "check", "--json"], .store(.check(data: nil, isJSON: true))),
      (
        ["store", "salvage", "--data", "a", "--to=b"], .store(.salvage(data: "a", to: "b"))
      ),
      (["store", "salvage", "-h"], .help(.store, action: "salvage")),
      (["keys", "list"], .keys(.list(ConfigurationSource()))),
      (
        ["keys", "rotate", "--config", "a"], .keys(.rotate(ConfigurationSource(configPath: "a")))
      ),
      (
        ["keys", "accept", "--config", "a"], .keys(.accept(ConfigurationSource(configPath: "a")))
      ),
    ])
  func help(arguments: [String], expected: Invocation) throws {
    #expect(try Invocation.parse(arguments) == expected)
  }

  @Test("an audit of a lane names its four files, and one of them may be standard input")
  func auditLane() throws {
    let files = ["--receipts", "a", "--keys=b", "--ledger", "-", "--requests", "d"]
    guard case .auditLane(let plain) = try Invocation.parse(["audit-lane"] + files) else {
      Issue.record("it is no audit")
      return
    }
    #expect([plain.receipts, plain.keys, plain.ledger, plain.requests] == ["a", "b", "-", "d"])
    #expect(plain.upstream == "default" && plain.prefix.isEmpty && plain.pin == nil)
    #expect(plain.from == nil && !plain.isJSON)
    let more = ["--pin", "k", "--upstream=shop", "--strip-path", "/v2", "--from", "7", "--json"]
    var all = plain
    (all.pin, all.upstream, all.prefix, all.from, all.isJSON) = ("k", "shop", "/v2", 7, true)
    #expect(try Invocation.parse(["audit-lane"] + files + more) == .auditLane(all))
  }

  @Test("an audit by the device's keys alone names the lane, and none of the relay's files")
  func auditDevice() throws {
    let words = [
      "audit-lane", "--device-keys", "a", "--client", "till-1", "--lane", "sales", "--requests",
      "-",
    ]
    guard case .auditLane(let order) = try Invocation.parse(words) else {
      Issue.record("it is no audit")
      return
    }
    #expect(order.isOfDeviceAlone && order.deviceKeys == "a" && order.requests == "-")
    #expect(order.client == "till-1" && order.lane == "sales")
    #expect(throws: UsageError.self) { try Invocation.parse(Array(words.prefix(3))) }
    // With one of the relay's files all of them are wanted.
    #expect(throws: UsageError.self) { try Invocation.parse(words + ["--ledger", "c"]) }
  }

  @Test(
    "what makes no sense is refused with the word that is at fault, and what was meant",
    arguments: [
      ([], "a command is missing"),
      (["srve"], "there is no command 'srve'; did you mean 'serve'?"),
      (["frobnicate"], "there is no command 'frobnicate'"),
      (["store"], "name an action: one of check, backup, rescue, salvage, move and reopen"),
      (
        ["store", "mend"],
        "there is no 'store mend'; there is check, backup, rescue, salvage, move and reopen"
      ),
      (["keys"], "name an action: list, rotate or accept"),
      (
        ["audit-lane", "--receipts", "a", "--keys", "b", "--requests", "d"],
        "--ledger is missing: pages of GET /v1/clients/{client}/lanes/{lane}/ledger, one behind the"
          + " other"
      ),
      (
        ["audit-lane", "--receipts", "-", "--keys", "b", "--ledger", "c", "--requests", "-"],
        "standard input is one file only: give '-' once"
      ),
      (
        [
          "audit-lane", "--receipts", "a", "--keys", "b", "--ledger", "c", "--requests", "d",
          "--from", "0",
        ], "--from takes a number of the lane, from 1, not '0'"
      ),
      (["keys", "make"], "there is no 'keys make'; there is list, rotate and accept"),
      (
        ["store", "move", "--from", "x"],
        "move needs --to: a data folder, the postgresql:// URL of a database, or a configuration"
          + " file"
      ),
      (
        ["store", "move", "--from", "x", "--to", "postgresql://u:p@h/d"],
        "others can see a password on a command line: leave it out of the URL, and name its file by"
          + " --password-file"
      ),
      (["store", "salvage"], "salvage needs --to, the folder to be made"),
      (["store", "check", "--to", "x"], "there is no option '--to'"),
      (
        ["store", "rescue"],
        "rescue needs --to, the folder to be made on the relay's machine, from the root"
      ),
      (
        ["store", "rescue", "--to", "x"],
        "rescue needs --to, the folder to be made on the relay's machine, from the root"
      ),
      (
        ["store", "rescue", "--to", "/x", "--data", "y"],
        "rescue asks a running relay, and takes no --data"
      ),
      (["--listen", "x"], "expected a command, not '--listen'"),
      (["serve", "--lisen", "x"], "there is no option '--lisen'; did you mean '--listen'?"),
      (["serve", "--delay", "1s"], "there is no option '--delay'"),
      (["serve", "extra"], "'extra' is not an option, and no other argument is allowed"),
      (["serve", "-"], "'-' is not an option, and no other argument is allowed"),
      (["serve", "--data"], "--data needs a value"),
      (["serve", "--data="], "--data needs a value"),
      (["serve", "--data", ""], "--data needs a value"),
      (["serve", "--data", "--listen"], "--data needs a value"),
      (["serve", "--data", "a", "--data=b"], "--data is given twice"),
      (["sink", "--quiet", "--quiet"], "--quiet is given twice"),
      (["sink", "--quiet=yes"], "--quiet takes no value"),
      (["sink", "--status", "999"], "--status takes a status from 200 to 599, not '999'"),
      (["sink", "--fail-with", "200"], "--fail-with takes a status from 400 to 599, not '200'"),
      (
        ["sink", "--fail-with", "500", "--status=200"],
        "--status and --fail-with both say how to answer; give one"
      ),
      (
        ["sink", "--listen", "localhost"],
        "--listen takes an address and a port, such as 127.0.0.1:9090 or [::1]:9090,"
          + " not 'localhost'"
      ),
      (["send"], "give --path for one envelope, or --file for many"),
      (["send", "--file", "f", "--tag", "t"], "--tag is for one envelope, and --file posts many"),
      (
        ["send", "--path", "/", "--body", "f", "--body-text", "t"],
        "--body and --body-text both say the body; give one"
      ),
      (
        ["send", "--path", "/", "--sequence", "0"],
        "--sequence takes a whole number from 1 on, not '0'"
      ),
      (
        ["send", "--path", "/", "--not-before", "soon"],
        "--not-before takes a time such as 2026-03-01T12:00:00Z, or how far from now, such as 30m,"
          + " 1h or 7d, not 'soon'"
      ),
      (
        ["send", "--path", "/", "--on-failure", "stop"],
        "--on-failure takes skip, block, not 'stop'"
      ),
      (["operations"], "say what to do: list, show, follow, cancel"),
      (["operations", "show"], "ID is missing"),
      (["audit", "--who", "x"], "there is no option '--who'"),
      (["complete"], "'complete' is for the scripts that 'waystation completions' prints"),
      (
        ["complete", "x", ""], "'complete' is for the scripts that 'waystation completions' prints"
      ),
      (["help", "complete"], "there is no command 'complete'"),
      (["help", "serve", "sink"], "help takes one command at a time"),
      (["help", "envelopes", "sink"], "help takes one command at a time"),
      (["help", "serv"], "there is no command 'serv'; did you mean 'serve'?"),
    ])
  func refusals(arguments: [String], reason: String) throws {
    let error = #expect(throws: UsageError.self) { _ = try Invocation.parse(arguments) }
    #expect(error?.reason == reason)
  }

  @Test("a refusal says on its second line where to read more")
  func wayOn() {
    let error = UsageError("--data needs a value", to: .serve)
    #expect(
      error.description == """
        waystation serve: --data needs a value
        Run 'waystation help serve' to see what can be said.
        """)
  }

  @Test(
    "durations have a unit and an end",
    arguments: [
      ("200ms", 200), ("10s", 10_000), ("2m", 120_000), ("24h", 86_400_000), ("0s", 0),
      ("5", nil), ("s", nil), ("", nil), ("-1s", nil), ("1.5s", nil), ("1 s", nil), ("25h", nil),
      ("99999999999999999999s", nil), ("9223372036854775807h", nil), ("٣s", nil),
    ] as [(String, Int64?)])
  func durations(text: String, milliseconds: Int64?) {
    #expect(DurationText.milliseconds(text) == milliseconds)
  }

  @Test("a duration is shown as it would be written")
  func durationText() {
    #expect(
      [0, 1, 1500, 10_000, 120_000, 3_600_000].map(DurationText.text) == [
        "0s", "1ms", "1500ms", "10s", "2m", "1h",
      ])
  }

  @Test("the help on one action has its options alone, and that on all tells the shared ones once")
  func helpOnActions() throws {
    for command in Command.allCases {
      for action in command.spec.actions {
        let text = HelpText.text(on: command, action)
        #expect(text.contains("Usage: waystation \(command.rawValue) \(action.name)"))
        for option in action.options { #expect(text.contains(option.name), "\(option.name)") }
        for line in text.split(separator: "\n") { #expect(line.count <= 80, "\(line)") }
      }
    }
    let edit = try #require(Command.envelopes.spec.action("edit"))
    #expect(!HelpText.text(on: .envelopes, edit).contains("--fresh-keys"))
    let all = HelpText.text(on: .envelopes)
    #expect(all.split(separator: "--tag").count == 2, "\(all)")
    #expect(all.split(separator: "\n").count < 110)
  }

  @Test("every option is in its command's help, and no line is wider than a terminal")
  func helpTexts() {
    for command in Command.allCases {
      let text = HelpText.text(on: command)
      for option in command.options { #expect(text.contains(option.name)) }
      for line in text.split(separator: "\n") { #expect(line.count <= 80, "\(line)") }
      #expect(HelpText.text(on: nil).contains("\n  \(command.rawValue) "))
      for shell in Shell.allCases {
        #expect(CompletionScript.text(for: shell).contains(command.rawValue))
      }
    }
  }
}
