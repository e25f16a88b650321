// Redemption (RFC 9577 section 2.2; service.md 1.6.1, 2.8): a token is looked at in the head, and spent when its request would
// otherwise be done.

import HTTPCore
import PrivacyPass
import StateStore
import Synchronization

/// A token of a key of ours; it pays for one request once it is spent.
struct RedeemableToken: Sendable, Equatable {
    /// The tier of the key.
    var tier: String
    /// The name of the key, under which spent tokens are kept.
    var key: String
    /// What is kept of it.
    var mark: [UInt8]
}

/// What is done about the challenge that a token was made for.
public struct ChallengeRule: Sendable, Equatable {
    /// What happens to a token for another challenge.
    public enum Policy: Sendable, Equatable {
        /// Nothing.
        case any
        /// It is counted.
        case report
        /// It is refused.
        case enforce
    }

    /// What happens to a token for another challenge.
    public var policy: Policy
    /// Digests of the challenges that devices may make.
    let digests: Set<[UInt8]>
    /// The challenge that a 401 carries.
    let challenge: TokenChallenge?

    /// A rule for the issuer's names; the first one is in the challenge of a 401.
    public init(policy: Policy, issuerNames: [String]) {
        self.policy = policy
        let challenges = issuerNames.compactMap { try? TokenChallenge(issuerName: $0) }
        digests = Set(challenges.map(\.digest))
        challenge = challenges.first
    }
}

/// Checks tokens and spends them.
public final class TokenRedemption: Sendable {
    private let keys: IssuerKeys
    private let rule: ChallengeRule
    /// Marks of tokens that were spent.
    let spent: any SpentTokenStore
    private let givenBack = Mutex<Set<[UInt8]>>([])
    /// Tokens for another challenge.
    let otherChallenges = Atomic<Int>(0)

    init(keys: IssuerKeys, rule: ChallengeRule, spent: any SpentTokenStore) {
        self.keys = keys
        self.rule = rule
        self.spent = spent
    }

    /// The token of a request: one `Authorization`, a key that verifies now, and its signature if that is asked for.
    func token(in fields: HTTPFields, checkingSignature: Bool) throws(ServiceFailure) -> RedeemableToken {
        let values = fields.values("authorization")
        guard let value = values.first else { throw .noToken }
        guard values.count == 1 else { throw .repeatedAuthorization }
        let token: Token
        do throws(PrivacyPassError) {
            token = try PrivateTokenAuthorization.token(in: value)
        } catch {
            throw .malformedToken
        }
        guard let key = keys.verifying(token.keyID) else { throw .unknownTokenKey }
        if checkingSignature {
            if rule.policy != .any, !rule.digests.contains(token.challengeDigest) {
                if rule.policy == .enforce { throw .otherChallenge }
                otherChallenges.add(1, ordering: .relaxed)
            }
            guard key.signing.publicKey.verify(token) else { throw .tokenNotSigned }
        }
        return RedeemableToken(tier: key.tier, key: key.name, mark: token.spentMark)
    }

    /// Spends a token; `done` learns whether it was the first time, when that is durable.
    func spend(_ token: RedeemableToken, _ done: @escaping @Sendable (Result<Bool, StateStoreError>) -> Void) {
        // Spent durably already, for nothing: whoever takes it out of the set is the first again.
        if givenBack.withLock({ $0.remove(token.mark) != nil }) { return done(.success(true)) }
        spent.spend(token.mark, of: token.key, done)
    }

    /// Makes a spent token good again, because nothing was done for it (service.md 1.8). In memory only: after a restart it stays
    /// spent, as it does when too many wait to be used again.
    func giveBack(_ token: RedeemableToken) {
        givenBack.withLock { marks in
            if marks.count < Self.mostGivenBack { marks.insert(token.mark) }
        }
    }

    private static let mostGivenBack = 65_536
}
