// Hexadecimal text, and the vectors' files as they are written.

import Cryptography

@testable import ObliviousHTTP

func hex(_ bytes: some Sequence<UInt8>) -> String {
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
}

func bytes(hex text: String) -> [UInt8] {
    let digits = text.utf8.map { $0 < 0x3A ? $0 & 15 : ($0 & 15) + 9 }
    return stride(from: 0, to: digits.count - 1, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
}

/// A file with a list of vectors.
struct VectorList<Vector: Decodable & Sendable>: Decodable, Sendable {
    var vectors: [Vector]
}

/// A byte string in a vector file: hexadecimal.
struct HexBytes: Decodable, Sendable, Equatable {
    var bytes: [UInt8]

    init(from decoder: any Decoder) throws {
        bytes = ObliviousHTTPTests.bytes(hex: try decoder.singleValueContainer().decode(String.self))
    }

    var secret: SecretBytes { SecretBytes(copying: bytes) }
}

/// Numbers from a seed, so that a failure can be repeated (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    mutating func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8(truncatingIfNeeded: next()) } }
}
