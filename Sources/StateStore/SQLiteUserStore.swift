// User accounts in a SQLite file, for `veilring users` and for the server beside it.

import Synchronization

extension DatabaseFormat {
    /// `generation` counts the transactions that changed anything.
    static let users = DatabaseFormat(
        applicationIdentifier: 0x5645_5553,  // "VEUS"
        schemaVersion: 1,
        schema: [
            """
            CREATE TABLE user (
                id INTEGER PRIMARY KEY AUTOINCREMENT,
                tier TEXT NOT NULL,
                label TEXT,
                created INTEGER NOT NULL,
                expires INTEGER,
                revoked INTEGER
            ) STRICT
            """,
            "CREATE TABLE credential (hash BLOB PRIMARY KEY NOT NULL, user INTEGER NOT NULL) STRICT, WITHOUT ROWID",
            "CREATE INDEX credential_by_user ON credential (user)",
            "CREATE TABLE generation (id INTEGER PRIMARY KEY CHECK (id = 1), number INTEGER NOT NULL) STRICT",
            "INSERT INTO generation VALUES (1, 0)",
        ],
        largestValueBytes: 65_536, erasesDeleted: true)
}

/// Users in one file. Every call may block its thread for the disk and may come from any thread; several processes may share the
/// file. What a call changed is on the disk when it returns.
public final class SQLiteUserStore: Sendable {
    /// The file.
    public let path: String
    private let connection: Mutex<SQLiteConnection?>

    private static let columns = "id, tier, label, created, expires, revoked"

    /// Opens the file, or makes it (mode 0600; its folder 0700, whose parent must exist).
    ///
    /// - Parameter busyMilliseconds: how long a call waits for another process.
    /// - Throws: `StateStoreError`: `openToOthers`, `cannotOpen`, `readOnly`, `foreignDatabase`, `newerSchema`, `corrupt`,
    ///   `busy`, `diskFull`, `database`.
    public init(path: String, busyMilliseconds: Int32 = 5_000) throws(StateStoreError) {
        self.path = path
        let file = DatabaseFile(format: .users, path: path, busyMilliseconds: busyMilliseconds)
        try file.preparePermissions()
        connection = Mutex(try file.openWriter())
    }

    /// Opens an existing file only to look at it: nothing is made, changed or mended. Changes are refused by SQLite.
    ///
    /// - Throws: `StateStoreError`; `corrupt` also for an empty file.
    public init(lookingAt path: String) throws(StateStoreError) {
        self.path = path
        connection = Mutex(try DatabaseFile(format: .users, path: path, busyMilliseconds: 5_000).openToLook())
    }

    /// Adds a user.
    ///
    /// - Parameter user: its `id` is ignored.
    /// - Returns: the record with the id that the store gave.
    /// - Throws: `StateStoreError`: `invalidValue`, `credentialTaken`, `closed`, and what the file meets.
    public func add(_ user: UserRecord) throws(StateStoreError) -> UserRecord {
        try user.check()
        return try change { (connection) throws(StateStoreError) in
            let id = try Self.insert(user, index: 0, into: connection)
            return try self.user(id: id, connection)
        }
    }

    /// Gives a user one more credential; one that the user has already changes nothing.
    ///
    /// - Throws: `StateStoreError`: `invalidValue`, `noSuchUser`, `credentialTaken`, and as `add`.
    public func add(credentialHash hash: [UInt8], toUser id: Int64) throws(StateStoreError) {
        try UserRecord.check(hash: hash)
        try change { (connection) throws(StateStoreError) in
            let user = try self.user(id: id, connection)
            if user.credentialHashes.contains(hash) { return }
            guard user.credentialHashes.count < UserRecord.mostCredentials else {
                throw .invalidValue("a user has at most \(UserRecord.mostCredentials) credentials")
            }
            try Self.insert(credential: hash, of: id, index: 0, into: connection)
        }
    }

