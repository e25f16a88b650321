// User tokens that the operator's own back end makes with a shared secret: JSON Web Tokens with HS256 (RFC 7519, RFC 7515, RFC
// 7518 section 3.2), and nothing else of that family. Claims: `sub` (the user, for counters), `tier`, `exp`; `nbf` if wanted.

import Cryptography
import FoundationEssentials

/// Users who bring a signature.
struct SignedUsers: UserSource {
    /// How far clocks may differ, in seconds (field case F54).
    static let clockTolerance = 30.0

    private struct Header: Decodable {
        var alg: String
        /// Extensions that must be understood: there are none that we do.
        var crit: [String]?
    }

    private struct Claims: Decodable {
        var sub: String
        var tier: String
        var exp: Double
        var nbf: Double?
    }

    private let key: HMACSHA256
    private let secret: AccountSecret
    private let tiers: Set<String>
    private let now: @Sendable () -> Int64

    /// - Parameters:
    ///   - key: what tokens are signed with.
    ///   - tiers: those that there are; a token for another one is nobody's.
    init(
        key: [UInt8], secret: AccountSecret, tiers: Set<String>, now: @escaping @Sendable () -> Int64
    ) throws(CryptographyError) {
        self.key = try HMACSHA256(key: key)
        self.secret = secret
        self.tiers = tiers
        self.now = now
    }

    /// Looks at the credential as it came, and at what it is the base64 of: a phone sends that if the app gave it bytes.
    func find(_ credential: UserCredential) -> UserFinding {
        let direct = find(credential.text)
        guard direct == .unknown, let bytes = Data(base64Encoded: credential.text) else { return direct }
        return find(String(decoding: bytes, as: UTF8.self))
    }

    private func find(_ text: String) -> UserFinding {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Self.decode(Header.self, parts[0]), header.alg == "HS256", header.crit == nil,
            let signature = Self.bytes(parts[2])
        else { return .unknown }
        do {
            let expected = try key.code(for: Array("\(parts[0]).\(parts[1])".utf8))
            guard constantTimeEqual(expected, signature) else { return .unknown }
            guard let claims = Self.decode(Claims.self, parts[1]), (1...256).contains(claims.sub.utf8.count),
                tiers.contains(claims.tier), claims.exp.isFinite
            else { return .unknown }
            let now = Double(now())
            if now >= claims.exp + Self.clockTolerance { return .expired }
            if let begin = claims.nbf, now < begin - Self.clockTolerance { return .unknown }
            return .user(UserAccount(tier: claims.tier, mark: try secret.userMark("signed " + claims.sub)))
        } catch {
            return .unavailable
        }
    }

    private static func decode<Value: Decodable>(_ type: Value.Type, _ part: Substring) -> Value? {
        bytes(part).flatMap { try? JSONDecoder().decode(type, from: Data($0)) }
    }

    /// Base64url without padding (RFC 7515 section 2).
    private static func bytes(_ part: Substring) -> [UInt8]? {
        guard (1...4096).contains(part.utf8.count), !part.utf8.contains(where: { "+/=".utf8.contains($0) }) else { return nil }
        var text = String(part.map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 })
        text += String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
        return Data(base64Encoded: text).map { [UInt8]($0) }
    }

    /// A signed user token, as the operator's back end makes it; for `veilring users mint --signed`.
    static func make(
        key: [UInt8], subject: String, tier: String, expires: Int64
    ) throws(CryptographyError) -> String {
        func part(_ text: String) -> String { encoded(Array(text.utf8)) }
        let head = part("{\"alg\":\"HS256\",\"typ\":\"JWT\"}")
        let body = part(
            JSONLine.object([("sub", .text(subject)), ("tier", .text(tier)), ("exp", .integer(Int(expires)))]))
        let signature = try HMACSHA256(key: key).code(for: Array("\(head).\(body)".utf8))
        return "\(head).\(body).\(encoded(signature))"
    }

    private static func encoded(_ bytes: [UInt8]) -> String {
        String(
            Data(bytes).base64EncodedString().filter { $0 != "=" }.map { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 })
    }
}
