/// What `help` says, at most 80 columns wide.
enum HelpText {
  /// The text on a command; nil for the list of all.
  static func text(on command: Command?) -> String {
    switch command {
    case nil, .help: overview
    case .serve: serve
    case .sink: sink
    case .check: check
    case .store: store
    case .health: health
    case .token: token
    case .version: version
    }
  }

  /// Prints it on standard output.
  static func print(on command: Command?) -> ExitCode {
    StandardStream.output.line(text(on: command))
    return .good
  }

  private static let overview = """
    Waystation takes HTTP requests from devices that are online only now and then,
    stores them safely, and forwards them in order until the upstream has answered.

    Usage: waystation COMMAND [OPTIONS]

      serve     run the relay
      sink      run a small upstream that prints what reaches it
      check     say whether a configuration is good, without starting anything
      store     check a store, or save what can be read of a damaged one
      health    ask a running relay whether it is ready
      token     make, list, revoke and derive the tokens of devices and operators
      version   print the version
      help      print this, or the help on a command: waystation help serve

    To see it work, run each of these in a terminal of its own, in this order:

      waystation sink
      waystation serve --upstream default=http://127.0.0.1:9090
      curl -i http://127.0.0.1:8080/v1/envelopes \\
        -H 'Content-Type: application/json' \\
        -d '{"client": "truck-7", "path": "/readings", "body": {"celsius": 21.5}}'

    Exit codes: 0 all is well, 1 it did not work, 2 the command line is wrong.
    """

  private static let serve = """
    Run the relay.

    Usage: waystation serve [OPTIONS]

      --config FILE         read the configuration from this JSON file
      --listen ADDR:PORT    listen here; may be given more than once
                            (127.0.0.1:8080; port 0 takes any free one).
                            unix:/PATH listens on a Unix socket; TLS and listeners
                            for devices or operators alone are set in the file
      --data DIR            keep the store in this folder (./data)
      --upstream NAME=URL   forward to this service; may be given more than once
      --allow-anonymous     let anybody in who can reach it; without a credential
                            configured it listens on this machine only otherwise
      --log-level LEVEL     debug, info, warning or error (info)
      --log-format FORMAT   text, json, or auto: text on a terminal (auto)
      --set-aside-damaged   move a damaged store into DIR/damaged-TIME and begin a
                            new one; without it such a store is refused
      -h, --help            print this

    Options beat variables, and variables beat the file. The variables are
    WAYSTATION_CONFIG, WAYSTATION_LISTEN, WAYSTATION_DATA, WAYSTATION_UPSTREAMS,
    WAYSTATION_ANONYMOUS (allow), WAYSTATION_OPERATORS (NAME=ROLE:DIGEST),
    WAYSTATION_LOG_LEVEL and WAYSTATION_LOG_FORMAT; lists are separated by commas.
    In the file, ${NAME} stands for the environment variable NAME.

    The first lines on standard output are the addresses, as in
    "listening on http://127.0.0.1:8080". The log goes to standard error.

    SIGTERM or SIGINT (Ctrl-C) stops it: nothing more is accepted, what is in flight
    may finish for shutdownGraceSeconds (30), and the rest waits in the store. Exit
    code 0. A second one stops it at once, with exit code 1; nothing is lost either
    way. SIGHUP reads the certificates again; a new configuration takes a restart.

    Examples:

      waystation serve --upstream default=https://api.example.com
      waystation serve --config /etc/waystation.json --listen 0.0.0.0:8080
    """

  private static let sink = """
    Run a small upstream that prints a line for each request that reaches it.

    Usage: waystation sink [OPTIONS]

      --listen ADDR:PORT    listen here (127.0.0.1:9090; port 0 takes any free one)
      --status STATUS       answer with this status, 200 to 599 (200)
      --fail-with STATUS    answer with this error, 400 to 599; 429 and 503 come
                            with "Retry-After: 1"
      --delay TIME          wait this long before each answer, as in 200ms
      --down-for TIME       refuse connections for this long first, as in 10s
      --quiet               print no requests
      -h, --help            print this

    A line has the time (UTC), the method and path, the status that was answered,
    the size, then, where the relay has sent them, the client, the number of the
    attempt and the idempotency key, and the first 60 characters of the body.
    Ctrl-C stops it.

    Examples:

      waystation sink
      waystation sink --fail-with 503
      waystation sink --listen 127.0.0.1:0 --delay 200ms
      waystation sink --down-for 10s
    """

