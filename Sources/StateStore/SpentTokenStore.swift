// The tokens that have been spent: the face that the drivers share, and the driver in memory. Specified in service.md 2.8
// (redemption: one atomic insert-if-absent, group commit) and 2.6 (a key's set is dropped as a whole with the key).

import Synchronization

/// How much a store of spent tokens holds.
public struct SpentTokenStatistics: Sendable, Equatable {
    /// Spent tokens of all keys.
    public var tokens: Int
    /// Bytes on the disk, with logs and indices; 0 for a store in memory.
    public var bytes: Int

    /// Makes a pair of count and bytes.
    public init(tokens: Int, bytes: Int) {
        self.tokens = tokens
        self.bytes = bytes
    }
}

/// The spent tokens of all issuer keys. A token is known by a mark of 16 bytes that the caller makes of its nonce, and by the name
/// of the issuer key that signed it: 8 to 64 lower-case hexadecimal digits.
public protocol SpentTokenStore: Sendable {
    /// Spends a token. Never blocks; `done` is called exactly once, on a thread of the store or on the caller's before `spend`
    /// returns, and must be brief: other tokens wait behind it.
    ///
    /// `done` gets true when this was the first time, which is then as durable as the driver can make it; false when the token
    /// was spent before, by whomever. An error is never an acceptance, though the token may be spent after one: a failing disk
    /// does not tell. Errors: `invalidValue`, `waitingLineFull`, `tooManyTokens`, `dropped`, `moved`, `closed`; and what the driver meets
    /// (`diskFull`, `readOnly`, `busy`, `corrupt`, `foreignDatabase`, `newerSchema`, `cannotOpen`, `openToOthers`, `database`).
    func spend(_ mark: [UInt8], of key: String, _ done: @escaping @Sendable (Result<Bool, StateStoreError>) -> Void)

    /// Drops the spent tokens of all other keys, for good: a token of such a key gets `dropped` from now on, in every process, even
    /// if a later call names its key again. May block.
    ///
    /// - Throws: `StateStoreError`, as `spend`.
    func keep(only keys: Set<String>) throws(StateStoreError)

    /// How much is stored. May block.
    ///
    /// - Throws: `StateStoreError`, as `spend`.
    func statistics() throws(StateStoreError) -> SpentTokenStatistics

    /// Finishes what waits, and closes the store; every later call gets `closed`, a second `close` does nothing. May block.
    ///
    /// - Throws: `StateStoreError`, when files cannot be closed in order; the store is closed all the same.
    func close() throws(StateStoreError)
}

/// What a mark and a key's name must look like. The texts of the errors never repeat them.
enum SpentTokenRules {
    /// Bytes of a mark.
    static let markBytes = 16

    static func check(mark: [UInt8]) throws(StateStoreError) {
        guard mark.count == markBytes else {
            throw .invalidValue("the mark of a token has \(markBytes) bytes, this one has \(mark.count)")
        }
    }

    static func check(key: String) throws(StateStoreError) {
        guard isKeyName(key) else {
            throw .invalidValue("the name of a key is 8 to 64 lower-case hexadecimal digits, this one is not")
        }
    }

    /// Such a name is also safe as the name of a file.
    static func isKeyName(_ text: some StringProtocol) -> Bool {
        (8...64).contains(text.utf8.count)
            && text.utf8.allSatisfy {
                ($0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9")) || ($0 >= UInt8(ascii: "a") && $0 <= UInt8(ascii: "f"))
            }
    }
}

/// Spent tokens in memory, for demonstrations and tests: they are forgotten with the process. Every call answers at once.
public final class InMemorySpentTokenStore: SpentTokenStore {
    private struct Content {
        var spent: [String: Set<[UInt8]>] = [:]
        var dropped: Set<String> = []
        var tokens = 0
        var isClosed = false
    }

    private let content = Mutex(Content())
    private let limit: Int

    /// Makes an empty store.
    ///
    /// - Parameter limit: tokens that it holds at most; beyond it a new one gets `tooManyTokens`.
    public init(limit: Int = 10_000_000) {
        self.limit = limit
    }

    /// Spends a token; see `SpentTokenStore.spend(_:of:_:)`.
    public func spend(_ mark: [UInt8], of key: String, _ done: @escaping @Sendable (Result<Bool, StateStoreError>) -> Void) {
        let result = content.withLock { content in
            Result { () throws(StateStoreError) in try insert(mark, of: key, into: &content) }
        }
        done(result)
    }

    /// Drops the sets of all other keys; see `SpentTokenStore.keep(only:)`.
    public func keep(only keys: Set<String>) throws(StateStoreError) {
        for key in keys { try SpentTokenRules.check(key: key) }
        try content.withLock { (content) throws(StateStoreError) in
            guard !content.isClosed else { throw .closed }
            for (key, marks) in content.spent where !keys.contains(key) {
                content.spent[key] = nil
                content.tokens -= marks.count
                content.dropped.insert(key)
            }
        }
    }

    /// How much is stored; see `SpentTokenStore.statistics()`.
    public func statistics() throws(StateStoreError) -> SpentTokenStatistics {
        try content.withLock { (content) throws(StateStoreError) in
            guard !content.isClosed else { throw .closed }
            return SpentTokenStatistics(tokens: content.tokens, bytes: 0)
        }
    }

    /// Forgets everything; see `SpentTokenStore.close()`.
    public func close() throws(StateStoreError) {
        content.withLock { content in
            content = Content()
            content.isClosed = true
        }
    }

    private func insert(_ mark: [UInt8], of key: String, into content: inout Content) throws(StateStoreError) -> Bool {
        guard !content.isClosed else { throw .closed }
        try SpentTokenRules.check(mark: mark)
        try SpentTokenRules.check(key: key)
        guard !content.dropped.contains(key) else { throw .dropped(path: "memory") }
        if content.spent[key]?.contains(mark) == true { return false }
        guard content.tokens < limit else { throw .tooManyTokens(limit: limit) }
        content.spent[key, default: []].insert(mark)
        content.tokens += 1
        return true
    }
}
