// The statements on the tables of the evaluation keys. Transactions belong to the caller. The user, the configuration and the
// timestamp are three columns, never one joined text: two users cannot meet in one row (keyword-pir.md 9.2).

/// When a key was last used: by the clock, and by the order of all uses, which decides who goes first.
struct EvaluationKeyUse {
    var lastUsed: Int64
    var order: Int64
}

/// One connection, seen as the table of keys.
final class EvaluationKeyTable {
    let connection: SQLiteConnection
    private let path: String

    init(connection: SQLiteConnection, path: String) {
        self.connection = connection
        self.path = path
    }

    /// The rows and timestamps of one user and configuration.
    func timestamps(
        userIdentifier: String, configurationHash: [UInt8]
    ) throws(StateStoreError) -> [(row: Int64, timestamp: UInt64)] {
        var result: [(row: Int64, timestamp: UInt64)] = []
        try connection.run(
            "SELECT id, timestamp FROM evaluation_key WHERE user_identifier = ? AND configuration_hash = ?",
            [.text(userIdentifier), .blob(configurationHash)]
        ) { (row) throws(StateStoreError) in
            result.append((try row.integer(0), UInt64(bitPattern: try row.integer(1))))
        }
        return result
    }

    /// The key for a query, with its row.
    func key(
        userIdentifier: String, configurationHash: [UInt8], timestamp: UInt64
    ) throws(StateStoreError) -> (row: Int64, match: EvaluationKeyMatch)? {
        // Without the snapshot a key that is replaced between the two statements would seem damaged.
        try connection.snapshot { () throws(StateStoreError) in
            let stored = try timestamps(userIdentifier: userIdentifier, configurationHash: configurationHash)
            let exact = timestamp == 0 ? nil : stored.first { $0.timestamp == timestamp }
            guard let chosen = exact ?? stored.max(by: { $0.timestamp < $1.timestamp }) else { return nil }
            let record = EvaluationKeyRecord(
                userIdentifier: userIdentifier, configurationHash: configurationHash, timestamp: chosen.timestamp,
                key: try content(ofRow: chosen.row))
            return (chosen.row, EvaluationKeyMatch(record: record, matchedTimestamp: timestamp == 0 || exact != nil))
        }
    }

    /// The key of a row. One that is missing, or of another length than recorded, is damage.
    private func content(ofRow row: Int64) throws(StateStoreError) -> [UInt8] {
        var content: [UInt8]?
        try connection.run(
            "SELECT bytes, content FROM evaluation_key JOIN evaluation_key_content USING (id) WHERE id = ?", [.integer(row)]
        ) { (row) throws(StateStoreError) in
            let bytes = try row.blob(1)
            guard Int64(bytes.count) == (try row.integer(0)) else { throw .corrupt(path: path) }
            content = bytes
        }
        guard let content else { throw .corrupt(path: path) }
        return content
    }

    /// Adds a record, after removing those that it displaces.
    func insert(_ record: EvaluationKeyRecord, use: EvaluationKeyUse) throws(StateStoreError) {
        let stored = try timestamps(userIdentifier: record.userIdentifier, configurationHash: record.configurationHash)
        let displaced = timestampsToReplace(present: stored.map(\.timestamp), upload: record.timestamp)
        for (row, timestamp) in stored where displaced.contains(timestamp) {
            try remove(row: row)
        }
        try connection.run(
            """
            INSERT INTO evaluation_key (user_identifier, configuration_hash, timestamp, bytes, last_used, use_order)
            VALUES (?, ?, ?, ?, ?, ?)
            """,
            [
                .text(record.userIdentifier), .blob(record.configurationHash), .integer(Int64(bitPattern: record.timestamp)),
                .integer(Int64(record.key.count)), .integer(use.lastUsed), .integer(use.order),
            ])
        try connection.run(
            "INSERT OR REPLACE INTO evaluation_key_content (id, content) VALUES (?, ?)",
            [.integer(connection.lastInsertedRow), .blob(record.key)])
    }

