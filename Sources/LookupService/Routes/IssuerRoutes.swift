// The issuer's routes (service.md 2.4, 2.5, 2.7; RFC 9578 sections 4 and 5): directory, key of a user's tier, blind signatures.
// Between user and token there is nothing: the user is counted, the blinded message is signed and forgotten.

import HTTPCore
import PrivacyPass
import StateStore

extension LookupService {
    /// The credential of a Bearer request (service.md 1.6.2).
    static func userCredential(_ fields: HTTPFields) throws(ServiceFailure) -> String {
        let values = fields.values("authorization")
        guard values.count <= 1 else { throw .repeatedAuthorization }
        guard let value = values.first, let credential = BearerAuthorization.credential(in: value) else {
            throw .unauthorizedUser
        }
        return credential
    }

    /// GET /token-key-for-user-token: the key that the user's tier issues with.
    func handOutKey(_ call: ServiceCall, to credential: String, by roles: PrivacyPassRoles) {
        attest(call, credential, by: roles) { user throws(ServiceFailure) in
            guard let key = roles.keys.issuing(tier: user.tier) else { throw .tryAgainLater }
            call.answer(
                HTTPResponse(
                    status: 200, fields: ["content-type": "application/octet-stream", "cache-control": "no-store"],
                    body: key.signing.publicKey.spki))
        }
    }

    /// POST /issue: a blind signature, if the user's quota allows it.
    func issue(_ call: ServiceCall, to credential: String, by roles: PrivacyPassRoles) {
        attest(call, credential, by: roles) { [self] user throws(ServiceFailure) in
            let request: TokenRequest
            do throws(PrivacyPassError) {
                request = try TokenRequest(decoding: call.request.body)
            } catch {
                throw .invalidTokenRequest
            }
            guard let key = roles.keys.issuing(tier: user.tier, truncated: request.truncatedKeyID),
                key.signing.canSign(request)
            else { throw .invalidTokenRequest }
            try takeToken(user, by: roles, for: call)
            sign(request, key, for: user, call, by: roles)
        }
    }

    /// Finds the user on a thread that may wait, then goes on there.
    private func attest(
        _ call: ServiceCall, _ credential: String, by roles: PrivacyPassRoles,
        _ next: @escaping @Sendable (UserAccount) throws(ServiceFailure) -> Void
    ) {
        let work = WorkItem(rank: .upkeep) {
            guard !call.isPointless else { return call.refuse(.abandoned) }
            do throws(ServiceFailure) {
                switch roles.attester.find(credential) {
                case .user(let user): try next(user)
                case .unknown: throw .unauthorizedUser
                case .expired: throw .expiredUser
                case .unavailable: throw .userSourceUnavailable
                }
            } catch {
                if error != .quotaExceeded { call.refuse(error) }
            }
        } refuse: {
            call.refuse($0)
        }
        enqueue(work, on: registrars, for: call, within: options.issueTime)
    }

    /// Takes a token out of the user's quota. When there is none it answers itself, with the time to wait, and throws.
    private func takeToken(
        _ user: UserAccount, by roles: PrivacyPassRoles, for call: ServiceCall
    ) throws(ServiceFailure) {
        let decision: IssuanceQuotas.Decision
        do throws(StateStoreError) {
            decision = try roles.attester.quotas.take(user, at: roles.keys.now())
        } catch {
            noteStore(error)
            throw .storeUnavailable
        }
        guard case .refused(let seconds) = decision else { return }
        call.refuse(.quotaExceeded, retryAfter: seconds)
        throw .quotaExceeded
    }

    private func sign(
        _ request: TokenRequest, _ key: IssuerKeyring.Key, for user: UserAccount, _ call: ServiceCall,
        by roles: PrivacyPassRoles
    ) {
        let work = WorkItem(rank: .upkeep) { [self] in
            guard !call.isPointless else {
                roles.attester.quotas.putBack(user)
                return call.refuse(.abandoned)
            }
            do throws(PrivacyPassError) {
                let signature = try key.signing.sign(request)
                metrics.tokensIssued.add(to: key.tier)
                call.answer(
                    HTTPResponse(
                        status: 200,
                        fields: ["content-type": "application/private-token-response", "cache-control": "no-store"],
                        body: signature))
            } catch {
                roles.attester.quotas.putBack(user)
                guard error != .invalidTokenRequest else { return call.refuse(.invalidTokenRequest) }
                // The result did not match the input: a faulty key or machine must release nothing (RFC 9474 section 4.3).
                roles.keys.withdraw(key.name)
                log.note(.issuerKeyFaulty(key: key.shortName))
                call.refuse(.internalError)
            }
        } refuse: { refusal in
            roles.attester.quotas.putBack(user)
            call.refuse(refusal)
        }
        if let refusal = signers.submit(work) {
            roles.attester.quotas.putBack(user)
            call.refuse(refusal)
        }
    }
}
