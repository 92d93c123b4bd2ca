extension CommandTable {
  static let auditLane = CommandSpec(
    summary: "prove from files that a lane came through whole",
    about:
      "Prove, from receipts, the relay's ledger and what the upstream got, that a lane came through"
      + " whole and in order; or name the first number that did not, and why.",
    options: [
      .file("--receipts", "receipts of the lane, as the relay gave them to its device"),
      .file("--keys", "the relay's keys: GET /.well-known/waystation/keys"),
      .file(
        "--ledger",
        "pages of GET /v1/clients/{client}/lanes/{lane}/ledger, one behind the other"),
      .file("--requests", "what the upstream got, in that order: a line of JSON for each request"),
      .file(
        "--device-keys",
        "the devices' keys, a JSON Web Key or a set of them: look at their signatures, too"),
      .text("--client", "NAME", "the device, where no --ledger says which it is"),
      .text("--lane", "NAME", "its lane, where no --ledger says which it is"),
      .text("--pin", "KID", "trust this key, and those that it leads to (the first one)"),
      .text("--upstream", "NAME", "the upstream's name, as the relay calls it (default)"),
      .text("--strip-path", "PREFIX", "what the upstream's URL puts in front of each path"),
      .text(
        "--from", "NUMBER",
        "begin here, behind the last number of an older receipt; otherwise where the chain begins"),
      json,
    ],
    notes: [
      "It asks no relay. One of the files may be - for standard input.",
      "A line of --requests has the members sequence, key, method, path, headers and bodyBase64,"
        + " and if you like client and lane. What is not given is taken from the request's fields"
        + " Waystation-Sequence, Waystation-Key, Waystation-Client and Waystation-Lane. Lines of"
        + " other lanes and lines without a number are left out, and counted.",
      "With --device-keys, --client and --lane, and without the relay's three files, it trusts the"
        + " device's key alone.",
      "docs/receipts.md says what it proves. examples/audit.py is the same without this program.",
    ],
    exits: "0 it holds, 1 it does not, 2 the command line is wrong or a file cannot be read.",
    examples: [
      "waystation audit-lane --receipts receipts.ndjson --keys keys.json --ledger ledger.ndjson"
        + " --requests requests.ndjson",
      "waystation audit-lane --device-keys till-1.json --client till-1 --lane sales"
        + " --requests requests.ndjson",
    ])
}