  private static let check = """
    Say whether a configuration is good, without starting or touching anything.

    Usage: waystation check [--config FILE] [OPTIONS]

      --config FILE         read the configuration from this JSON file
      --listen, --data, --upstream, --allow-anonymous, --log-level, --log-format
                            as 'waystation serve' takes them
      -h, --help            print this

    It sees what 'waystation serve' would with the same options and environment,
    reads the certificates and keys that are named there, and prints a short summary
    without secrets, or all that is wrong.

    Exit codes: 0 it is good, 1 it is not.

    Example:

      waystation check --config /etc/waystation.json
    """

  private static let store = """
    Check a store, or make a new one of what can be read of a damaged one.

    Usage: waystation store check [--data DIR] [--json]
           waystation store salvage --to NEWDIR [--data DIR]

      --data DIR            the data folder (WAYSTATION_DATA, else ./data)
      --to NEWDIR           the folder to be made; it must not be there, or be empty
      --json                print one JSON object rather than lines for people
      -h, --help            print this

    check reads everything and changes nothing, also beside a running relay: pages
    and indexes, what the relay relies on in each table, and the bodies in files of
    their own. It names what is damaged, what that means, and what to do.

    salvage reads page by page whatever can be read, and never touches the old
    store. Ids, order, keys and sequence numbers stay. What is lost is named on
    standard error and, a JSON object a line, in NEWDIR/salvage-report.ndjson.
    Stop the relay first.

    Exit codes of check: 0 sound, 1 damaged, 3 could not look (no store there, not
    readable, or of a newer version). Of salvage: 0 a new store was made, also if
    some is lost; 1 none was made.

    Examples:

      waystation store check --data /var/lib/waystation
      waystation store salvage --data /var/lib/waystation --to /var/lib/salvaged
    """

  private static let health = """
    Ask a running relay whether it is ready to take envelopes (GET /readyz).

    Usage: waystation health [--server URL]

      --server URL          the relay, as in http://127.0.0.1:8080, or its Unix
                            socket, as in unix:/run/waystation.sock
      -h, --help            print this

    Without --server it asks the one that WAYSTATION_SERVER names, else the first
    address of WAYSTATION_LISTEN, else http://127.0.0.1:8080. It waits for 3 s.

    Exit codes: 0 ready, 1 not ready, or no answer.

    Example, in a Dockerfile:

      HEALTHCHECK CMD ["waystation", "health"]
    """

  private static let token = """
    Make, list and revoke tokens of a running relay, and derive and digest others.

    Usage: waystation token create (--client NAME | --role read|steer) [OPTIONS]
           waystation token list [--client NAME] [OPTIONS]
           waystation token revoke ID [OPTIONS]
           waystation token derive --key NAME --client NAME [--secret-file FILE]
           waystation token hash [--new | --token-file FILE]

    create, list and revoke ask the relay, as an operator:

      --server URL          the relay (WAYSTATION_SERVER; http://127.0.0.1:8080)
      --token-file FILE     the operator's token (WAYSTATION_TOKEN)
      --ca FILE             the authorities that its certificate is checked against
      --allow-plain-http    send the token over a network without TLS
      --label TEXT          create: what the token is for
      --expires-at TIME     create: when it ends, as in 2027-01-01T00:00:00Z

    create prints the token on standard output, this once: only a digest is kept.

    derive makes a client's token of a key's secret (--secret-file, or
    WAYSTATION_KEY_SECRET), without a relay. hash prints the digest of an
    operator's token for the configuration; with --new it makes the token, too.
    No secret is ever taken from the command line, which others can see.

    Examples:

      waystation token hash --new
      waystation token create --client truck-7 --label 'spare unit'
      waystation token derive --key factory-1 --client truck-7
    """

  private static let version = """
    Print the version, and those of the libraries in use.

    Usage: waystation version
    """
}
