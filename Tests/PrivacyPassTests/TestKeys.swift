// The RFC's key and issuances, hexadecimal text, and random numbers that can be repeated.

import Foundation
import TestVectors
import Testing

@testable import Cryptography
@testable import PrivacyPass

func hex(_ bytes: some Sequence<UInt8>) -> String { bytes.map { String(format: "%02x", $0) }.joined() }

func bytes(hex text: String) -> [UInt8] {
    let digits = text.utf8.compactMap { Character(UnicodeScalar($0)).hexDigitValue.map(UInt8.init) }
    return stride(from: 0, to: digits.count - 1, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
}

/// One of the five issuances of RFC 9578 appendix B.2; all have the same key.
struct IssuanceVector: Decodable {
    struct Derived: Decodable {
        let tokenKeyId: String
    }

    let skS, pkS, tokenChallenge, nonce, blind, salt, tokenRequest, tokenResponse, token: String
    let derived: Derived

    static let all: [IssuanceVector] =
        (try? VectorFiles.json("privacypass/rfc9578-type2.json", keys: .convertFromSnakeCase)) ?? []
}

enum TestKeys {
    private static let result = Result {
        guard let pem = IssuanceVector.all.first?.skS else { throw PrivacyPassError.invalidTokenKey }
        return try TokenIssuerKey(RSAPrivateKey(pem: String(decoding: bytes(hex: pem), as: UTF8.self)))
    }

    /// The key of RFC 9578 appendix B.2.
    static var issuer: TokenIssuerKey { get throws { try result.get() } }

    private static let otherResult = Result { try TokenIssuerKey(RSAPrivateKey.generate()) }

    /// A key made for this run.
    static var other: TokenIssuerKey { get throws { try otherResult.get() } }

    /// A token of the key, as a phone would get it.
    static func token(of key: TokenIssuerKey, issuerName: String = "issuer.example") throws -> Token {
        let issuance = try TokenIssuance(key: key.publicKey, challenge: TokenChallenge(issuerName: issuerName))
        return try issuance.finish(key.sign(issuance.request))
    }
}

/// SplitMix64: a seed gives the same numbers again.
struct SeededNumbers: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    /// The bytes after a few random changes: bits, bytes, cuts, insertions, repetitions.
    mutating func mutated(_ bytes: [UInt8]) -> [UInt8] {
        var out = bytes
        for _ in 0..<Int.random(in: 1...4, using: &self) {
            let place = Int.random(in: 0...out.count, using: &self)
            switch Int.random(in: 0..<6, using: &self) {
            case 0 where place < out.count: out[place] ^= 1 << UInt8.random(in: 0..<8, using: &self)
            case 1 where place < out.count: out[place] = .random(in: 0...255, using: &self)
            case 2: out.removeLast(out.count - place)
            case 3: out.insert(.random(in: 0...255, using: &self), at: place)
            case 4 where place < out.count: out.remove(at: place)
            default: out.insert(contentsOf: out.prefix(Int.random(in: 0...8, using: &self)), at: place)
            }
        }
        return out
    }
}