    /// Writes the time of last use of a row; nothing happens when the row has gone.
    func record(_ use: EvaluationKeyUse, ofRow row: Int64) throws(StateStoreError) {
        try connection.run(
            "UPDATE evaluation_key SET last_used = ?, use_order = ? WHERE id = ?",
            [.integer(use.lastUsed), .integer(use.order), .integer(row)])
    }

    /// The highest order of use in the file.
    func newestUseOrder() throws(StateStoreError) -> Int64 {
        let newest = try connection.integer("SELECT coalesce(max(use_order), 0) FROM evaluation_key") ?? 0
        // Half of the numbers remain for this process; a file that claims otherwise is damaged, and would make the counter trap.
        guard newest >= 0, newest < Int64.max / 2 else { throw .corrupt(path: path) }
        return newest
    }

    /// Users with more keys than allowed (after the limit was lowered).
    func users(withMoreThan limit: Int) throws(StateStoreError) -> [String] {
        var users: [String] = []
        try connection.run(
            "SELECT user_identifier FROM evaluation_key GROUP BY user_identifier HAVING count(*) > ?", [.integer(Int64(limit))]
        ) { (row) throws(StateStoreError) in
            users.append(try row.text(0))
        }
        return users
    }

    /// Removes the least recently used keys of a user beyond `limit`.
    ///
    /// - Returns: how many went; so do the other `trim` functions.
    func trim(user: String, to limit: Int) throws(StateStoreError) -> Int {
        try remove(
            rows: "SELECT id FROM evaluation_key WHERE user_identifier = ? ORDER BY use_order DESC, id DESC LIMIT -1 OFFSET ?",
            [.text(user), .integer(Int64(limit))])
    }

    /// Removes the least recently used keys until the rest has at most `limit` bytes.
    func trim(toTotal limit: Int) throws(StateStoreError) -> Int {
        var excess = try Int64(statistics().bytes) - Int64(limit)
        guard excess > 0 else { return 0 }
        var rows: [Int64] = []
        try connection.run("SELECT id, bytes FROM evaluation_key ORDER BY use_order, id") { (row) throws(StateStoreError) in
            guard excess > 0 else { return }
            rows.append(try row.integer(0))
            excess -= try length(row.integer(1))
        }
        for row in rows {
            try remove(row: row)
        }
        return rows.count
    }

    /// Removes the keys that were last used before `boundary`.
    func trim(idleSince boundary: Int64) throws(StateStoreError) -> Int {
        try remove(rows: "SELECT id FROM evaluation_key WHERE last_used < ?", [.integer(boundary)])
    }

    /// Counts and sums over the covering index.
    func statistics() throws(StateStoreError) -> EvaluationKeyStatistics {
        var statistics = EvaluationKeyStatistics(count: 0, bytes: 0)
        try connection.run(
            "SELECT count(*), coalesce(sum(bytes), 0) FROM evaluation_key INDEXED BY evaluation_key_by_use"
        ) { (row) throws(StateStoreError) in
            let (count, bytes) = (try row.integer(0), try row.integer(1))
            // No disk holds 2^60 bytes of keys; a larger or a negative sum comes from a damaged file.
            guard bytes >= 0, bytes < 1 << 60 else { throw .corrupt(path: path) }
            statistics = EvaluationKeyStatistics(count: Int(count), bytes: Int(bytes))
        }
        return statistics
    }

    private func length(_ value: Int64) throws(StateStoreError) -> Int64 {
        guard value >= 0, value <= Int64(EvaluationKeyLimits.largestKeyBytes) else { throw .corrupt(path: path) }
        return value
    }

    private func remove(rows query: String, _ values: [SQLiteValue]) throws(StateStoreError) -> Int {
        var rows: [Int64] = []
        try connection.run(query, values) { (row) throws(StateStoreError) in
            rows.append(try row.integer(0))
        }
        for row in rows {
            try remove(row: row)
        }
        return rows.count
    }

    private func remove(row: Int64) throws(StateStoreError) {
        try connection.run("DELETE FROM evaluation_key WHERE id = ?", [.integer(row)])
        try connection.run("DELETE FROM evaluation_key_content WHERE id = ?", [.integer(row)])
    }
}
