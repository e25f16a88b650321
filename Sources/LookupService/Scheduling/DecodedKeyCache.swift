// Decoded evaluation keys of the last queries, bounded by bytes: deriving a key's random halves from their seeds costs more
// than finding it (keyword-pir.md 13.3, 14.3).

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
    private struct Entry {
        var key: DecodedEvaluationKey
        var use: UInt64
        var storedUse: Int
    }

    private struct State {
        var entries: [DecodedKeyName: Entry] = [:]
        var bytes = 0
        var uses: UInt64 = 0

        mutating func remove(_ name: DecodedKeyName) {
            guard let entry = entries.removeValue(forKey: name) else { return }
            bytes -= entry.key.byteCount
        }
    }

    /// After this many seconds an entry is looked up in the store again, so that the store learns that the key is in use.
    static let secondsUntilStoreIsAsked = 600

    private let limit: Int
    private let state = Mutex(State())

    /// A cache of at most `bytes` bytes of decoded keys.
    init(bytes: Int) { limit = max(0, bytes) }

    /// The key, if it is there and the store was asked for it lately; `now` in seconds.
    func key(_ name: DecodedKeyName, at now: Int) -> DecodedEvaluationKey? {
        state.withLock { state in
            guard var entry = state.entries[name] else { return nil }
            guard now >= entry.storedUse, now - entry.storedUse < Self.secondsUntilStoreIsAsked else {
                state.remove(name)
                return nil
            }
            state.uses += 1
            entry.use = state.uses
            state.entries[name] = entry
            return entry.key
        }
    }

    /// Keeps a key that was just found in the store; lets go of those that were not used for longest.
    func keep(_ key: DecodedEvaluationKey, as name: DecodedKeyName, at now: Int) {
        guard key.byteCount <= limit else { return }
        state.withLock { state in
            state.remove(name)
            state.uses += 1
            state.entries[name] = Entry(key: key, use: state.uses, storedUse: now)
            state.bytes += key.byteCount
            while state.bytes > limit, let oldest = state.entries.min(by: { $0.value.use < $1.value.use })?.key {
                state.remove(oldest)
            }
        }
    }

    /// Forgets a key that was uploaded anew.
    func forget(_ name: DecodedKeyName) { state.withLock { $0.remove(name) } }

    /// Bytes held now.
    var byteCount: Int { state.withLock { $0.bytes } }
}
