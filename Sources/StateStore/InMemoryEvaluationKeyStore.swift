// Evaluation keys in memory: for tests, demonstrations and servers whose keys may be lost with the process (announced as
// volatile, service.md 1.10).

import Synchronization

/// A store that forgets with the process. Every operation takes one lock; eviction sorts the store, so it is meant for
/// thousands of keys, not for millions.
public final class InMemoryEvaluationKeyStore: EvaluationKeyStore {
    fileprivate struct Slot: Hashable {
        let userIdentifier: String
        let configurationHash: [UInt8]
    }

    fileprivate struct Entry {
        let timestamp: UInt64
        let key: [UInt8]
        var lastUsed: Int64
        /// Grows with every use: the order of eviction, independent of the clock.
        var useOrder: UInt64
    }

    fileprivate struct State {
        var entries: [Slot: [Entry]] = [:]
        var slotsOfUser: [String: Set<Slot>] = [:]
        var statistics = EvaluationKeyStatistics(count: 0, bytes: 0)
        var useOrder: UInt64 = 0
        var isClosed = false
    }

    /// The bounds given at creation.
    public let limits: EvaluationKeyLimits
    private let state = Mutex(State())

    /// Makes an empty store.
    ///
    /// - Throws: `StateStoreError.invalidLimits`.
    public init(limits: EvaluationKeyLimits = EvaluationKeyLimits()) throws(StateStoreError) {
        try limits.check()
        self.limits = limits
    }

    /// Stores an upload; see `EvaluationKeyStore.store(_:at:)`.
    public func store(_ records: [EvaluationKeyRecord], at now: Int64) throws(StateStoreError) {
        try limits.check(records)
        try state.withLock { (state) throws(StateStoreError) in
            try state.checkOpen()
            for record in records {
                state.insert(record, at: now)
            }
            for user in Set(records.map(\.userIdentifier)) {
                state.trim(user: user, to: limits.maxKeysPerIdentifier)
            }
            state.trim(toTotal: limits.maxTotalBytes)
        }
    }

    /// The newest timestamp of the pair; see `EvaluationKeyStore.newestTimestamp(userIdentifier:configurationHash:)`.
    public func newestTimestamp(
        userIdentifier: String, configurationHash: [UInt8]
    ) throws(StateStoreError) -> UInt64? {
        try EvaluationKeyLimits.check(userIdentifier: userIdentifier, configurationHash: configurationHash)
        return try state.withLock { (state) throws(StateStoreError) in
            try state.checkOpen()
            let slot = Slot(userIdentifier: userIdentifier, configurationHash: configurationHash)
            return state.entries[slot]?.map(\.timestamp).max()
        }
    }

    /// The key for a query; see `EvaluationKeyStore.key(userIdentifier:configurationHash:timestamp:at:)`.
    public func key(
        userIdentifier: String, configurationHash: [UInt8], timestamp: UInt64, at now: Int64
    ) throws(StateStoreError) -> EvaluationKeyMatch? {
        try EvaluationKeyLimits.check(userIdentifier: userIdentifier, configurationHash: configurationHash)
        return try state.withLock { (state) throws(StateStoreError) -> EvaluationKeyMatch? in
            try state.checkOpen()
            let slot = Slot(userIdentifier: userIdentifier, configurationHash: configurationHash)
            guard let found = state.entries[slot], let newest = found.map(\.timestamp).max() else { return nil }
            let isStored = found.contains { $0.timestamp == timestamp }
            let wanted = timestamp != 0 && isStored ? timestamp : newest
            guard let entry = state.use(slot, timestamp: wanted, at: now) else { return nil }
            let record = EvaluationKeyRecord(
                userIdentifier: userIdentifier, configurationHash: configurationHash, timestamp: entry.timestamp, key: entry.key
            )
            return EvaluationKeyMatch(record: record, matchedTimestamp: timestamp == 0 || isStored)
        }
    }