    /// Revokes a user; the first time stays when that was done before.
    ///
    /// - Throws: `StateStoreError`: `noSuchUser`, and as `add`.
    public func revoke(id: Int64, at now: Int64) throws(StateStoreError) {
        try change { (connection) throws(StateStoreError) in
            _ = try self.user(id: id, connection)
            try connection.run("UPDATE user SET revoked = ?2 WHERE id = ?1 AND revoked IS NULL", [.integer(id), .integer(now)])
        }
    }

    /// Revokes the user to whom a credential belongs, with all other credentials of that user.
    ///
    /// - Throws: `StateStoreError`: `noSuchUser`, and as `add`.
    public func revoke(credentialHash hash: [UInt8], at now: Int64) throws(StateStoreError) {
        try UserRecord.check(hash: hash)
        try change { (connection) throws(StateStoreError) in
            guard let id = try Self.owner(of: hash, connection) else { throw .noSuchUser }
            try connection.run("UPDATE user SET revoked = ?2 WHERE id = ?1 AND revoked IS NULL", [.integer(id), .integer(now)])
        }
    }

    /// Users in the order of their ids, revoked and expired ones too.
    ///
    /// - Parameters:
    ///   - after: begins behind this id.
    ///   - limit: how many at most, to read a long list in parts.
    /// - Throws: `StateStoreError`: `closed`, and what the file meets.
    public func list(after id: Int64 = 0, limit: Int = .max) throws(StateStoreError) -> [UserRecord] {
        try read { (connection) throws(StateStoreError) in
            try Self.users(
                "id > ?1 ORDER BY id LIMIT ?2", [.integer(id), .integer(Int64(max(limit, 0)))], connection)
        }
    }

    /// The user to whom a credential belongs, be it revoked or expired: the caller looks at the times.
    ///
    /// - Throws: `StateStoreError`: `invalidValue`, `closed`, and what the file meets.
    public func user(credentialHash hash: [UInt8]) throws(StateStoreError) -> UserRecord? {
        try UserRecord.check(hash: hash)
        return try read { (connection) throws(StateStoreError) in
            guard let id = try Self.owner(of: hash, connection) else { return nil }
            return try self.user(id: id, connection)
        }
    }

    /// Adds all users, or none. One with a credential that the store knows already is the same user as before: tier, label and
    /// expiry change, credentials are added, the rest stays. So the same list may be imported again.
    ///
    /// - Returns: how many were new.
    /// - Throws: `StateStoreError`: `invalidValue`; `credentialTaken` when two users of the list share a credential, or one of
    ///   the list has credentials of two stored ones; and as `add`.
    @discardableResult
    public func importAll(_ users: [UserRecord]) throws(StateStoreError) -> Int {
        var seen: Set<[UInt8]> = []
        for (index, user) in users.enumerated() {
            try user.check()
            for hash in Set(user.credentialHashes) where !seen.insert(hash).inserted { throw .credentialTaken(index: index) }
        }
        return try change { (connection) throws(StateStoreError) in
            var added = 0
            var updated: Set<Int64> = []
            for (index, user) in users.enumerated() {
                var owners: Set<Int64> = []
                for hash in user.credentialHashes {
                    if let owner = try Self.owner(of: hash, connection) { owners.insert(owner) }
                }
                guard let owner = owners.first else {
                    _ = try Self.insert(user, index: index, into: connection)
                    added += 1
                    continue
                }
                // Two of the list may also meet in one stored user.
                guard owners.count == 1, updated.insert(owner).inserted else { throw .credentialTaken(index: index) }
                try Self.update(owner, from: user, index: index, connection)
            }
            return added
        }
    }

    /// A number that is another one after every change, by whichever process: cheap to ask often.
    ///
    /// - Throws: `StateStoreError`: `moved` when the file was removed or replaced; `closed`, and what the file meets.
    public func generation() throws(StateStoreError) -> Int64 {
        try read { (connection) throws(StateStoreError) in
            guard try !connection.hasMoved() else { throw .moved(path: path) }
            guard let number = try connection.integer("SELECT number FROM generation WHERE id = 1") else {
                throw .corrupt(path: path)
            }
            return number
        }
    }

    /// Closes the file; every later call throws `closed`.
    public func close() {
        connection.withLock { $0 = nil }
    }

