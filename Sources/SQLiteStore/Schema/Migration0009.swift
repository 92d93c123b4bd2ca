extension Migration {
  /// Tokens of clients and operators.
  static let migration0009 = Migration(
    version: 9,
    sql: """
      -- Never the secrets: digest is SHA-256 of one, empty for a revoked token that was made of a
      -- key. kind: 0 a client's, 1 an operator's who may read, 2 one's who may steer, 3 revoked.
      CREATE TABLE token (
        id TEXT PRIMARY KEY,
        kind INTEGER NOT NULL,
        client TEXT,
        digest BLOB NOT NULL,
        label TEXT,
        created_at INTEGER NOT NULL,
        expires_at INTEGER
      ) STRICT, WITHOUT ROWID;

      CREATE INDEX token_client ON token (client, id) WHERE client IS NOT NULL;
      """)
}
