// Evaluation keys in a SQLite file: durable before acknowledged (service.md 1.10), kept over restarts (service.md 9).

import CSQLite
import Synchronization

/// A store in one file. One connection writes and one reads; stores that arrive while another one waits for the disk share the
/// next transaction. Times of last use collect in memory and are written with the next store, by `evict` and by `close`: a crash
/// loses at most those.
public final class SQLiteEvaluationKeyStore: EvaluationKeyStore {
    /// One waiting upload. `outcome` is set by whichever thread writes it.
    private final class Ticket: Sendable {
        let records: [EvaluationKeyRecord]
        let now: Int64
        let outcome = Mutex<Result<Void, StateStoreError>?>(nil)

        init(records: [EvaluationKeyRecord], now: Int64) {
            self.records = records
            self.now = now
        }
    }

    /// The uses that are not in the file yet, by row.
    private struct Uses {
        var order: Int64
        var pending: [Int64: EvaluationKeyUse] = [:]
    }

    /// The bounds given at creation.
    public let limits: EvaluationKeyLimits
    /// The file.
    public let path: String
    private let writer: Mutex<EvaluationKeyTable?>
    private let reader: Mutex<EvaluationKeyTable?>
    private let queue = Mutex<[Ticket]>([])
    private let uses: Mutex<Uses>

    /// Opens the file, or makes it (mode 0600; its folder 0700, whose parent must exist).
    ///
    /// - Parameters:
    ///   - path: the database file; SQLite keeps two more beside it (`-wal`, `-shm`) while it is open.
    ///   - limits: the bounds of the store; lower ones than before take effect at the next store or `evict`.
    ///   - busyMilliseconds: how long a call waits for another process that holds the file.
    /// - Throws: `StateStoreError`: `invalidLimits`, `openToOthers`, `cannotOpen`, `readOnly`, `foreignDatabase`, `newerSchema`,
    ///   `corrupt`, `busy`, `diskFull`, `database`.
    public init(
        path: String, limits: EvaluationKeyLimits = EvaluationKeyLimits(), busyMilliseconds: Int32 = 5_000
    ) throws(StateStoreError) {
        try limits.check()
        let file = DatabaseFile(format: .evaluationKeys, path: path, busyMilliseconds: busyMilliseconds)
        try file.preparePermissions()
        let writing = EvaluationKeyTable(connection: try file.openWriter(), path: path)
        let reading = EvaluationKeyTable(connection: try file.openReader(), path: path)
        uses = Mutex(Uses(order: try writing.newestUseOrder()))
        writer = Mutex(writing)
        reader = Mutex(reading)
        self.limits = limits
        self.path = path
    }

    deinit {
        try? close()
    }

    /// Stores an upload; see `EvaluationKeyStore.store(_:at:)`.
    public func store(_ records: [EvaluationKeyRecord], at now: Int64) throws(StateStoreError) {
        try limits.check(records)
        let ticket = Ticket(records: records, now: now)
        queue.withLock { $0.append(ticket) }
        // Whoever gets the lock writes everything that waits, so a ticket may be done before its own thread's turn comes.
        writer.withLock { table in
            guard ticket.outcome.withLock({ $0 == nil }) else { return }
            let waiting = queue.withLock { queue in
                let all = queue
                queue = []
                return all
            }
            write(waiting, to: table)
        }
        switch ticket.outcome.withLock({ $0 }) {
        case .success: return
        case .failure(let error): throw error
        case nil: throw .closed
        }
    }

    /// The newest timestamp of the pair; see `EvaluationKeyStore.newestTimestamp(userIdentifier:configurationHash:)`.
    public func newestTimestamp(
        userIdentifier: String, configurationHash: [UInt8]
    ) throws(StateStoreError) -> UInt64? {
        try EvaluationKeyLimits.check(userIdentifier: userIdentifier, configurationHash: configurationHash)
        return try reader.withLock { (table) throws(StateStoreError) in
            guard let table else { throw .closed }
            return try table.timestamps(userIdentifier: userIdentifier, configurationHash: configurationHash).map(\.timestamp)
                .max()
        }
    }