    private func change<Outcome: Sendable>(
        _ body: @Sendable (SQLiteConnection) throws(StateStoreError) -> Outcome
    ) throws(StateStoreError) -> Outcome {
        try connection.withLock { (connection) throws(StateStoreError) in
            guard let connection else { throw .closed }
            return try connection.transaction { () throws(StateStoreError) in
                guard try !connection.hasMoved() else { throw .moved(path: path) }
                let outcome = try body(connection)
                try connection.run("UPDATE generation SET number = number + 1 WHERE id = 1")
                return outcome
            }
        }
    }

    private func read<Outcome: Sendable>(
        _ body: @Sendable (SQLiteConnection) throws(StateStoreError) -> Outcome
    ) throws(StateStoreError) -> Outcome {
        try connection.withLock { (connection) throws(StateStoreError) in
            guard let connection else { throw .closed }
            return try connection.snapshot { () throws(StateStoreError) in try body(connection) }
        }
    }

    private static func insert(_ user: UserRecord, index: Int, into connection: SQLiteConnection) throws(StateStoreError)
        -> Int64
    {
        try connection.run(
            "INSERT INTO user (tier, label, created, expires, revoked) VALUES (?1, ?2, ?3, ?4, ?5)",
            [
                .text(user.tier), SQLiteValue(user.label), .integer(user.created), SQLiteValue(user.expires),
                SQLiteValue(user.revoked),
            ])
        let id = connection.lastInsertedRow
        for hash in Set(user.credentialHashes) { try insert(credential: hash, of: id, index: index, into: connection) }
        return id
    }

    private static func insert(
        credential hash: [UInt8], of id: Int64, index: Int, into connection: SQLiteConnection
    ) throws(StateStoreError) {
        try connection.run("INSERT OR IGNORE INTO credential VALUES (?1, ?2)", [.blob(hash), .integer(id)])
        guard connection.changes == 1 else { throw .credentialTaken(index: index) }
    }

    private static func update(
        _ id: Int64, from user: UserRecord, index: Int, _ connection: SQLiteConnection
    ) throws(StateStoreError) {
        try connection.run(
            "UPDATE user SET tier = ?2, label = ?3, expires = ?4 WHERE id = ?1",
            [.integer(id), .text(user.tier), SQLiteValue(user.label), SQLiteValue(user.expires)])
        for hash in Set(user.credentialHashes) where try owner(of: hash, connection) == nil {
            try insert(credential: hash, of: id, index: index, into: connection)
        }
        let count = try connection.integer("SELECT count(*) FROM credential WHERE user = ?1", [.integer(id)]) ?? 0
        guard count <= UserRecord.mostCredentials else {
            throw .invalidValue("a user has at most \(UserRecord.mostCredentials) credentials")
        }
    }

    private static func owner(of hash: [UInt8], _ connection: SQLiteConnection) throws(StateStoreError) -> Int64? {
        try connection.integer("SELECT user FROM credential WHERE hash = ?1", [.blob(hash)])
    }

    private func user(id: Int64, _ connection: SQLiteConnection) throws(StateStoreError) -> UserRecord {
        guard let user = try Self.users("id = ?1", [.integer(id)], connection).first else { throw .noSuchUser }
        return user
    }

    /// Users that meet a condition, with their credentials.
    private static func users(
        _ condition: String, _ values: [SQLiteValue], _ connection: SQLiteConnection
    ) throws(StateStoreError) -> [UserRecord] {
        var users: [UserRecord] = []
        try connection.run("SELECT \(columns) FROM user WHERE \(condition)", values) { (row) throws(StateStoreError) in
            users.append(
                UserRecord(
                    id: try row.integer(0), tier: try row.text(1), label: try row.optionalText(2), created: try row.integer(3),
                    expires: try row.optionalInteger(4), revoked: try row.optionalInteger(5), credentialHashes: []))
        }
        for index in users.indices {
            try connection.run(
                "SELECT hash FROM credential WHERE user = ?1 ORDER BY hash", [.integer(users[index].id)]
            ) { (row) throws(StateStoreError) in
                users[index].credentialHashes.append(try row.blob(0))
            }
        }
        return users
    }
}
