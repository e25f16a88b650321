// Tokens as a phone fetches, keeps and spends them (service.md 1.4, 2.4 to 2.8): the directory, the key of the user's tier, one blind
// signature for each token, and each token for one request.

import Cryptography
import Glibc
import HTTPClient
import HTTPCore
import PrivacyPass

/// The tokens of one user.
struct TokenWallet: Sendable {
    /// Tokens that are fetched at once: one for the request that waits, then the rest (service.md 1.4, iOS 27).
    static let batch = 10
    /// How long a device keeps a token, in seconds.
    static let lifetime: Int64 = 7 * 24 * 3600

    /// Time of each step of the last supply.
    struct Supply: Sendable {
        var directory: Duration
        var tokenKey: Duration
        var issuing: Duration
        var count: Int
    }

    private let connection: IssuerConnection
    private let challenge: TokenChallenge
    private let state: DeviceState
    /// What the state keeps them under: nothing that tells issuer or user.
    private let name: String
    private var kept: [KeptToken]
    private(set) var lastSupply: Supply?

    /// A wallet with the tokens that the state has of this issuer and user.
    ///
    /// - Parameters:
    ///   - url: scheme, host and port of the issuer.
    ///   - userToken: what stands behind `Bearer `.
    init(
        url: String, at address: ConnectAddress?, userToken: String, userAgent: String, trust: TLSTrust, timeout: Duration,
        state: DeviceState, path: ObliviousPath?
    ) throws(DeviceError) {
        connection = try IssuerConnection(
            url: url, at: address, userToken: userToken, userAgent: userAgent, trust: trust, path: path, timeout: timeout)
        do throws(PrivacyPassError) {
            challenge = try TokenChallenge(issuerName: connection.name)
        } catch {
            throw .invalidURL("the issuer's host cannot be in a challenge: \(error)")
        }
        name = SHA256.hash(Array("\(url) \(userToken)".utf8)).prefix(8).hexadecimal
        self.state = state
        kept = try state.tokens(name)
    }

    /// Takes a token out, after fetching a batch if none is left.
    mutating func take() throws(DeviceError) -> Token {
        let now = Int64(time(nil))
        kept.removeAll { now - $0.fetched >= Self.lifetime }
        if kept.isEmpty { try fetch(at: now) }
        guard !kept.isEmpty else { throw .unusableIssuer(reason: "it gave no token") }
        let next = kept.removeFirst()
        // Before it is used, so that no later run takes it for good.
        try state.keep(kept, as: name)
        return next.token
    }

    /// Forgets what is left: the server does not take tokens of this key any more.
    mutating func empty() throws(DeviceError) {
        kept = []
        try state.keep(kept, as: name)
    }

    private mutating func fetch(at now: Int64) throws(DeviceError) {
        let clock = ContinuousClock()
        let start = clock.now
        let directory = try connection.directory()
        let afterDirectory = clock.now
        let key = try connection.tokenKey()
        let afterKey = clock.now
        // A server that shows each user another key could recognise them by it (RFC 9576 section 4.3).
        guard let entry = directory.keys.first(where: { $0.key == key }) else {
            throw .unusableIssuer(reason: "the key for the user token is not in its directory")
        }
        if let begin = entry.notBefore, begin > now {
            throw .unusableIssuer(reason: "the key for the user token is not in use before \(begin - now) s from now")
        }
        for _ in 0..<Self.batch {
            do throws(DeviceError) {
                let issuance = try Self.begin(key, challenge)
                let response = try connection.issue(issuance.request, path: directory.requestURI)
                kept.append(KeptToken(token: try Self.finish(issuance, response), fetched: now))
            } catch {
                // A quota that ends in the middle of a batch leaves what there is.
                if case .refused(_, 429, _) = error, !kept.isEmpty { break }
                throw error
            }
        }
        lastSupply = Supply(
            directory: afterDirectory - start, tokenKey: afterKey - afterDirectory, issuing: clock.now - afterKey,
            count: kept.count)
    }

    private static func begin(_ key: TokenPublicKey, _ challenge: TokenChallenge) throws(DeviceError) -> TokenIssuance {
        do throws(PrivacyPassError) {
            return try TokenIssuance(key: key, challenge: challenge)
        } catch {
            throw .unusableIssuer(reason: "\(error)")
        }
    }

    private static func finish(_ issuance: TokenIssuance, _ response: [UInt8]) throws(DeviceError) -> Token {
        do throws(PrivacyPassError) {
            return try issuance.finish(response)
        } catch {
            throw .unusableIssuer(reason: "its signature is not that of the key")
        }
    }
}

/// A device's connection to the issuer.
private struct IssuerConnection: Sendable {
    /// The issuer's name in challenges: its host, with the port if that is not the scheme's (RFC 9577 section 2.1).
    let name: String
    private let way: RequestPath
    private let userAgent: String
    private let userToken: String
    private let timeout: Duration

    init(
        url: String, at address: ConnectAddress?, userToken: String, userAgent: String, trust: TLSTrust, path: ObliviousPath?,
        timeout: Duration
    ) throws(DeviceError) {
        let parsed = try ServiceConnection.url(url)
        guard (1...4096).contains(userToken.utf8.count), userToken.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw .unusableUserToken
        }
        way = try RequestPath(to: parsed, at: address, through: path, trust: trust)
        name = parsed.authority
        self.userToken = userToken
        self.userAgent = userAgent
        self.timeout = timeout
    }

    func directory() throws(DeviceError) -> IssuerDirectory {
        let step = "/.well-known/private-token-issuer-directory"
        let body = try send("GET", step, isAuthorized: false)
        do throws(PrivacyPassError) {
            return try IssuerDirectory(json: body)
        } catch {
            throw .unusableIssuer(reason: "\(error)")
        }
    }

    func tokenKey() throws(DeviceError) -> TokenPublicKey {
        let body = try send("GET", "/token-key-for-user-token", isAuthorized: true)
        do throws(PrivacyPassError) {
            return try TokenPublicKey(spki: body)
        } catch {
            throw .unusableIssuer(reason: "\(error)")
        }
    }

    func issue(_ request: TokenRequest, path: String) throws(DeviceError) -> [UInt8] {
        // Every server says `/issue`; another host or scheme would need another connection.
        guard path.hasPrefix("/"), !path.hasPrefix("//") else {
            throw .unusableIssuer(reason: "its request URI is no path on the same host")
        }
        return try send("POST", path, isAuthorized: true, body: request.encoded)
    }

    private func send(
        _ method: String, _ path: String, isAuthorized: Bool, body: [UInt8] = []
    ) throws(DeviceError) -> [UInt8] {
        var fields: HTTPFields = ["user-agent": userAgent]
        if isAuthorized { fields.append("authorization", "Bearer \(userToken)") }
        if !body.isEmpty { fields.append("content-type", "application/private-token-request") }
        let response = try way.send(
            HTTPRequest(method: method, path: path, fields: fields, body: body), step: path, timeout: timeout)
        guard response.status == 200 else {
            throw .refused(step: path, status: response.status, message: ServiceConnection.message(in: response.body))
        }
        return response.body
    }
}
