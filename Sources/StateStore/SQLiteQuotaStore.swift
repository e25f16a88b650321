// What users have been issued lately, over a restart (service.md 8.4, 9): coarse counters by user, hour and day, and nothing else
// (service.md 8.2).

import Synchronization

/// The counters of one user.
public struct QuotaCounter: Sendable, Equatable {
    /// Tokens left in the bucket, finite and not negative.
    public var level: Double
    /// When the bucket was filled up last, in seconds since 1970.
    public var refilled: Int64
    /// The hour that `issuedThisHour` is about, counted from 1970.
    public var hour: Int64
    /// Tokens issued in that hour.
    public var issuedThisHour: Int
    /// The day that `issuedToday` is about, counted from 1970.
    public var day: Int64
    /// Tokens issued on that day.
    public var issuedToday: Int

    /// Makes counters.
    public init(level: Double, refilled: Int64, hour: Int64, issuedThisHour: Int, day: Int64, issuedToday: Int) {
        self.level = level
        self.refilled = refilled
        self.hour = hour
        self.issuedThisHour = issuedThisHour
        self.day = day
        self.issuedToday = issuedToday
    }

    fileprivate var isSound: Bool { level.isFinite && level >= 0 && issuedThisHour >= 0 && issuedToday >= 0 }
}

extension DatabaseFormat {
    static let quotas = DatabaseFormat(
        applicationIdentifier: 0x5645_5155,  // "VEQU"
        schemaVersion: 1,
        schema: [
            """
            CREATE TABLE quota (
                mark BLOB PRIMARY KEY NOT NULL,
                level REAL NOT NULL,
                refilled INTEGER NOT NULL,
                hour INTEGER NOT NULL,
                issued_this_hour INTEGER NOT NULL,
                day INTEGER NOT NULL,
                issued_today INTEGER NOT NULL
            ) STRICT, WITHOUT ROWID
            """
        ],
        largestValueBytes: 65_536, erasesDeleted: true)
}

/// Counters in one file. A user is known by a mark of 16 bytes: a keyed hash that the caller makes. Every call may block its thread
/// for the disk and may come from any thread.
public final class SQLiteQuotaStore: Sendable {
    /// The file.
    public let path: String
    private let connection: Mutex<SQLiteConnection?>

    /// Opens the file, or makes it (mode 0600; its folder 0700, whose parent must exist).
    ///
    /// - Parameter busyMilliseconds: how long a call waits for another process.
    /// - Throws: `StateStoreError`: `openToOthers`, `cannotOpen`, `readOnly`, `foreignDatabase`, `newerSchema`, `corrupt`,
    ///   `busy`, `diskFull`, `database`.
    public init(path: String, busyMilliseconds: Int32 = 5_000) throws(StateStoreError) {
        self.path = path
        let file = DatabaseFile(format: .quotas, path: path, busyMilliseconds: busyMilliseconds)
        try file.preparePermissions()
        connection = Mutex(try file.openWriter())
    }

    /// The counters last saved for a user, nil for none.
    ///
    /// - Throws: `StateStoreError`: `invalidValue`, `closed`, and what the file meets.
    public func load(user mark: [UInt8]) throws(StateStoreError) -> QuotaCounter? {
        try Self.check(mark)
        return try connection.withLock { (connection) throws(StateStoreError) in
            guard let connection else { throw .closed }
            var found: QuotaCounter?
            try connection.run(
                "SELECT level, refilled, hour, issued_this_hour, day, issued_today FROM quota WHERE mark = ?1", [.blob(mark)]
            ) { (row) throws(StateStoreError) in
                found = QuotaCounter(
                    level: try row.real(0), refilled: try row.integer(1), hour: try row.integer(2),
                    issuedThisHour: Int(try row.integer(3)), day: try row.integer(4), issuedToday: Int(try row.integer(5)))
            }
            guard found?.isSound != false else { throw .corrupt(path: path) }
            return found
        }
    }

    /// Saves the counters of all these users, or of none, in the place of earlier ones. On return they are on the disk.
    ///
    /// - Throws: `StateStoreError`: `invalidValue`, `moved`, `closed`, and what the file meets.
    public func save(_ counters: [[UInt8]: QuotaCounter]) throws(StateStoreError) {
        for (mark, counter) in counters {
            try Self.check(mark)
            guard counter.isSound else { throw .invalidValue("counters are finite and not negative") }
        }
        guard !counters.isEmpty else { return }
        try change { (connection) throws(StateStoreError) in
            for (mark, counter) in counters {
                try connection.run(
                    "INSERT OR REPLACE INTO quota VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                    [
                        .blob(mark), .real(counter.level), .integer(counter.refilled), .integer(counter.hour),
                        .integer(Int64(counter.issuedThisHour)), .integer(counter.day), .integer(Int64(counter.issuedToday)),
                    ])
            }
        }
    }

    /// Forgets users whose bucket was last filled up before this time.
    ///
    /// - Returns: how many.
    /// - Throws: `StateStoreError`: `moved`, `closed`, and what the file meets.
    @discardableResult
    public func forget(olderThan time: Int64) throws(StateStoreError) -> Int {
        try change { (connection) throws(StateStoreError) in
            try connection.run("DELETE FROM quota WHERE refilled < ?1", [.integer(time)])
            return connection.changes
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
                return try body(connection)
            }
        }
    }

    private static func check(_ mark: [UInt8]) throws(StateStoreError) {
        guard mark.count == 16 else { throw .invalidValue("the mark of a user has 16 bytes, this one has \(mark.count)") }
    }
}
