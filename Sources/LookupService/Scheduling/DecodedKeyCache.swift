// Decoded evaluation keys, bounded by bytes: deriving a key's random halves from their seeds costs more than finding it
// (keyword-pir.md 13.3, 14.3). A key comes in when a query needed it, or when it was checked at its upload.
//
// Uploads cost their sender little, so they must not drive out the keys of those who look up. What came by an upload and was
// not used yet is on probation: it may fill free bytes, but when bytes are short it goes first, oldest first, as long as
// such keys have more than their share, an eighth of the bound. So a flood of uploads takes at most that share from the keys
// in use, and a new device's first query, which follows its upload by seconds, still finds its key. A user has one key on
// probation for each key configuration.

import KeywordPIR
import Synchronization

/// What a decoded key is found by.
struct DecodedKeyName: Hashable, Sendable {
    var userIdentifier: String
    var configurationHash: [UInt8]
    var timestamp: UInt64
}

/// The decoded keys used last.
final class DecodedKeyCache: Sendable {
    /// What the cache holds, and how it is used.
    struct Statistics: Sendable, Equatable {
        /// Keys held now.
        var count = 0
        /// Bytes of them.
        var bytes = 0
        /// Bytes of uploaded keys whose records are being stored: at most an eighth of the bound.
        var waitingBytes = 0
        /// Bytes that it may hold.
        var bound = 0
        /// Queries that found their key here.
        var hits = 0
        /// Those that did not.
        var misses = 0
    }

    /// A moment in the order of uploads.
    struct Moment: Sendable {
        fileprivate var uploads: UInt64
    }

    private struct Entry {
        var key: DecodedEvaluationKey
        var use: UInt64
        var storedUse: Int
        var isOnProbation: Bool
    }

    private struct State {
        var entries: [DecodedKeyName: Entry] = [:]
        var bytes = 0
        var probationBytes = 0
        var held = 0
        var uses: UInt64 = 0
        var hits = 0
        var misses = 0
        /// Uploads so far, and the names of the last ones.
        var uploads: UInt64 = 0
        var uploaded: [DecodedKeyName] = []

        mutating func remove(_ name: DecodedKeyName) {
            guard let entry = entries.removeValue(forKey: name) else { return }
            bytes -= entry.key.byteCount
            if entry.isOnProbation { probationBytes -= entry.key.byteCount }
        }

        mutating func insert(_ key: DecodedEvaluationKey, as name: DecodedKeyName, at now: Int, onProbation: Bool) {
            remove(name)
            uses += 1
            entries[name] = Entry(key: key, use: uses, storedUse: now, isOnProbation: onProbation)
            bytes += key.byteCount
            if onProbation { probationBytes += key.byteCount }
        }

        /// Lets go of keys until they fit: the rule at the head of this file.
        mutating func shrink(to limit: Int) {
            while bytes > limit {
                let fromProbation = probationBytes > limit / DecodedKeyCache.probationShare || probationBytes == bytes
                let oldest = entries.filter { $0.value.isOnProbation == fromProbation }.min { $0.value.use < $1.value.use }
                guard let oldest else { return }
                remove(oldest.key)
            }
        }

        /// Whether a key of this name came after the moment, as far as is remembered; in doubt it did.
        func isOutdated(_ name: DecodedKeyName, since moment: Moment) -> Bool {
            let later = uploads - moment.uploads
            return later > UInt64(uploaded.count) || uploaded.suffix(Int(later)).contains(name)
        }
    }

    /// After this many seconds an entry is looked up in the store again, so that the store learns that the key is in use.
    static let secondsUntilStoreIsAsked = 600
    /// Keys on probation keep one part in so many of the bytes against keys in use.
    static let probationShare = 8
    /// Uploads that are remembered by name: more than can be stored while one key is decoded.
    static let rememberedUploads = 64

    private let limit: Int
    private let state = Mutex(State())

    /// A cache of at most `bytes` bytes of decoded keys.
    init(bytes: Int) { limit = max(0, bytes) }

    /// The key, if it is there and the store was asked for it lately; `now` in seconds.
    func key(_ name: DecodedKeyName, at now: Int) -> DecodedEvaluationKey? {
        state.withLock { state in
            guard var entry = state.entries[name], now >= entry.storedUse,
                now - entry.storedUse < Self.secondsUntilStoreIsAsked
            else {
                state.remove(name)
                state.misses += 1
                return nil
            }
            state.hits += 1
            state.uses += 1
            entry.use = state.uses
            if entry.isOnProbation { state.probationBytes -= entry.key.byteCount }
            entry.isOnProbation = false
            state.entries[name] = entry
            return entry.key
        }
    }

    /// To be asked before a key is read from the store or written to it: an upload that comes in between is then noticed.
    var moment: Moment { state.withLock { Moment(uploads: $0.uploads) } }

    /// Keeps a key that was just found in the store, unless another of that name was uploaded since; lets go of those that were
    /// not used for longest.
    func keep(_ key: DecodedEvaluationKey, as name: DecodedKeyName, at now: Int, since moment: Moment) {
        guard key.byteCount <= limit else { return }
        state.withLock { state in
            guard !state.isOutdated(name, since: moment) else { return }
            state.insert(key, as: name, at: now, onProbation: false)
            state.shrink(to: limit)
        }
    }

    /// Puts a key in the place of what had its name, now that its record is stored.
    ///
    /// - `key`: nil if there is only the record.
    /// - `moment`: before the record was stored. If another of that name was stored since, nobody knows here which of them the
    ///   store has, and neither is kept.
    func replace(_ name: DecodedKeyName, by key: DecodedEvaluationKey?, at now: Int, since moment: Moment) {
        state.withLock { state in
            let isCertain = !state.isOutdated(name, since: moment)
            state.uploads += 1
            state.uploaded.append(name)
            if state.uploaded.count > Self.rememberedUploads { state.uploaded.removeFirst() }
            state.remove(name)
            let others = state.entries.filter {
                $0.value.isOnProbation && $0.key.userIdentifier == name.userIdentifier
                    && $0.key.configurationHash == name.configurationHash
            }
            for other in others.keys { state.remove(other) }
            guard isCertain, let key, key.byteCount <= limit else { return }
            state.insert(key, as: name, at: now, onProbation: true)
            state.shrink(to: limit)
        }
    }

    /// Numbers for an operator.
    var statistics: Statistics {
        state.withLock {
            Statistics(
                count: $0.entries.count, bytes: $0.bytes, waitingBytes: $0.held, bound: limit, hits: $0.hits,
                misses: $0.misses)
        }
    }

    /// Takes bytes for a key that waits for its record to be stored, if those that wait stay within an eighth of the bound.
    fileprivate func hold(_ bytes: Int) -> Bool {
        state.withLock { state in
            guard state.held + bytes <= limit / Self.probationShare else { return false }
            state.held += bytes
            return true
        }
    }

    fileprivate func release(_ bytes: Int) { state.withLock { $0.held -= bytes } }
}

/// A decoded key on its way into the cache. Counted as long as it lives, so that many waiting uploads are not many keys.
final class UploadedKey: Sendable {
    let key: DecodedEvaluationKey
    private let cache: DecodedKeyCache

    /// Nil if too many wait already: the key will be decoded when a query needs it.
    init?(_ key: DecodedEvaluationKey, for cache: DecodedKeyCache) {
        guard cache.hold(key.byteCount) else { return nil }
        self.key = key
        self.cache = cache
    }

    deinit { cache.release(key.byteCount) }
}