    /// The key for a query; see `EvaluationKeyStore.key(userIdentifier:configurationHash:timestamp:at:)`.
    public func key(
        userIdentifier: String, configurationHash: [UInt8], timestamp: UInt64, at now: Int64
    ) throws(StateStoreError) -> EvaluationKeyMatch? {
        try EvaluationKeyLimits.check(userIdentifier: userIdentifier, configurationHash: configurationHash)
        let found = try reader.withLock { (table) throws(StateStoreError) in
            guard let table else { throw .closed }
            return try table.key(userIdentifier: userIdentifier, configurationHash: configurationHash, timestamp: timestamp)
        }
        guard let found else { return nil }
        uses.withLock { uses in
            uses.order += 1
            uses.pending[found.row] = EvaluationKeyUse(lastUsed: now, order: uses.order)
        }
        return found.match
    }

    /// Applies the limits; see `EvaluationKeyStore.evict(at:)`.
    @discardableResult
    public func evict(at now: Int64) throws(StateStoreError) -> Int {
        try writer.withLock { (table) throws(StateStoreError) in
            guard let table else { throw .closed }
            return try withPendingUses(of: table) { () throws(StateStoreError) in
                var gone = try table.trim(idleSince: idleBoundary(at: now, limits: limits))
                for user in try table.users(withMoreThan: limits.maxKeysPerIdentifier) {
                    gone += try table.trim(user: user, to: limits.maxKeysPerIdentifier)
                }
                return try gone + table.trim(toTotal: limits.maxTotalBytes)
            }
        }
    }

    /// How much is stored; see `EvaluationKeyStore.statistics()`.
    public func statistics() throws(StateStoreError) -> EvaluationKeyStatistics {
        try reader.withLock { (table) throws(StateStoreError) in
            guard let table else { throw .closed }
            return try table.statistics()
        }
    }

    /// Writes the times of last use and closes the file; see `EvaluationKeyStore.close()`.
    public func close() throws(StateStoreError) {
        // The reader goes first: the last connection to close clears the log away, and it must be the one that may write.
        reader.withLock { $0 = nil }
        try writer.withLock { (table) throws(StateStoreError) in
            defer { table = nil }
            guard let table else { return }
            try withPendingUses(of: table) { () throws(StateStoreError) in }
        }
    }

    /// Runs a statement on the writing connection: tests make it fail this way (`PRAGMA max_page_count`, `PRAGMA query_only`).
    func executeOnWriter(_ sql: String) throws(StateStoreError) -> Int64? {
        try writer.withLock { (table) throws(StateStoreError) in
            guard let table else { throw .closed }
            return try table.connection.integer(sql)
        }
    }

    /// Writes all tickets in one transaction. When that fails each is tried alone, so that one upload that does not fit cannot
    /// take the others with it.
    private func write(_ tickets: [Ticket], to table: EvaluationKeyTable?) {
        guard let table else {
            for ticket in tickets {
                ticket.outcome.withLock { $0 = .failure(.closed) }
            }
            return
        }
        do {
            try withPendingUses(of: table) { () throws(StateStoreError) in
                for ticket in tickets {
                    try insert(ticket, into: table)
                }
            }
            for ticket in tickets {
                ticket.outcome.withLock { $0 = .success(()) }
            }
        } catch  where tickets.count > 1 {
            for ticket in tickets {
                write([ticket], to: table)
            }
        } catch {
            for ticket in tickets {
                ticket.outcome.withLock { $0 = .failure(error) }
            }
        }
    }

    private func insert(_ ticket: Ticket, into table: EvaluationKeyTable) throws(StateStoreError) {
        for record in ticket.records {
            let order = uses.withLock { uses in
                uses.order += 1
                return uses.order
            }
            try table.insert(record, use: EvaluationKeyUse(lastUsed: ticket.now, order: order))
        }
        for user in Set(ticket.records.map(\.userIdentifier)) {
            _ = try table.trim(user: user, to: limits.maxKeysPerIdentifier)
        }
        _ = try table.trim(toTotal: limits.maxTotalBytes)
    }

    /// Runs `body` in a transaction that also holds the uses that waited. They wait again when it fails.
    private func withPendingUses<Value>(
        of table: EvaluationKeyTable, _ body: () throws(StateStoreError) -> Value
    ) throws(StateStoreError) -> Value {
        let pending = uses.withLock { uses in
            let all = uses.pending
            uses.pending = [:]
            return all
        }
        do {
            return try table.connection.transaction { () throws(StateStoreError) in
                for (row, use) in pending {
                    try table.record(use, ofRow: row)
                }
                return try body()
            }
        } catch {
            uses.withLock { $0.pending.merge(pending) { newer, _ in newer } }
            throw error
        }
    }
}
