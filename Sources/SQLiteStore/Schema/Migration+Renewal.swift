extension Migration {
  /// Tokens that their clients may renew.
  ///
  /// `docs/decisions/0068-renewed-tokens.md` gives the reasons.
  static let migration0023 = Migration(
    version: 23,
    sql: """
      -- Until when it may be renewed, and how many milliseconds a secret is good; NULL: it may not
      -- be. The others are of the last renewal, and NULL before the first: how many there were,
      -- when it was, what the secret was made of, and the former secret's digest and end.
      ALTER TABLE token ADD COLUMN renewable_until INTEGER;
      ALTER TABLE token ADD COLUMN renewal_ms INTEGER;
      ALTER TABLE token ADD COLUMN renewals INTEGER;
      ALTER TABLE token ADD COLUMN renewed_at INTEGER;
      ALTER TABLE token ADD COLUMN renewal_seed BLOB;
      ALTER TABLE token ADD COLUMN former_digest BLOB;
      ALTER TABLE token ADD COLUMN former_expires_at INTEGER;
      """)
}
