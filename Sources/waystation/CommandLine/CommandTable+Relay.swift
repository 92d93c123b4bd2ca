extension CommandTable {
  static let configurationFile = OptionRule.file(
    "--config", "read the configuration from this JSON file")
  static let dataFolder = OptionRule.folder("--data", "keep the store in this folder (./data)")
  static let environmentFile = OptionRule.file(
    "--environment-file",
    "take variables from this file, too, as systemd's EnvironmentFile= does; may be given more"
      + " than once", isRepeatable: true)

  /// The configuration options of `serve`, which `check` takes as well.
  private static let configuration: [OptionRule] = [
    configurationFile,
    .text(
      "--listen", "ADDR:PORT",
      "listen here; may be given more than once (127.0.0.1:8080; port 0 takes any free one)."
        + " unix:/PATH listens on a Unix socket; TLS and listeners only for devices or operators"
        + " are set in the file", isRepeatable: true),
    dataFolder,
    .text(
      "--upstream", "NAME=URL", "forward to this service; may be given more than once",
      isRepeatable: true),
    .flag(
      "--allow-anonymous",
      "let in anybody who can reach it; otherwise, without a credential configured, it listens on"
        + " this machine only"),
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
      "Options take precedence over variables, and variables over the file. The variables are"
        + " WAYSTATION_CONFIG, WAYSTATION_LISTEN, WAYSTATION_DATA, WAYSTATION_POSTGRES_URL (in"
        + " place of the data folder), WAYSTATION_UPSTREAMS, WAYSTATION_ANONYMOUS (allow),"
        + " WAYSTATION_HOSTS, WAYSTATION_OPERATORS"
        + " (NAME=ROLE:DIGEST), WAYSTATION_TRACING_ENDPOINT, WAYSTATION_LOG_LEVEL,"
        + " WAYSTATION_LOG_FORMAT and WAYSTATION_LOG_ACCESS (true or false); lists are separated"
        + " by commas. In the file, ${NAME} stands for the environment variable NAME,"
        + " and ${file:PATH} for what the file PATH holds.",
      "The first lines on standard output are the addresses, as in \"listening on"
        + " http://127.0.0.1:8080\". The log goes to standard error.",
      "SIGTERM or SIGINT (Ctrl-C) stops it: nothing more is accepted, attempts in flight may"
        + " finish within shutdownGraceSeconds (30), and the rest waits in the store. Exit code 0."
        + " A second one stops it at once, with exit code 1; nothing is lost either way. SIGHUP"
        + " reads configuration and certificates again: good ones take effect, bad ones are"
        + " refused with a line in the log, and no connection or attempt is lost.",
    ],
    examples: [
      "waystation serve --upstream default=https://api.example.com",
      "waystation serve --config /etc/waystation/config.json --listen 0.0.0.0:8080",
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
      .file(
        "--record",
        "write each request to this file before it is answered, with all fields and its body, as"
          + " audit-lane --requests reads it"),
      .flag("--quiet", "print no requests"),
    ],
    notes: [
      "A line has the time (UTC), the method and path, the status of the answer and the size; then,"
        + " if the relay has sent them, the client, the number of the attempt and the idempotency"
        + " key; and the first 60 characters of the body. Ctrl-C stops it."
    ],
    examples: [
      "waystation sink", "waystation sink --fail-with 503",
      "waystation sink --listen 127.0.0.1:0 --delay 200ms", "waystation sink --down-for 10s",
      "waystation sink --record requests.ndjson",
    ])

  static let check = CommandSpec(
    summary: "check a configuration, without starting anything",
    about: "Check a configuration, without starting or touching anything.",
    options: configuration + [
      environmentFile,
      .flag(
        "--try-upstreams",
        "also connect to each upstream, show it the relay's credentials, and say what came of it"),
      .flag(
        "--try-store",
        "also connect to the database that holds the store, and say what is found there"),
    ],
    notes: [
      "It uses the same options and environment as 'waystation serve', reads the certificates,"
        + " keys and secrets that the configuration names, and prints a short summary without"
        + " secrets, or everything that is wrong, with each missing variable and file.",
      "--try-upstreams sends no envelope. It resolves each upstream's name, connects, secures the"
        + " connection, fetches an access token where one is needed, and asks for the base URL by"
        + " HEAD, within 15 s for each request. Any answer is good but 401 and 403 where the relay"
        + " shows credentials of its own, 407, 5xx other than 501, and 400 where it is about the"
        + " connection. Another relay has to take posts, and to have the upstream.",
      "--try-store changes nothing in the database. It says the server's version, whether TLS is"
        + " used, how commits are made safe, whether the relay's tables are there or may be made,"
        + " and whether a relay has the store.",
    ],
    exits: "0 it is good, 1 it is not, or an upstream or the store cannot be used.",
    examples: [
      "waystation check --config /etc/waystation/config.json",
      "sudo waystation check --config /etc/waystation/config.json --environment-file"
        + " /etc/waystation/secrets.env",
      "sudo -u waystation waystation check --config /etc/waystation/config.json --try-upstreams",
    ])

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
      "Without --server it asks the relay that WAYSTATION_SERVER names, or else the first address"
        + " of WAYSTATION_LISTEN, or else http://127.0.0.1:8080. It waits for 3 s, and has no TLS."
    ],
    exits: "0 ready, 1 not ready, or no answer.",
    examples: ["waystation health --server unix:/run/waystation.sock"])

  static let store = CommandSpec(
    summary: "check a store, back it up, move it, rescue it, or salvage it",
    about: "Check a store, copy it while the relay runs, move it into a database and back, or save"
      + " the rest of a damaged one.",
    actions: [
      ActionSpec(
        name: "check", summary: "read all of it, and name all damage", options: [storeFolder]),
      ActionSpec(
        name: "backup", summary: "copy it as of one moment, even while the relay runs",
        options: [storeFolder, newFolder]),
      ActionSpec(
        name: "rescue", summary: "make a running relay write a new one, once its files are gone",
        options: [newFolder] + relay),
      ActionSpec(
        name: "salvage", summary: "make a new one from the readable parts of a damaged one",
        options: [storeFolder, newFolder]),
      ActionSpec(
        name: "move", summary: "move all of it from a data folder into PostgreSQL, or back",
        options: [
          .text("--from", "PLACE", "the store to be moved"),
          .text(
            "--to", "PLACE",
            "where to: a database without rows, or a folder that is empty or not there yet"),
          passwordFile, environmentFile,
        ]),
      ActionSpec(
        name: "reopen", summary: "let a relay start again on one that was moved away",
        options: [
          .text("--at", "PLACE", "the store that was moved away"), passwordFile, environmentFile,
        ]),
    ],
    options: [
      .flag("--json", "check, backup, move, rescue: print one JSON object in place of text")
    ],
    notes: [
      "check reads everything and changes nothing, even while the relay runs: pages and indexes,"
        + " the rules that each table must keep, and the bodies in separate files. It names each"
        + " kind of damage, what it means, and what to do.",
      "backup copies the database and the bodies as of one moment, syncs them to disk, and checks"
        + " the copy. The relay goes on meanwhile. The copy is a data folder: to restore it, stop"
        + " the relay, put it in the place of the old one, and start. The keys of receipts"
        + " (receipt-keys) are in no copy: keep one apart, and put them into the folder before the"
        + " start. Without them the relay begins new ones, which no device trusts.",
      "rescue is for files that were deleted, moved or replaced while the relay runs. Only that"
        + " relay can still read them: do not stop it before the rescue. The relay itself writes"
        + " the new folder, on its machine, where it may write. rescue needs an operator's token"
        + " with the role 'steer'.",
      "salvage reads everything that can be read, page by page, and never touches the old store."
        + " Ids, order, keys and sequence numbers stay. Each loss is named on standard error and,"
        + " as one JSON object per line, in NEWDIR/salvage-report.ndjson. Stop the relay first.",
      "move copies everything, compares both sides, and marks the old store as moved, so that no"
        + " relay starts on it by mistake. Nothing is deleted there. PLACE is a data folder, the"
        + " postgresql:// URL of a database, or the configuration file of a relay that has its"
        + " store there. Stop both relays first, and all spares. A move that is cut off begins anew"
        + " when the same command is run again.",
    ],
    exits:
      "of check: 0 sound, 1 damaged, 3 could not look (no store there, not readable, or of a newer"
      + " version). Of backup: 0 there is a sound copy; 1 there is none, or the copied store is"
      + " damaged. Of rescue: 0 there is a new store, 1 there is none, 4 no relay answered. Of"
      + " salvage: 0 a new store was made, even if parts are lost; 1 none was made. Of move and"
      + " reopen: 0 done, 1 not.",
    examples: [
      "waystation store check --data /var/lib/waystation",
      "waystation store backup --data /var/lib/waystation --to /backup/monday",
      "waystation store rescue --to /var/lib/waystation/rescued",
      "waystation store salvage --data /var/lib/waystation --to /var/lib/salvaged",
      "waystation store move --from /var/lib/waystation --to"
        + " postgresql://waystation@db.example.com/waystation --password-file /run/secrets/db",
    ])

  /// The store that is checked, copied or salvaged.
  static let storeFolder = OptionRule.folder(
    "--data", "the data folder (WAYSTATION_DATA, else ./data)")
  private static let newFolder = OptionRule.folder(
    "--to", "the folder to be made; it must not be there, or be empty")
  private static let passwordFile = OptionRule.file(
    "--password-file", "the file with the password of the database's user")

  static let token = CommandSpec(
    summary: "make, list, revoke, renew and derive tokens",
    about: "Make, list, revoke and renew tokens of a running relay, and derive and digest others.",
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
        name: "renew", summary: "as a client, get another one for the token that you have",
        options: TokenOptions.rules(of: .renew)),
      ActionSpec(
        name: "derive", summary: "make a client's token from a key's secret, without a relay",
        options: TokenOptions.rules(of: .derive)),
      ActionSpec(
        name: "hash", summary: "print the digest of an operator's token for the configuration",
        options: TokenOptions.rules(of: .hash)),
    ],
    notes: [
      "create, list and revoke ask the relay, as an operator. create prints the token on standard"
        + " output only once: the relay keeps a digest.",
      "With --renewable-until, each renewal is for as long as the token was made for.",
      "renew is for devices. It asks with the client's own token, in WAYSTATION_TOKEN or by"
        + " --token-file, and prints the next one. The token that was shown stays good until its"
        + " own end, or until the next one is renewed; asking again with it prints the same.",
      "derive takes the secret from --secret-file or WAYSTATION_KEY_SECRET. hash with --new also"
        + " makes the token. No secret is taken from the command line, which others can see.",
    ],
    exits: exits,
    examples: [
      "waystation token hash --new",
      "waystation token create --client truck-7 --label 'spare unit'",
      "waystation token create --client truck-8 --expires-at 30d --renewable-until 365d",
      "waystation token derive --key factory-1 --client truck-7",
    ])
}
