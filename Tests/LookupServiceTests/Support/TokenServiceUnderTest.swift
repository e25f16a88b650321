// A service that takes tokens, with its data in a folder of its own and a clock that tests set; and what phones do with its issuer.

import CallerDirectory
import Foundation
import HTTPCore
import LookupMessages
import PrivacyPass
import StateStore
import Synchronization

@testable import LookupService

/// A clock that stands still until a test sets it.
final class TestClock: Sendable {
    private let seconds: Mutex<Int64>

    init(_ seconds: Int64 = 1_800_000_000) { self.seconds = Mutex(seconds) }

    var now: Int64 { seconds.withLock { $0 } }
    func advance(_ by: Int64) { seconds.withLock { $0 += by } }
}

/// What did not go as a phone expects it.
struct IssuanceFailure: Error, CustomStringConvertible {
    var description: String
}

/// A service, its issuer and their folder; the folder goes with it.
final class TokenServiceUnderTest {
    let data: URL
    let clock: TestClock
    let options: ServiceOptions
    let identity: SampleUseCase
    let block: SampleUseCase
    private(set) var roles: PrivacyPassRoles
    private(set) var service: LookupService
    private(set) var log = MemoryLog()
    private(set) var store: InMemoryEvaluationKeyStore

    static let users = [
        UserGroup(tier: "free", tokens: ["AAAA", "CCCC"]), UserGroup(tier: "gold", tokens: ["BBBB"]),
    ]

    init(
        options: ServiceOptions = ServiceOptions(), clock: TestClock = TestClock(),
        change: (inout AccessSettings) -> Void = { _ in }
    ) throws {
        self.options = options
        self.clock = clock
        data = FileManager.default.temporaryDirectory.appendingPathComponent("veilring-tokens-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: data, withIntermediateDirectories: true)
        identity = try SampleUseCase.make(
            ServiceUnderTest.identity, kind: .identity, rows: ServiceUnderTest.rows(name: "Johnny"))
        block = try SampleUseCase.make(
            ServiceUnderTest.block, kind: .block, rows: [ServiceUnderTest.number: [1]], buckets: 8, entrySize: 80)
        let access = Self.access(data, change)
        store = try InMemoryEvaluationKeyStore()
        roles = try Self.roles(access, data, clock)
        service = LookupService(options: options, store: store, privacyPass: roles, log: log)
        self.access = access
        service.swap(to: snapshot)
    }

    private let access: AccessSettings

    deinit {
        roles.close(log: log)
        try? FileManager.default.removeItem(at: data)
    }

    private static func access(_ data: URL, _ change: (inout AccessSettings) -> Void) -> AccessSettings {
        var access = AccessSettings(keys: data.path + "/keys")
        access.users = users
        access.defaultTier = "free"
        change(&access)
        return access
    }

    private static func roles(_ access: AccessSettings, _ data: URL, _ clock: TestClock) throws -> PrivacyPassRoles {
        try PrivacyPassRoles(access: access, data: data.path, issuerNames: ["issuer.example"], now: { clock.now })
    }

    var snapshot: ServiceSnapshot { ServiceSnapshot(version: "one", current: [identity.loaded, block.loaded]) }

    /// Ends the process, so to speak, and starts another one on the same folder.
    func restart() throws {
        roles.close(log: log)
        roles = try Self.roles(access, data, clock)
        service = LookupService(options: options, store: store, privacyPass: roles, log: log)
        service.swap(to: snapshot)
    }

    // MARK: Requests

    /// Sends a request to the handler as the HTTP front does, and waits for the answer.
    func call(_ method: String, _ path: String, _ fields: HTTPFields = [:], _ body: [UInt8] = []) -> HTTPResponse {
        service.answer(HTTPRequest(method: method, path: path, fields: fields, body: body))
    }

    /// What a phone sends with a user token.
    static func bearer(_ userToken: String) -> HTTPFields { ["authorization": "Bearer \(userToken)"] }

    /// What a phone sends with a token.
    static func paid(_ token: Token?, user: String = "A4C1E2B0-0000-4000-8000-00000000ABCD") -> HTTPFields {
        var fields: HTTPFields = ["user-identifier": user, "user-agent": "com.apple.ciphermld/1.0 iOS/18.2"]
        if let token { fields.append("authorization", PrivateTokenAuthorization.text(for: token)) }
        return fields
    }

    /// A `/config` request that is right.
    static let configRequest = ConfigRequest(usecases: [ServiceUnderTest.identity]).encoded()

    /// Asks for a configuration with a token.
    func config(_ token: Token?) -> HTTPResponse { call("POST", "/config", Self.paid(token), Self.configRequest) }

    /// The key of the user's tier.
    func tokenKey(_ userToken: String) throws -> TokenPublicKey {
        let answer = call("GET", "/token-key-for-user-token", Self.bearer(userToken))
        guard answer.status == 200 else { throw IssuanceFailure(description: "token key: \(answer.status)") }
        return try TokenPublicKey(spki: answer.body)
    }

    /// Fetches one token as a phone does.
    func fetchToken(_ userToken: String = "AAAA", key: TokenPublicKey? = nil, issuer: String = "issuer.example") throws -> Token
    {
        let issuance = try TokenIssuance(
            key: try key ?? tokenKey(userToken), challenge: TokenChallenge(issuerName: issuer))
        let answer = call("POST", "/issue", Self.bearer(userToken), issuance.request.encoded)
        guard answer.status == 200 else { throw IssuanceFailure(description: "issue: \(answer.status)") }
        return try issuance.finish(answer.body)
    }

    func directory() throws -> IssuerDirectory {
        try IssuerDirectory(json: call("GET", "/.well-known/private-token-issuer-directory").body)
    }
}
