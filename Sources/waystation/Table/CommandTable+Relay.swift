extension CommandTable {
  /// What `serve` can be told, and so what `check` can look at.
  private static let configuration: [OptionRule] = [
    .file("--config", "read the configuration from this JSON file"),
    .text(
      "--listen", "ADDR:PORT",
      "listen here; may be given more than once (127.0.0.1:8080; port 0 takes any free one)."
        + " unix:/PATH listens on a Unix socket; TLS and listeners for devices or operators alone"
        + " are set in the file", isRepeatable: true),
    .folder("--data", "keep the store in this folder (./data)"),
    .text(
      "--upstream", "NAME=URL", "forward to this service; may be given more than once",
      isRepeatable: true),
    .flag(
      "--allow-anonymous",
      "let anybody in who can reach it; without a credential configured it listens on this machine"
        + " only otherwise"),
    .choice("--log-level", ["debug", "info", "warning", "error"], "debug, info, warning or error"),
    .choice("--log-format", ["text", "json", "auto"], "auto is text on a terminal (auto)"),
    .flag("--log-access", "log a line for each request, whatever --log-level says"),
  ]

  static let serve = CommandSpec(
    summary: "run the relay", about: "Run the relay.",
    options: configuration + [
      .flag(
        "--set-aside-damaged",
        "move a damaged store into DIR/damaged-TIME and begin a new one; without it such a store is"
          + " refused")
    ],
    notes: [
      "Options beat variables, and variables beat the file. The variables are WAYSTATION_CONFIG,"
        + " WAYSTATION_LISTEN, WAYSTATION_DATA, WAYSTATION_UPSTREAMS, WAYSTATION_ANONYMOUS (allow),"
        + " WAYSTATION_HOSTS, WAYSTATION_OPERATORS (NAME=ROLE:DIGEST), WAYSTATION_TRACING_ENDPOINT,"
        + " WAYSTATION_LOG_LEVEL, WAYSTATION_LOG_FORMAT and WAYSTATION_LOG_ACCESS (true or false);"
        + " lists are separated by commas. In the file, ${NAME} stands for"
        + " the environment variable NAME.",
      "The first lines on standard output are the addresses, as in \"listening on"
        + " http://127.0.0.1:8080\". The log goes to standard error.",
      "SIGTERM or SIGINT (Ctrl-C) stops it: nothing more is accepted, what is in flight may finish"
        + " for shutdownGraceSeconds (30), and the rest waits in the store. Exit code 0. A second"
        + " one stops it at once, with exit code 1; nothing is lost either way. SIGHUP reads"
        + " configuration and certificates again: good ones count from then on, bad ones are"
        + " refused in the log, and no connection or attempt is lost.",
    ],
    examples: [
      "waystation serve --upstream default=https://api.example.com",
      "waystation serve --config /etc/waystation.json --listen 0.0.0.0:8080",
    ])

  static let sink = CommandSpec(
    summary: "run a small upstream that prints what reaches it",
    about: "Run a small upstream that prints a line for each request that reaches it.",
    options: [
      .text("--listen", "ADDR:PORT", "listen here (127.0.0.1:9090; port 0 takes any free one)"),
      .text("--status", "STATUS", "answer with this status, 200 to 599 (200)"),
      .text(
        "--fail-with", "STATUS",
        "answer with this error, 400 to 599; 429 and 503 come with \"Retry-After: 1\""),
      .text("--delay", "TIME", "wait this long before each answer, as in 200ms"),
      .text("--down-for", "TIME", "refuse connections for this long first, as in 10s"),
      .flag("--quiet", "print no requests"),
    ],
    notes: [
      "A line has the time (UTC), the method and path, the status that was answered, the size,"
        + " then, where the relay has sent them, the client, the number of the attempt and the"
        + " idempotency key, and the first 60 characters of the body. Ctrl-C stops it."
    ],
    examples: [
      "waystation sink", "waystation sink --fail-with 503",
      "waystation sink --listen 127.0.0.1:0 --delay 200ms", "waystation sink --down-for 10s",
    ])

  static let check = CommandSpec(
    summary: "say whether a configuration is good, without starting anything",
    about: "Say whether a configuration is good, without starting or touching anything.",
    options: configuration,
    notes: [
      "It sees what 'waystation serve' would with the same options and environment, reads the"
        + " certificates and keys that are named there, and prints a short summary without secrets,"
        + " or all that is wrong."
    ],
    exits: "0 it is good, 1 it is not.",
    examples: ["waystation check --config /etc/waystation.json"])

  static let health = CommandSpec(
    summary: "ask a running relay whether it is ready",
    about: "Ask a running relay whether it is ready to take envelopes (GET /readyz).",
    options: [
      .text(
        "--server", "URL",
        "the relay, as in http://127.0.0.1:8080, or its Unix socket, as in"
          + " unix:/run/waystation.sock"
      )
    ],
    notes: [
      "Without --server it asks the one that WAYSTATION_SERVER names, else the first address of"
        + " WAYSTATION_LISTEN, else http://127.0.0.1:8080. It waits for 3 s, and speaks no TLS."
    ],
    exits: "0 ready, 1 not ready, or no answer.",
    examples: ["waystation health --server unix:/run/waystation.sock"])

  static let store = CommandSpec(
    summary: "check a store, back it up, rescue it, or salvage a damaged one",
    about: "Check a store, copy it while the relay runs, or save what is left of it.",
    actions: [
      ActionSpec(name: "check", summary: "read all of it, and say what is damaged"),
      ActionSpec(
        name: "backup", summary: "copy it as of one moment, also beside a running relay",
        options: [.folder("--to", "the folder to be made; it must not be there, or be empty")]),
      ActionSpec(
        name: "rescue", summary: "have a running relay write a new one, once its files are gone",
        options: [.folder("--to", "the folder to be made; it must not be there, or be empty")]
          + relay),
      ActionSpec(
        name: "salvage", summary: "make a new one of what can be read of a damaged one",
        options: [.folder("--to", "the folder to be made; it must not be there, or be empty")]),
    ],
    options: [
      .folder("--data", "the data folder (WAYSTATION_DATA, else ./data)"),
      .flag("--json", "check, backup, rescue: print one JSON object rather than lines for people"),
    ],
    notes: [
      "check reads everything and changes nothing, also beside a running relay: pages and indexes,"
        + " what the relay relies on in each table, and the bodies in files of their own. It names"
        + " what is damaged, what that means, and what to do.",
      "backup copies the database and the bodies as of one moment, has them on disk, and checks the"
        + " copy. The relay goes on meanwhile. The copy is a data folder: to restore it, stop the"
        + " relay, put it in the place of the old one, and start.",
      "rescue is for files that were deleted, moved or replaced while the relay runs, which is"
        + " then the only one that can still read them. Do not stop it before. The relay itself"
        + " writes the new folder, on its machine, where it may write. It takes an operator's token"
        + " of the role 'steer'.",
      "salvage reads page by page whatever can be read, and never touches the old store. Ids,"
        + " order, keys and sequence numbers stay. What is lost is named on standard error and, a"
        + " JSON object a line, in NEWDIR/salvage-report.ndjson. Stop the relay first.",
    ],
    exits:
      "of check: 0 sound, 1 damaged, 3 could not look (no store there, not readable, or of a newer"
      + " version). Of backup: 0 there is a sound copy; 1 there is none, or what was copied is"
      + " damaged. Of rescue: 0 there is a new store, 1 there is none, 4 no relay answered. Of"
      + " salvage: 0 a new store was made, also if some is lost; 1 none was made.",
    examples: [
      "waystation store check --data /var/lib/waystation",
      "waystation store backup --data /var/lib/waystation --to /backup/monday",
      "waystation store rescue --to /var/lib/waystation/rescued",
      "waystation store salvage --data /var/lib/waystation --to /var/lib/salvaged",
    ])

  static let token = CommandSpec(
    summary: "make, list, revoke and derive the tokens of devices and operators",
    about: "Make, list and revoke tokens of a running relay, and derive and digest others.",
    actions: [
      ActionSpec(
        name: "create", summary: "make one, for --client NAME or for --role read|steer",
        options: TokenOptions.rules(of: .create)),
      ActionSpec(
        name: "list", summary: "show them, without their secrets",
        options: TokenOptions.rules(of: .list)),
      ActionSpec(
        name: "revoke", summary: "end one",
        operand: Operand(name: "ID", isRequired: false), options: TokenOptions.rules(of: .revoke)),
      ActionSpec(
        name: "derive", summary: "make a client's token of a key's secret, without a relay",
        options: TokenOptions.rules(of: .derive)),
      ActionSpec(
        name: "hash", summary: "print the digest of an operator's token for the configuration",
        options: TokenOptions.rules(of: .hash)),
    ],
    notes: [
      "create, list and revoke ask the relay, as an operator. create prints the token on standard"
        + " output, this once: only a digest is kept.",
      "derive takes the secret from --secret-file or WAYSTATION_KEY_SECRET. hash with --new makes"
        + " the token, too. No secret is ever taken from the command line, which others can see.",
    ],
    exits: exits,
    examples: [
      "waystation token hash --new",
      "waystation token create --client truck-7 --label 'spare unit'",
      "waystation token derive --key factory-1 --client truck-7",
    ])
}
