extension CommandTable {
  /// The options that name a relay, for every command that calls one.
  static let relay: [OptionRule] = [
    .text(
      "--server", "URL",
      "the relay: http://…, https://… or unix:/PATH (WAYSTATION_SERVER; http://127.0.0.1:8080)"),
    .file("--token-file", "the operator's token (WAYSTATION_TOKEN)"),
    .file("--ca", "the certificate authorities to check its certificate against"),
    .flag("--allow-plain-http", "send the token over a network without TLS"),
  ]
  static let json = OptionRule.flag("--json", "print JSON, one object per line, for programs")
  private static let filters = SelectionOptions.rules
  /// The exit codes of every command that calls a relay.
  static let exits =
    "0 done, 1 the relay refused or it did not work, 2 the command line is wrong, 4 no"
    + " relay answered."
  private static let yes = OptionRule.flag("--yes", "without asking")
  private static let one = Operand(name: "ID")
  private static let key = OptionRule.text(
    "--key", "KEY", "the one that --client posted under this key")
  private static let client = Operand(name: "NAME", names: .clients)
  private static let lane = Operand(name: "CLIENT/LANE", names: .lanes)
  private static let upstream = Operand(name: "NAME", names: .upstreams)
  private static let many = Operand(name: "ID", isRequired: false, isRepeatable: true)

  static let status = CommandSpec(
    summary: "show the state of a running relay, and what needs a person",
    about: "Show the state of a running relay: what needs a person, then upstreams and rates.",
    options: relay + [
      json,
      .flag("--watch", "show it again every few seconds, until Ctrl-C"),
      .text("--every", "TIME", "how often, with --watch (2s)"),
      .flag("--fail-if-trouble", "exit with 5 if something needs a person"),
    ],
    exits: exits + " 5 with --fail-if-trouble: something needs a person.",
    examples: [
      "waystation status", "waystation status --watch --every 5s",
      "waystation status --server unix:/run/waystation.sock --json",
    ])

  static let envelopes = CommandSpec(
    summary: "list, show and settle envelopes",
    about: "List envelopes, tell the story of one, and settle what went wrong.",
    actions: [
      ActionSpec(
        name: "list", summary: "list those that match, in order of acceptance",
        options: filters + [
          .text("--limit", "COUNT", "at most this many (100); 0 for all"),
          key,
        ]),
      ActionSpec(
        name: "show", summary: "show everything about one, with what the upstream answered",
        operand: Operand(name: "ID", isRequired: false),
        options: filters.filter { $0.name == "--client" } + [key]),
      ActionSpec(
        name: "body", summary: "write the body of one to standard output, as it is", operand: one),
      ActionSpec(
        name: "retry", summary: "try now: end a wait or a hold, or resolve a blocked one",
        operand: many, options: filters),
      ActionSpec(
        name: "edit", summary: "change one that waits, blocks its lane or was not delivered",
        operand: one,
        options: [
          .text("--method", "METHOD", "the request's method"),
          .text("--path", "PATH", "the request's path and query"),
          .text(
            "--header", "'NAME: VALUE'", "set a field; without a value, remove it",
            isRepeatable: true),
          .file("--body", "the new body, from this file; - for standard input"),
          .file("--patch", "a whole JSON merge patch (RFC 7396); - for standard input"),
          .flag("--retry", "then try it, or put it back in line"),
        ]),
      ActionSpec(
        name: "discard", summary: "give up: cancel it, or discard a blocked one", operand: many,
        options: filters + [yes]),
      ActionSpec(
        name: "cancel", summary: "give up what waits, and what was not delivered", operand: many,
        options: filters + [yes]),
      ActionSpec(
        name: "requeue", summary: "put dead letters back in line, in their old places",
        operand: many, options: filters),
      ActionSpec(
        name: "replay", summary: "send what was delivered once more, in lanes of its own",
        options: filters + [
          .flag("--fresh-keys", "under fresh Idempotency-Keys, so that it is taken for new"),
          yes,
        ]),
    ],
    options: relay + [json],
    notes: [
      "In place of ids, - reads them from standard input, one per line; the output of list --json"
        + " works as well.",
      "In place of ids, options that select have it done to all that match, up to 50,000, as one"
        + " operation of the relay's; it goes on if this command is ended.",
    ],
    exits: exits + " With several, 1 if any was refused.",
    examples: [
      "waystation envelopes list --state blocked",
      "waystation envelopes show 0199a3c2-5e10-7a41-8000-00004a41c0de",
      "waystation envelopes show --client truck-7 --key visit-1",
      "waystation envelopes requeue --state failed --status 400 --since 1h",
      "waystation envelopes replay --upstream billing --since 2026-03-01T00:00:00Z --until"
        + " 2026-03-02T00:00:00Z",
    ])