    /// Applies the limits; see `EvaluationKeyStore.evict(at:)`.
    @discardableResult
    public func evict(at now: Int64) throws(StateStoreError) -> Int {
        try state.withLock { (state) throws(StateStoreError) in
            try state.checkOpen()
            let before = state.statistics.count
            state.trim(idleSince: idleBoundary(at: now, limits: limits))
            for user in Array(state.slotsOfUser.keys) {
                state.trim(user: user, to: limits.maxKeysPerIdentifier)
            }
            state.trim(toTotal: limits.maxTotalBytes)
            return before - state.statistics.count
        }
    }

    /// How much is stored; see `EvaluationKeyStore.statistics()`.
    public func statistics() throws(StateStoreError) -> EvaluationKeyStatistics {
        try state.withLock { (state) throws(StateStoreError) in
            try state.checkOpen()
            return state.statistics
        }
    }

    /// Forgets everything; later calls throw `StateStoreError.closed`.
    public func close() throws(StateStoreError) {
        state.withLock { state in
            state = State()
            state.isClosed = true
        }
    }
}

extension InMemoryEvaluationKeyStore.State {
    fileprivate func checkOpen() throws(StateStoreError) {
        guard !isClosed else { throw .closed }
    }

    fileprivate mutating func insert(_ record: EvaluationKeyRecord, at now: Int64) {
        let slot = InMemoryEvaluationKeyStore.Slot(
            userIdentifier: record.userIdentifier, configurationHash: record.configurationHash)
        let present = (entries[slot] ?? []).map(\.timestamp)
        for timestamp in timestampsToReplace(present: present, upload: record.timestamp) {
            remove(slot, timestamp: timestamp)
        }
        useOrder += 1
        entries[slot, default: []].append(
            .init(timestamp: record.timestamp, key: record.key, lastUsed: now, useOrder: useOrder))
        slotsOfUser[record.userIdentifier, default: []].insert(slot)
        statistics.count += 1
        statistics.bytes += record.key.count
    }

    fileprivate mutating func use(
        _ slot: InMemoryEvaluationKeyStore.Slot, timestamp: UInt64, at now: Int64
    ) -> InMemoryEvaluationKeyStore.Entry? {
        guard let index = entries[slot]?.firstIndex(where: { $0.timestamp == timestamp }) else { return nil }
        useOrder += 1
        entries[slot]?[index].lastUsed = now
        entries[slot]?[index].useOrder = useOrder
        return entries[slot]?[index]
    }

    private mutating func remove(_ slot: InMemoryEvaluationKeyStore.Slot, timestamp: UInt64) {
        guard let index = entries[slot]?.firstIndex(where: { $0.timestamp == timestamp }),
            let removed = entries[slot]?.remove(at: index)
        else { return }
        statistics.count -= 1
        statistics.bytes -= removed.key.count
        guard entries[slot]?.isEmpty == true else { return }
        entries[slot] = nil
        slotsOfUser[slot.userIdentifier]?.remove(slot)
        if slotsOfUser[slot.userIdentifier]?.isEmpty == true {
            slotsOfUser[slot.userIdentifier] = nil
        }
    }

    fileprivate mutating func trim(user: String, to limit: Int) {
        let slots = slotsOfUser[user] ?? []
        let all = slots.flatMap { slot in (entries[slot] ?? []).map { (slot, $0.timestamp, $0.useOrder) } }
        guard all.count > limit else { return }
        for (slot, timestamp, _) in all.sorted(by: { $0.2 < $1.2 }).prefix(all.count - limit) {
            remove(slot, timestamp: timestamp)
        }
    }

    fileprivate mutating func trim(toTotal limit: Int) {
        guard statistics.bytes > limit else { return }
        let all = entries.flatMap { slot, found in found.map { (slot, $0.timestamp, $0.useOrder) } }
        for (slot, timestamp, _) in all.sorted(by: { $0.2 < $1.2 }) where statistics.bytes > limit {
            remove(slot, timestamp: timestamp)
        }
    }

    fileprivate mutating func trim(idleSince boundary: Int64) {
        let idle = entries.flatMap { slot, found in
            found.filter { $0.lastUsed < boundary }.map { (slot, $0.timestamp) }
        }
        for (slot, timestamp) in idle {
            remove(slot, timestamp: timestamp)
        }
    }
}
