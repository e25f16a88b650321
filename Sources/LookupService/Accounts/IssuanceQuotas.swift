// Quotas at issuance (service.md 8.4): the only lever against abuse when queries are private. A bucket of tokens for each user that
// fills by the hour, and a bound for the day. Counters live in memory and are written down every second.

import StateStore
import Synchronization

/// What users of a tier may have.
struct IssuanceQuota: Sendable, Equatable {
    /// Tokens that come back in an hour.
    var perHour: Int
    /// Tokens in a day (UTC) at most; nil: no such bound.
    var perDay: Int?
    /// Tokens at once at most.
    var burst: Int

    /// A quota.
    init(perHour: Int, perDay: Int? = nil, burst: Int) {
        self.perHour = perHour
        self.perDay = perDay
        self.burst = burst
    }
}

/// Where counters survive a restart.
protocol QuotaStore: Sendable {
    /// The counter of a user; nil: none is written down.
    func load(user mark: [UInt8]) throws(StateStoreError) -> QuotaCounter?
    /// Writes counters down, all or none.
    func save(_ counters: [[UInt8]: QuotaCounter]) throws(StateStoreError)
    /// Forgets counters that nothing was taken from since a time; gives how many.
    @discardableResult func forget(olderThan time: Int64) throws(StateStoreError) -> Int
}

/// Counts issued tokens by user.
final class IssuanceQuotas: Sendable {
    /// Whether a token may be issued.
    enum Decision: Sendable, Equatable {
        case granted
        /// Not before so many seconds have passed.
        case refused(retryAfter: Int)
    }

    private struct Entry {
        var counter: QuotaCounter
        var isDirty: Bool
    }

    private struct State {
        var entries: [[UInt8]: Entry] = [:]
        var quotas: [String: IssuanceQuota]
        var standard: IssuanceQuota
    }

    /// Users that are kept in memory; those that are written down and idle go first.
    private static let usersInMemory = 100_000
    private let state: Mutex<State>
    private let store: (any QuotaStore)?

    /// Quotas by tier; `standard` for others. Without a store counters begin anew with the process.
    init(quotas: [String: IssuanceQuota], standard: IssuanceQuota, store: (any QuotaStore)?) {
        state = Mutex(State(quotas: quotas, standard: standard))
        self.store = store
    }

    /// Puts other quotas in force; counters stay.
    func replace(quotas: [String: IssuanceQuota], standard: IssuanceQuota) {
        state.withLock {
            $0.quotas = quotas
            $0.standard = standard
        }
    }

    /// Forgets counters whose buckets are full again and whose day is over: they are as good as none.
    func forgetIdle(at now: Int64) throws(StateStoreError) {
        let slowest = state.withLock { state in
            ([state.standard] + state.quotas.values).map { Int64($0.burst) * 3600 / Int64(max(1, $0.perHour)) }.max() ?? 0
        }
        try store?.forget(olderThan: now - max(slowest, 86_400) - 86_400)
    }

    /// Takes one token out of a user's bucket. Throws what the store throws when a counter cannot be read: then nothing is granted.
    func take(_ user: UserAccount, at now: Int64) throws(StateStoreError) -> Decision {
        var stored: QuotaCounter?
        if let store, state.withLock({ $0.entries[user.mark] == nil }) { stored = try store.load(user: user.mark) }
        return state.withLock { state in
            let quota = state.quotas[user.tier] ?? state.standard
            var counter = state.entries[user.mark]?.counter ?? stored ?? Self.fresh(quota, at: now)
            let decision = Self.take(&counter, quota: quota, at: now)
            state.entries[user.mark] = Entry(counter: counter, isDirty: true)
            return decision
        }
    }

    /// Puts a token back that was not issued after all.
    func putBack(_ user: UserAccount) {
        state.withLock { state in
            guard var entry = state.entries[user.mark] else { return }
            entry.counter.level += 1
            entry.counter.issuedToday = max(0, entry.counter.issuedToday - 1)
            entry.counter.issuedThisHour = max(0, entry.counter.issuedThisHour - 1)
            entry.isDirty = true
            state.entries[user.mark] = entry
        }
    }

    /// Writes down what has changed. What cannot be written waits for the next time.
    func flush() throws(StateStoreError) {
        let changed = state.withLock { state -> [[UInt8]: QuotaCounter] in
            let changed = state.entries.filter { $0.value.isDirty }.mapValues(\.counter)
            for mark in changed.keys { state.entries[mark]?.isDirty = false }
            return changed
        }
        if let store, !changed.isEmpty {
            do throws(StateStoreError) {
                try store.save(changed)
            } catch {
                state.withLock { state in for mark in changed.keys { state.entries[mark]?.isDirty = true } }
                throw error
            }
        }
        guard store != nil else { return }
        state.withLock { state in
            let excess = state.entries.count - Self.usersInMemory
            guard excess > 0 else { return }
            for mark in state.entries.filter({ !$0.value.isDirty }).keys.prefix(excess) { state.entries[mark] = nil }
        }
    }

    private static func fresh(_ quota: IssuanceQuota, at now: Int64) -> QuotaCounter {
        QuotaCounter(
            level: Double(quota.burst), refilled: now, hour: now / 3600, issuedThisHour: 0, day: now / 86_400, issuedToday: 0)
    }

    /// The rule itself, without a clock.
    static func take(_ counter: inout QuotaCounter, quota: IssuanceQuota, at now: Int64) -> Decision {
        let rate = Double(max(1, quota.perHour)) / 3600
        // A clock that was set back fills nothing, and takes nothing away.
        counter.level = min(Double(quota.burst), counter.level + Double(max(0, now - counter.refilled)) * rate)
        counter.refilled = max(counter.refilled, now)
        if counter.hour != now / 3600 { (counter.hour, counter.issuedThisHour) = (now / 3600, 0) }
        if counter.day != now / 86_400 { (counter.day, counter.issuedToday) = (now / 86_400, 0) }
        if let perDay = quota.perDay, counter.issuedToday >= perDay {
            return .refused(retryAfter: Int(86_400 - now % 86_400))
        }
        guard counter.level >= 1 else {
            return .refused(retryAfter: max(1, Int(((1 - counter.level) / rate).rounded(.up))))
        }
        counter.level -= 1
        counter.issuedToday += 1
        counter.issuedThisHour += 1
        return .granted
    }
}