  static let clients = CommandSpec(
    summary: "list clients, or show, pause, resume and forget one",
    about: "List clients, or show, pause and resume one, or forget all of it that waits.",
    actions: [
      ActionSpec(
        name: "list", summary: "list all, or those with a prefix",
        options: [
          .text("--search", "PREFIX", "only names that begin with this"),
          .text("--limit", "COUNT", "at most this many (100); 0 for all"),
        ]),
      ActionSpec(name: "show", summary: "show one, with its lanes", operand: client),
      ActionSpec(name: "pause", summary: "send nothing from it", operand: client),
      ActionSpec(name: "resume", summary: "send again", operand: client),
      ActionSpec(
        name: "forget",
        summary: "cancel all of its envelopes that wait, in every lane, or a part of them",
        operand: client,
        options: [
          .name("--lane", .laneNames, "only what waits in this lane"),
          .text("--tag", "TAG", "only what has this tag"), yes,
        ]),
    ],
    options: relay + [json], exits: exits,
    examples: [
      "waystation clients list --search truck-", "waystation clients show truck-7",
      "waystation clients forget truck-7 --lane photos",
    ])

  static let lanes = CommandSpec(
    summary: "list lanes, or pause and resume one",
    about: "List the lanes of one client or of all, or pause and resume one.",
    actions: [
      ActionSpec(
        name: "list", summary: "list those that match",
        options: [
          .name("--client", .clients, "only this client's"),
          .choice("--state", ["blocked", "paused", "waiting"], "only lanes in this state"),
          .text("--limit", "COUNT", "at most this many (100); 0 for all"),
        ]),
      ActionSpec(
        name: "pause", summary: "send nothing from it", operand: lane),
      ActionSpec(
        name: "resume", summary: "send again", operand: lane),
      ActionSpec(
        name: "skip", summary: "go on without the sequence numbers that it waits for",
        operand: lane),
    ],
    options: relay + [json], exits: exits,
    examples: [
      "waystation lanes list --state blocked", "waystation lanes list --client truck-7",
      "waystation lanes pause truck-7/photos",
    ])

  static let uploads = CommandSpec(
    summary: "list uploads, or end one that does not go on",
    about: "List uploads in the order in which they were begun, or end one.",
    actions: [
      ActionSpec(
        name: "list", summary: "list all, or those of one client",
        options: [
          .name("--client", .clients, "only this client's"),
          .text("--limit", "COUNT", "at most this many (100); 0 for all"),
        ]),
      ActionSpec(
        name: "cancel", summary: "forget one; the envelope of a complete one stays", operand: one),
    ],
    options: relay + [json], exits: exits,
    examples: [
      "waystation uploads list --client truck-7",
      "waystation uploads cancel 0199a3c2-5e10-7a41-8b00-6f1d4a41c0de",
    ])

  static let upstreams = CommandSpec(
    summary: "list, pause, resume, probe and try upstreams",
    about: "List, pause, resume, probe and try upstreams.",
    actions: [
      ActionSpec(name: "list", summary: "list all"),
      ActionSpec(name: "pause", summary: "send nothing there", operand: upstream),
      ActionSpec(name: "resume", summary: "send there again", operand: upstream),
      ActionSpec(
        name: "probe", summary: "try it at once, with what waits", operand: upstream),
      ActionSpec(
        name: "try", summary: "connect without an envelope, and say what came of it",
        operand: upstream),
    ],
    options: relay + [json], exits: exits,
    examples: ["waystation upstreams list", "waystation upstreams pause billing"])

  static let events = CommandSpec(
    summary: "show every change as it happens",
    about: "Show changes: the kept ones after an event, and each new one as it happens.",
    options: relay + [
      json,
      .flag("--follow", "go on for ever, also across restarts of the relay; otherwise for --for"),
      .text("--for", "TIME", "how long to listen without --follow (10s)"),
      .text("--after", "EVENT", "begin after this event"),
      .name("--client", .clients, "only about this client"),
      .name("--lane", .laneNames, "only about lanes of this name"),
      .name("--upstream", .upstreams, "only about this upstream"),
      .text("--envelope", "ID", "only about this envelope"),
    ], exits: exits,
    examples: [
      "waystation events --follow", "waystation events --follow --client truck-7 --json",
    ])

