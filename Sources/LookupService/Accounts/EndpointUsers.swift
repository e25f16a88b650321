// The operator's own server, asked about user tokens that nobody else knows (docs/users.md): POST of a JSON object, answered with 200
// and a tier, or with 401, 403 or 404. Whatever else happens, nobody gets a token.

import CallerDirectory
import Cryptography
import FoundationEssentials
import HTTPClient
import HTTPCore
import Synchronization

/// Users that another server knows.
final class EndpointUsers: UserSource {
    /// Answers that are kept at most; the oldest go first.
    static let cacheLimit = 100_000
    private static let answerLimit = 16 << 10

    private struct Answer: Decodable {
        var tier: String
        var user: String
    }

    private struct Kept {
        var finding: UserFinding
        var until: Int64
    }

    private let clients: [HTTPClient]
    private let path: String
    private let next = Atomic<Int>(0)
    private let settings: UserEndpointSettings
    private let secret: AccountSecret
    private let now: @Sendable () -> Int64
    private let cache = Mutex<[[UInt8]: Kept]>([:])

    /// Throws `HTTPURLError` or `HTTPClientError` when the URL or the file of certificates cannot be used.
    init(_ settings: UserEndpointSettings, secret: AccountSecret, now: @escaping @Sendable () -> Int64) throws {
        let url = try HTTPURL(settings.url)
        var limits = HTTPLimits()
        limits.clientResponseBody = Self.answerLimit
        let trust = settings.certificates.map { TLSTrust.file($0) } ?? .system
        // A client sends one request after the other, so there is one for each thread that may ask.
        let host = try HTTPURL("\(url.scheme.rawValue)://\(url.authority)")
        clients = try (0..<4).map { _ in try HTTPClient(url: host, trust: trust, limits: limits) }
        path = url.path
        self.settings = settings
        self.secret = secret
        self.now = now
    }

    func find(_ credential: UserCredential) -> UserFinding {
        let now = now()
        if let kept = cache.withLock({ $0[credential.hash] }), kept.until > now { return kept.finding }
        let finding = ask(credential.text)
        guard finding != .unavailable, settings.cacheSeconds > 0 else { return finding }
        cache.withLock { cache in
            if cache.count >= Self.cacheLimit {
                cache = cache.filter { $0.value.until > now }
                // Still full of fresh ones: half of them go, whichever they are.
                if cache.count >= Self.cacheLimit {
                    for hash in cache.keys.prefix(Self.cacheLimit / 2) { cache[hash] = nil }
                }
            }
            cache[credential.hash] = Kept(finding: finding, until: now + Int64(settings.cacheSeconds))
        }
        return finding
    }

    private func ask(_ credential: String) -> UserFinding {
        let client = clients[next.add(1, ordering: .relaxed).newValue & 3]
        let body = JSONLine.object([("userToken", .text(credential))])
        let request = HTTPRequest(
            method: "POST", path: path, fields: ["content-type": "application/json", "accept": "application/json"],
            body: Array(body.utf8))
        guard let response = try? client.send(request, timeout: .milliseconds(settings.timeoutMilliseconds)) else {
            return .unavailable
        }
        switch response.status {
        case 200:
            guard let answer = try? JSONDecoder().decode(Answer.self, from: Data(response.body)),
                (1...64).contains(answer.tier.utf8.count), (1...256).contains(answer.user.utf8.count),
                let mark = try? secret.userMark("endpoint " + answer.user)
            else { return .unavailable }
            return .user(UserAccount(tier: answer.tier, mark: mark))
        case 401, 403, 404: return .unknown
        default: return .unavailable
        }
    }
}
