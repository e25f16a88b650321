// Spent tokens in SQLite files: durable before acknowledged, one disk sync for all that wait (service.md 2.8).

import Dispatch
import Synchronization

/// A store in one folder, with one file for each issuer key: `<folder>/<key>.sqlite`. Several processes of one machine may share
/// the folder (`SpentTokenFolder` says what holds). It needs a local file system: SQLite's log uses shared memory.
///
/// A token that comes while no other waits is written at once; those that come meanwhile wait for the disk and share the next
/// transaction, so a group forms by itself and nobody waits for company. An acknowledged spend is in a log that was synchronised
/// with the disk (WAL, `synchronous = FULL`): it survives the end of the process and, with a disk that keeps its word, of the
/// power. Every process holds the marks of the keys that it uses in memory, and reads on under the write lock what others appended.
/// A dropped key leaves an empty file `<key>.dropped` for ever, which a person may delete once no process can know the key.
public final class SQLiteSpentTokenStore: SpentTokenStore {
    private struct Waiting: Sendable {
        let mark: SpentMark
        let key: String
        let done: @Sendable (Result<Bool, StateStoreError>) -> Void
    }

    private struct Line {
        var waiting: [Waiting] = []
        var isCalled = false
        var isClosed = false
    }

    /// Tokens of one transaction at most, so that the first of many does not wait for the last.
    static let largestGroup = 4_096

    /// The folder.
    public let folder: String
    /// How many tokens may wait for the disk.
    public let waitingLimit: Int
    private let line = Mutex(Line())
    private let files: Mutex<SpentTokenFolder?>
    private let queue = DispatchQueue(label: "spent tokens", qos: .userInitiated)

    /// Opens the folder, or makes it (0700; its parent must exist). Files of keys are opened when they are first needed.
    ///
    /// - Parameters:
    ///   - folder: for these files alone.
    ///   - waitingLimit: how many tokens may wait; one more gets `waitingLineFull`.
    ///   - tokenLimit: how many tokens of all keys may be held in memory, at 27 bytes each; one more gets `tooManyTokens`.
    ///   - busyMilliseconds: how long a group waits for another process that writes the same file.
    /// - Throws: `StateStoreError`: `openToOthers`, `cannotOpen`, `invalidLimits`.
    public init(
        folder: String, waitingLimit: Int = 65_536, tokenLimit: Int = 20_000_000, busyMilliseconds: Int32 = 5_000
    ) throws(StateStoreError) {
        guard waitingLimit >= 1 else { throw .invalidLimits("at least 1 token must be able to wait, \(waitingLimit) given") }
        self.folder = folder
        self.waitingLimit = waitingLimit
        files = Mutex(try SpentTokenFolder(path: folder, tokenLimit: tokenLimit, busyMilliseconds: busyMilliseconds))
    }

    deinit {
        try? close()
    }

    /// Spends a token; see `SpentTokenStore.spend(_:of:_:)`.
    public func spend(_ mark: [UInt8], of key: String, _ done: @escaping @Sendable (Result<Bool, StateStoreError>) -> Void) {
        let mustCall: Bool
        do throws(StateStoreError) {
            try SpentTokenRules.check(mark: mark)
            try SpentTokenRules.check(key: key)
            mustCall = try line.withLock { (line) throws(StateStoreError) in
                guard !line.isClosed else { throw .closed }
                guard line.waiting.count < waitingLimit else { throw .waitingLineFull(limit: waitingLimit) }
                line.waiting.append(Waiting(mark: SpentMark(mark), key: key, done: done))
                defer { line.isCalled = true }
                return !line.isCalled
            }
        } catch {
            return done(.failure(error))
        }
        if mustCall { queue.async { self.writeUntilEmpty() } }
    }

    /// Drops the files of all other keys; see `SpentTokenStore.keep(only:)`.
    public func keep(only keys: Set<String>) throws(StateStoreError) {
        for key in keys { try SpentTokenRules.check(key: key) }
        try files.withLock { (files) throws(StateStoreError) in
            guard files != nil else { throw .closed }
            try files?.keep(only: keys)
        }
    }

    /// How much is stored; see `SpentTokenStore.statistics()`.
    public func statistics() throws(StateStoreError) -> SpentTokenStatistics {
        try files.withLock { (files) throws(StateStoreError) in
            guard let result = try files?.statistics() else { throw .closed }
            return result
        }
    }

    /// Writes what waits, and closes all files; see `SpentTokenStore.close()`.
    public func close() throws(StateStoreError) {
        line.withLock { $0.isClosed = true }
        while writeGroup() {}
        files.withLock { files in
            files?.close()
            files = nil
        }
    }

    /// Runs a statement on a key's connection: tests make it fail this way (`PRAGMA max_page_count`, `PRAGMA query_only`).
    func execute(_ sql: String, on key: String) throws(StateStoreError) -> Int64? {
        try files.withLock { (files) throws(StateStoreError) in
            guard let file = try files?.file(of: key) else { throw .closed }
            return try file.connection.integer(sql)
        }
    }

    /// What the queue does when it is called.
    private func writeUntilEmpty() {
        while true {
            while writeGroup() {}
            let isEmpty = line.withLock { line in
                line.isCalled = !line.waiting.isEmpty
                return line.waiting.isEmpty
            }
            if isEmpty { return }
        }
    }

    /// Writes those that wait longest, and answers them after the lock is free again.
    ///
    /// - Returns: false when nobody waited.
    private func writeGroup() -> Bool {
        var group: [Waiting] = []
        var outcomes: [Result<Bool, StateStoreError>] = []
        files.withLock { files in
            group = line.withLock { line in
                let count = min(line.waiting.count, Self.largestGroup)
                let first = Array(line.waiting.prefix(count))
                line.waiting.removeFirst(count)
                return first
            }
            outcomes = Self.write(group, to: &files)
        }
        for (waiting, outcome) in zip(group, outcomes) { waiting.done(outcome) }
        return !group.isEmpty
    }

    /// One transaction for each key of the group; one that fails takes only its own tokens with it.
    private static func write(_ group: [Waiting], to files: inout SpentTokenFolder?) -> [Result<Bool, StateStoreError>] {
        var outcomes = [Result<Bool, StateStoreError>](repeating: .failure(.closed), count: group.count)
        let places = Dictionary(grouping: group.indices) { group[$0].key }
        for (key, places) in places {
            do throws(StateStoreError) {
                guard let isNew = try files?.insert(places.map { group[$0].mark }, of: key) else { continue }
                for (place, isNew) in zip(places, isNew) { outcomes[place] = .success(isNew) }
            } catch {
                for place in places { outcomes[place] = .failure(error) }
            }
        }
        return outcomes
    }
}
