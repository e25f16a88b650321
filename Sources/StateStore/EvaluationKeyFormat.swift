// The schema of the evaluation keys' database (service.md 1.10).

extension DatabaseFormat {
    /// Two tables, so that a change of the time of last use does not rewrite a key of a megabyte. `AUTOINCREMENT` because a row id
    /// that waits in memory for its time of last use must never name a later row. `timestamp` is the bit pattern of a UInt64.
    static let evaluationKeys = DatabaseFormat(
        applicationIdentifier: 0x5645_4B53,  // "VEKS"
        schemaVersion: 1,
        schema: [
            """
            CREATE TABLE evaluation_key (
                id INTEGER PRIMARY KEY AUTOINCREMENT,
                user_identifier TEXT NOT NULL,
                configuration_hash BLOB NOT NULL,
                timestamp INTEGER NOT NULL,
                bytes INTEGER NOT NULL,
                last_used INTEGER NOT NULL,
                use_order INTEGER NOT NULL,
                UNIQUE (user_identifier, configuration_hash, timestamp)
            ) STRICT
            """,
            "CREATE INDEX evaluation_key_by_use ON evaluation_key (use_order, id, bytes)",
            "CREATE INDEX evaluation_key_by_age ON evaluation_key (last_used)",
            "CREATE TABLE evaluation_key_content (id INTEGER PRIMARY KEY, content BLOB NOT NULL) STRICT",
        ],
        largestValueBytes: Int32(EvaluationKeyLimits.largestKeyBytes) + 65_536)
}
