import RelayCore

/// The tables, one step for each version.
///
/// A step is never changed once it was released: a device may come from any of them.
enum Schema {
  /// The version that this library writes.
  static var version: Int { steps.count }

  /// Each step leads from the version of its place to the next one.
  ///
  /// Each makes a table or an index, and changes none: so the tables say which version they are.
  static let steps: [String] = [first, receipts, evidence, named, signatures]

  /// Items are kept apart from their bodies, so that a change of state writes a short row.
  ///
  /// What waits for the relay is found by `item_line`, what the relay tells of by `item_number`.
  private static let first = """
    CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
    CREATE TABLE lane (
      id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, next INTEGER NOT NULL,
      items INTEGER NOT NULL, bytes INTEGER NOT NULL, line INTEGER NOT NULL,
      paused INTEGER NOT NULL);
    CREATE TABLE item (
      id INTEGER PRIMARY KEY, lane INTEGER NOT NULL, state INTEGER NOT NULL,
      handed INTEGER NOT NULL, sequence INTEGER, key TEXT NOT NULL, tag TEXT, coalesce TEXT,
      body_kind INTEGER NOT NULL, body_bytes INTEGER NOT NULL, bytes INTEGER NOT NULL,
      wall INTEGER NOT NULL, monotonic INTEGER NOT NULL, boot INTEGER NOT NULL,
      expires INTEGER, not_before INTEGER, on_refusal INTEGER, attempts INTEGER NOT NULL,
      relay_id TEXT, error_id TEXT, error TEXT, refuser INTEGER, command INTEGER, upload TEXT,
      relay_lane TEXT, answers INTEGER NOT NULL DEFAULT 0,
      user_data BLOB);
    CREATE UNIQUE INDEX item_key ON item (key);
    CREATE INDEX item_line ON item (lane, id) WHERE handed = 0;
    CREATE INDEX item_number ON item (lane, sequence) WHERE sequence IS NOT NULL;
    CREATE INDEX item_coalesce ON item (lane, coalesce) WHERE coalesce IS NOT NULL AND state < 3;
    CREATE INDEX item_tag ON item (tag, id) WHERE tag IS NOT NULL;
    CREATE INDEX item_attention ON item (id) WHERE state > 4;
    CREATE INDEX item_deadline ON item (boot, monotonic + expires)
      WHERE expires IS NOT NULL AND handed = 0 AND state <> 3;
    CREATE INDEX item_handed ON item (lane, id) WHERE handed = 1;
    CREATE INDEX item_file ON item (id) WHERE body_kind = 2;
    CREATE TABLE void_number (
      lane INTEGER NOT NULL, sequence INTEGER NOT NULL, PRIMARY KEY (lane, sequence)) WITHOUT ROWID;
    CREATE TABLE content (id INTEGER PRIMARY KEY, request BLOB NOT NULL, body BLOB);
    CREATE TABLE ending (
      id INTEGER PRIMARY KEY, key TEXT NOT NULL, lane INTEGER NOT NULL, tag TEXT, sequence INTEGER,
      kind INTEGER NOT NULL, status INTEGER, headers BLOB, body BLOB, cut INTEGER,
      error_id TEXT, error TEXT, attempts INTEGER NOT NULL, bytes INTEGER NOT NULL,
      wall INTEGER NOT NULL, user_data BLOB);
    CREATE UNIQUE INDEX ending_key ON ending (key);
    """

  /// What receipts are verified with, and the receipts.
  ///
  /// A digest outlives its item: the relay may sign for it later than it ends.
  private static let receipts = """
    CREATE TABLE item_digest (
      lane INTEGER NOT NULL, sequence INTEGER NOT NULL, digest BLOB NOT NULL,
      PRIMARY KEY (lane, sequence)) WITHOUT ROWID;
    CREATE TABLE receipt (
      lane INTEGER NOT NULL, ordinal INTEGER NOT NULL, open INTEGER NOT NULL,
      checked_from INTEGER NOT NULL, json BLOB NOT NULL,
      PRIMARY KEY (lane, ordinal)) WITHOUT ROWID;
    CREATE TABLE custody (lane INTEGER PRIMARY KEY, kept_through INTEGER NOT NULL);
    """

  /// The ends of items that a relay has told and not signed, and pages of its ledgers.
  ///
  /// The ending itself is stored as any other; its item is there as well until it is signed. A
  /// proof is the page by which an item has ended.
  private static let evidence = """
    CREATE TABLE unproven (
      lane INTEGER NOT NULL, sequence INTEGER NOT NULL, PRIMARY KEY (lane, sequence)) WITHOUT ROWID;
    CREATE TABLE ledger_page (
      id INTEGER PRIMARY KEY, lane INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
      body BLOB NOT NULL);
    CREATE INDEX ledger_page_last ON ledger_page (lane, last);
    CREATE TABLE proof (item INTEGER PRIMARY KEY, page INTEGER NOT NULL);
    CREATE INDEX proof_page ON proof (page);
    """

  /// What items were enqueued as whose keys the app has named, and what they were changed to.
  private static let named = """
    CREATE TABLE named (id INTEGER PRIMARY KEY, first INTEGER NOT NULL, latest INTEGER NOT NULL);
    """

  /// What the device signs of its items, up to where it has left in each lane, and the numbers that
  /// were given up, with the number in whose statement that is told.
  ///
  /// A statement is here before the signer sees it, so no number gets a second one.
  private static let signatures = """
    CREATE TABLE item_signature (
      item INTEGER PRIMARY KEY, lane INTEGER NOT NULL, sequence INTEGER NOT NULL,
      digest BLOB NOT NULL, payload BLOB NOT NULL, hash BLOB NOT NULL, anew INTEGER NOT NULL,
      jws TEXT);
    CREATE INDEX item_signature_number ON item_signature (lane, sequence);
    CREATE TABLE signed_lane (
      lane INTEGER PRIMARY KEY, sequence INTEGER NOT NULL, hash BLOB, anew INTEGER NOT NULL);
    CREATE TABLE signed_void (
      lane INTEGER NOT NULL, sequence INTEGER NOT NULL, told INTEGER,
      PRIMARY KEY (lane, sequence)) WITHOUT ROWID;
    """

  /// Makes the tables that a database of an earlier version lacks for as long as it is open, so
  /// that it can be read with the statements of this version and stays as it is.
  static func lacking(from version: Int) -> String {
    steps[min(max(1, version), steps.count)...].joined()
      .withEach("CREATE TABLE", as: "CREATE TEMP TABLE")
  }
}
