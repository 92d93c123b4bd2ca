extension CommandTable {
  static let keys = CommandSpec(
    summary: "show the keys that sign receipts, or make a new one",
    about:
      "Show the keys that a relay signs receipts with, put a new one in place of the present one,"
      + " or note that devices know them.",
    actions: [
      ActionSpec(name: "list", summary: "show all of them, from the first to the present one"),
      ActionSpec(
        name: "rotate", summary: "make a new one, which the present one signs before it goes"),
      ActionSpec(
        name: "accept", summary: "note that devices know them, though they follow no former ones"),
    ],
    options: [
      configurationFile,
      OptionRule.folder(
        "--data", "the relay's data folder, if the file does not name it, or there is none"),
      environmentFile,
    ],
    notes: [
      "They work on the folder that the configuration names by receipts.keys, and need no relay."
        + " Without a configuration that is receipt-keys in the data folder, so --data is enough."
        + " Run them as the relay's user, or as root. The first key is the relay's to make, when it"
        + " starts.",
      "rotate deletes the old private key. The old public key stays in the ring, so that what it"
        + " has signed can be verified. A running relay takes the new key up at SIGHUP, and signs"
        + " with the old one until then. Relays that share a store need the same folder: bring it"
        + " to each of them.",
      "accept ends the need receipt-keys-new, for which the folder has the file unknown-to-devices."
        + " A running relay takes note of it at SIGHUP.",
    ],
    exits: "0 done, 1 not.",
    examples: [
      "sudo -u waystation waystation keys list --config /etc/waystation/config.json",
      "waystation keys list --data ./data",
      "sudo -u waystation waystation keys rotate --config /etc/waystation/config.json"
        + " && sudo systemctl reload waystation",
    ])
}
