// The spent tokens of one issuer key: appended to a SQLite table, one row for each transaction, and looked up in memory. Marks are
// random, so a B-tree of them changes another page of the disk with every token (measured at some million tokens: 25 µs of
// processor time for each; appending takes 3).

extension DatabaseFormat {
    /// `marks` holds 16 bytes for each token. `checksum` goes over the checksum of the row before and the marks, so that a changed or
    /// missing row is noticed.
    static let spentTokens = DatabaseFormat(
        applicationIdentifier: 0x5645_5354,  // "VEST"
        schemaVersion: 1,
        schema: [
            """
            CREATE TABLE spent_group (id INTEGER PRIMARY KEY, checksum INTEGER NOT NULL, marks BLOB NOT NULL) STRICT
            """
        ],
        largestValueBytes: 1 << 20, cacheKiB: 512, emptyIsDamaged: true)
}

/// One open file, and what it holds. Not `Sendable`: its owner keeps it in a `Mutex`.
final class SpentTokenFile {
    let connection: SQLiteConnection
    private let path: String
    private var marks = SpentMarkSet()
    private var lastRow: Int64 = 0
    private var lastChecksum: UInt64 = 0

    /// Opens or makes the file, and reads it.
    init(path: String, busyMilliseconds: Int32, limit: Int) throws(StateStoreError) {
        self.path = path
        let file = DatabaseFile(format: .spentTokens, path: path, busyMilliseconds: busyMilliseconds)
        try file.preparePermissions()
        connection = try file.openWriter()
        try readOn(limit: limit)
    }

    /// How many tokens this process knows.
    var count: Int { marks.count }

    /// Reads what other processes have appended.
    ///
    /// - Parameter limit: tokens of this file that may be held in memory.
    func readOn(limit: Int) throws(StateStoreError) {
        try connection.run(
            "SELECT id, checksum, marks FROM spent_group WHERE id > ?1 ORDER BY id", [.integer(lastRow)]
        ) { (row) throws(StateStoreError) in
            let bytes = try row.blob(2)
            guard try row.integer(0) == lastRow + 1, !bytes.isEmpty, bytes.count % SpentTokenRules.markBytes == 0 else {
                throw .corrupt(path: path)
            }
            let group = stride(from: 0, to: bytes.count, by: SpentTokenRules.markBytes).map { SpentMark(bytes, at: $0) }
            let checksum = Self.checksum(of: group, after: lastChecksum)
            guard try row.integer(1) == Int64(bitPattern: checksum) else { throw .corrupt(path: path) }
            guard group.count <= limit - marks.count else { throw .tooManyTokens(limit: limit) }
            for mark in group { marks.insert(mark) }
            lastRow += 1
            lastChecksum = checksum
        }
    }

    /// Appends those marks that are new, in one transaction.
    ///
    /// - Parameters:
    ///   - limit: tokens of this file that may be held in memory.
    ///   - check: called under the write lock; what it throws undoes everything.
    /// - Returns: for each whether it is new; all are durable.
    func insert(
        _ group: [SpentMark], limit: Int, check: () throws(StateStoreError) -> Void
    ) throws(StateStoreError) -> [Bool] {
        var new: [SpentMark] = []
        let outcomes = try connection.transaction { () throws(StateStoreError) in
            try check()
            // Nobody else appends while this process has the write lock: what is in memory now is all there is.
            try readOn(limit: limit)
            var seen: Set<SpentMark> = []
            let outcomes = group.map { !marks.contains($0) && seen.insert($0).inserted }
            new = zip(group, outcomes).filter(\.1).map(\.0)
            guard !new.isEmpty else { return outcomes }
            guard new.count <= limit - marks.count else { throw .tooManyTokens(limit: limit) }
            var bytes: [UInt8] = []
            bytes.reserveCapacity(new.count * SpentTokenRules.markBytes)
            for mark in new { mark.append(to: &bytes) }
            let checksum = Self.checksum(of: new, after: lastChecksum)
            try connection.run(
                "INSERT INTO spent_group VALUES (?1, ?2, ?3)",
                [.integer(lastRow + 1), .integer(Int64(bitPattern: checksum)), .blob(bytes)])
            return outcomes
        }
        // Only now: had the commit failed, memory would know marks that the file does not. If it failed but was done all the same,
        // the next call reads them.
        if !new.isEmpty {
            lastRow += 1
            lastChecksum = Self.checksum(of: new, after: lastChecksum)
            for mark in new { marks.insert(mark) }
        }
        return outcomes
    }

    /// Against accidents, not against forgers.
    private static func checksum(of marks: [SpentMark], after previous: UInt64) -> UInt64 {
        var sum = previous ^ UInt64(marks.count)
        for mark in marks {
            sum = (sum ^ mark.first) &* 0x9E37_79B9_7F4A_7C15
            sum = ((sum ^ (sum >> 29)) ^ mark.second) &* 0xBF58_476D_1CE4_E5B9
            sum ^= sum >> 32
        }
        return sum
    }
}
