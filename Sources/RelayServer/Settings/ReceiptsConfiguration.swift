import RelayCore

/// The configuration of signed receipts; a relay without it signs none.
package struct ReceiptsConfiguration: KeyedSection, Sendable {
  package var issuer = ""
  package var keys: String?
  package var keptSeconds = 30 * 86_400
  package var keptGroupsMax = 10_000_000
  package var keptEntriesMax = 10_000_000

  /// Nothing is named yet.
  package init() {}

  @KeyList static var keys: [Key] {
    Key(
      "issuer", \.issuer,
      .text("an http or https URL without a user name, query or fragment") {
        (try? UpstreamURL($0)) != nil
      },
      "the name of the relay in what it [signs](receipts.md): a URL, which nothing is fetched from",
      isRequired: true)
    Key(
      "keys", \.keys, .unlessAbsent(.path("the path of a folder")),
      absent: "`receipt-keys` in the data folder; required with `store.postgres`",
      "the folder of the [keys](receipts.md#keys), which the relay makes if it is missing or empty")
    Key(
      "keptSeconds", \.keptSeconds, .integer(0...Configuration.secondsMax),
      """
      how long a lane's latest receipt can at least be asked for, and a ledger's entries once \
      their envelopes are forgotten
      """)
    Key(
      "keptGroupsMax", \.keptGroupsMax, .integer(1...1 << 40),
      "how many commits' receipts are kept: some 280 bytes each, and 32 more for each further lane")
    Key(
      "keptEntriesMax", \.keptEntriesMax, .integer(1...1 << 40),
      "how many entries of evidence lanes' ledgers are kept: some 250 bytes each")
  }
}

extension Configuration {
  /// The name of the folder of keys in a data folder.
  package static let receiptKeysName = "receipt-keys"

  /// The folder of the keys of receipts; nil if there are no receipts.
  package var receiptKeysFolder: String? {
    receipts.map { $0.keys ?? usualReceiptKeysFolder }
  }

  /// The folder of the keys where the configuration names none.
  package var usualReceiptKeysFolder: String { "\(data)/\(Self.receiptKeysName)" }
}