  static let operations = CommandSpec(
    summary: "list, show, follow and cancel operations on many envelopes",
    about: "List what was done with many envelopes at once, and show, follow or cancel one.",
    actions: [
      ActionSpec(name: "list", summary: "list the last 100, the newest first"),
      ActionSpec(name: "show", summary: "show how far one has come", operand: one),
      ActionSpec(
        name: "follow", summary: "wait until one has ended, and show how", operand: one),
      ActionSpec(
        name: "cancel", summary: "stop one; what it has done stays done", operand: one),
    ],
    options: relay + [json],
    exits: exits + " Of follow: 1 if it did not end well, or left some as they were.",
    examples: ["waystation operations list", "waystation operations follow 12"])

  static let audit = CommandSpec(
    summary: "show who steered the relay, how and when",
    about: "Show what operators did, the newest first.",
    options: relay + [
      json,
      .text("--subject", "SUBJECT", "only what was done to this, as in upstreams/default"),
      .text("--limit", "COUNT", "at most this many (100); 0 for all"),
    ],
    notes: [
      "A subject is envelopes/ID, clients/NAME, clients/NAME/lanes/NAME, upstreams/NAME,"
        + " uploads/ID, tokens/ID or operations/ID, with names in percent-encoding, or tokens and"
        + " operations for new ones."
    ],
    exits: exits,
    examples: ["waystation audit", "waystation audit --subject clients/truck-7 --json"])

  static let send = CommandSpec(
    summary: "post an envelope, or a file of them",
    about: "Post one envelope from options and standard input, or many from an NDJSON file.",
    options: relay + [
      json,
      .file("--file", "post each line of this NDJSON file; - for standard input"),
      .text("--batch", "COUNT", "lines in one post, 1 to 1000 (500)"),
    ] + SendOptions.rules,
    notes: [
      "A line without a key gets one made from its number and content, so sending the same file"
        + " again stores nothing twice. FILE.progress notes which lines have been acknowledged; a"
        + " second run goes on after them, and the note is removed at the end.",
      "With --file, while the relay is full or away, send waits and tries again for five"
        + " minutes. One envelope from options is posted once: if that fails, send says so and"
        + " ends.",
    ],
    exits: exits + " With --file, 1 if any line was refused; each is named.",
    examples: [
      "waystation send --client truck-7 --path /readings --body-json reading.json",
      "waystation send --client truck-7 --path /boot --not-before 10m --expires-at 1h",
      "waystation send --file readings.ndjson",
    ])

  static let export = CommandSpec(
    summary: "write envelopes into an NDJSON file",
    about: "Write the matching envelopes as NDJSON, in order of acceptance.",
    options: relay + filters + [
      .file("--to", "write into this file; without it, to standard output"),
      .flag("--no-content", "leave out header fields and bodies"),
    ],
    notes: [
      "FILE.progress notes after each page how far it has come; a second run goes on from"
        + " there, and the note is removed at the end.",
      "Header fields and bodies are fetched envelope by envelope, which needs an operator's"
        + " token with the role 'steer'. Envelopes that were exported without content cannot be"
        + " imported.",
    ], exits: exits, examples: ["waystation export --client truck-7 --to truck-7.ndjson"])

  static let importing = CommandSpec(
    summary: "post an exported file to the same or another relay",
    about: "Post the envelopes of a file that 'waystation export' has written.",
    operand: Operand(name: "FILE"),
    options: relay + [
      json, .text("--batch", "COUNT", "lines in one post, 1 to 1000 (500)"),
      .flag("--ended", "also those that have failed or expired"),
    ],
    notes: [
      "Ended envelopes are left out. Order, keys and lanes stay. Ids are new; an envelope without"
        + " a key gets its old id as key, so importing twice stores nothing twice. Sequence numbers"
        + " and deadlines are not carried over. It resumes as send does.",
      "Secrets in header fields are not exported; such fields are left out, and counted. To"
        + " move a whole store, use 'store backup'.",
    ], exits: exits + " 1 if any line was refused; each is named.",
    examples: ["waystation import truck-7.ndjson --server https://new-relay.example"])
}
