// What a phone would show for a number: the answers of the block and the identity use case together (service.md 1.3, 1.7.6).

import LookupMessages

/// What a phone would show when a number calls.
public struct CallerAnswer: Sendable, Equatable {
    /// What kind of caller an identity says it is.
    public enum Category: String, Sendable, Equatable {
        /// Nothing is said.
        case unspecified
        /// A person.
        case person
        /// A business.
        case business
    }

    /// The number asked for.
    public var number: String
    /// The name shown; nil without an identity.
    public var name: String?
    /// The kind of caller; nil without an identity.
    public var category: Category?
    /// Minutes for which the phone may reuse the identity; nil without one.
    public var cacheMinutes: Int?
    /// Whether the call is blocked; false without a row.
    public var block: Bool
    /// Whether the identity or the block use case holds the number.
    public var found: Bool
    /// Time of the identity query; nil when the server lacks the use case.
    public var identityTime: Duration?
    /// Time of the block query; nil when the server lacks the use case.
    public var blockTime: Duration?

    /// The answer for a number of which nothing is known.
    public init(number: String) {
        self.number = number
        block = false
        found = false
    }
}

extension Device {
    /// The use case of blocking.
    public var blockUseCase: String { app + ".block" }
    /// The use case of identities.
    public var identityUseCase: String { app + ".identity" }

    /// Asks both use cases of the app as a phone does when a call comes: block first, then identity. `prepare` must have been
    /// called with both; one that the server lacks counts as absent.
    ///
    /// - Parameters:
    ///   - number: the keyword: `+` and digits.
    ///   - present: what `prepare` gave.
    /// - Throws: `DeviceError`.
    public mutating func lookUp(_ number: String, in present: Set<String>) throws(DeviceError) -> CallerAnswer {
        var answer = CallerAnswer(number: number)
        let keyword = Array(number.utf8)
        if present.contains(blockUseCase) {
            let start = ContinuousClock.now
            let value = try ask(blockUseCase, for: keyword)
            answer.blockTime = ContinuousClock.now - start
            if let value {
                guard value.count == 1, let byte = value.first, byte <= 1 else {
                    throw .undecodableReply(useCase: blockUseCase, reason: "a block value is one byte, 0 or 1")
                }
                answer.found = true
                answer.block = byte == 1
            }
        }
        if present.contains(identityUseCase) {
            let start = ContinuousClock.now
            let value = try ask(identityUseCase, for: keyword)
            answer.identityTime = ContinuousClock.now - start
            if let value {
                let identity: CallIdentity
                do {
                    identity = try CallIdentity(decoding: value)
                } catch {
                    throw .undecodableReply(useCase: identityUseCase, reason: "the value is no CallIdentity")
                }
                answer.found = true
                answer.name = identity.name
                answer.cacheMinutes = Int(identity.cacheExpiryMinutes)
                switch identity.category {
                case .person: answer.category = .person
                case .business: answer.category = .business
                default: answer.category = .unspecified
                }
            }
        }
        return answer
    }
}
