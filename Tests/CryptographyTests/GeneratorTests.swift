// The generator behind ciphertext seeds against the reference's streams (bfv.md 4.1, 4.2, A.2), and its 128-bit counter.

import Foundation
import TestVectors
import Testing

@testable import Cryptography

private struct StreamVectors: Decodable {
    struct Vector: Decodable {
        struct Request: Decodable {
            let count: Int
            let bytes: String?
            let sha256: String?
        }
        let name: String
        let seed: String
        let drbgFirst256: String
        let drbgRequests: [Request]
        let bufferedFirst256: String
        let bufferedBytes4090to4110: String
        let bufferedBytes8206to8222: String
        let bufferedFirst20000Sha256: String
    }
    let vectors: [Vector]
}

func hex(_ bytes: some Sequence<UInt8>) -> String { bytes.map { String(format: "%02x", $0) }.joined() }

func bytes(hex text: String) -> [UInt8] {
    stride(from: 0, to: text.utf8.count, by: 2).compactMap { i in
        UInt8(text.dropFirst(i).prefix(2), radix: 16)
    }
}

extension SeedStream {
    /// A generator in a given state.
    fileprivate init(key: [UInt8], counter: [UInt8]) throws {
        try self.init(seed: [UInt8](repeating: 0, count: 32))
        self.key = key
        self.counter = counter
    }

    fileprivate mutating func keystream(_ count: Int) throws -> [UInt8] {
        var out: [UInt8] = []
        while out.count < count {
            var piece = [UInt8](repeating: 0, count: min(count - out.count, Self.requestBytes))
            try keystream(&piece, piece.count)
            out += piece
        }
        return out
    }

    /// One generate call of the standard, of any size.
    fileprivate mutating func generate(_ count: Int) throws -> [UInt8] {
        let out = try keystream(count)
        try update([UInt8](repeating: 0, count: 32))
        return out
    }
}

@Suite struct GeneratorTests {
    @Test(.enabled(if: VectorFiles.find("rng/drbg.json") != nil, "rng/drbg.json is not here"))
    func streamsEqualTheVectors() throws {
        let vectors: StreamVectors = try VectorFiles.json("rng/drbg.json")
        #expect(!vectors.vectors.isEmpty)
        for vector in vectors.vectors {
            let seed = bytes(hex: vector.seed)
            var stream = try SeedStream(seed: seed)
            let whole = try stream.next(20000)
            #expect(hex(whole.prefix(256)) == vector.bufferedFirst256, "\(vector.name)")
            #expect(hex(whole[4090..<4110]) == vector.bufferedBytes4090to4110, "\(vector.name)")
            #expect(hex(whole[8206..<8222]) == vector.bufferedBytes8206to8222, "\(vector.name)")
            #expect(hex(SHA256.hash(whole)) == vector.bufferedFirst20000Sha256, "\(vector.name)")

            var pieces = try SeedStream(seed: seed)
            var joined: [UInt8] = []
            for size in [1, 15, 16, 17, 0, 4047, 4096, 4097, 7711] { joined += try pieces.next(size) }
            #expect(joined == Array(whole.prefix(joined.count)), "\(vector.name)")
            #expect(joined.count == 20000, "the pieces are the whole stream")

            var requests = try SeedStream(seed: seed)
            var fromRequests: [UInt8] = []
            for _ in 0..<4 { try requests.nextRequest { fromRequests += Array($0) } }
            #expect(fromRequests == Array(whole.prefix(4 * SeedStream.requestBytes)), "\(vector.name)")

            var generator = try SeedStream(seed: seed)
            #expect(hex(try generator.generate(256)) == vector.drbgFirst256, "\(vector.name)")
            var successive = try SeedStream(seed: seed)
            for request in vector.drbgRequests {
                let out = try successive.generate(request.count)
                #expect(request.bytes != nil || request.sha256 != nil)
                if let bytes = request.bytes { #expect(hex(out) == bytes, "\(vector.name), \(request.count)") }
                if let digest = request.sha256 { #expect(hex(SHA256.hash(out)) == digest, "\(vector.name)") }
            }
        }
    }

    @Test func streamOfTheCountingSeed() throws {
        var stream = try SeedStream(seed: Array(0..<32))
        let whole = try stream.next(12288)
        #expect(hex(whole.prefix(32)) == "1686ffcf9f358be74452e647ba156aab05135797117fd1ab317d318c660e3d18")
        #expect(hex(whole[4096..<4112]) == "987f4acb39cb603bc2d749c36453f124")
        #expect(hex(SHA256.hash(whole.prefix(4096))) == "f8d551ef68d0b94fafd770436a50a25e66933e83c321d7040f5d3f6471258606")
        #expect(hex(SHA256.hash(whole)) == "0255d624ff7a85608121be2e3b7243fcbc051244fcbdcdcc2c6e13a8f2649fb2")
    }

    @Test func refusesSeedsOfOtherLengths() {
        for length in [0, 16, 31, 33, 64] {
            #expect(throws: CryptographyError.badLength(expected: 32, got: length)) {
                let _ = try SeedStream(seed: [UInt8](repeating: 0, count: length))
            }
        }
    }

    /// Blocks are encryptions of successive counters, also where the counter carries: across 2^32, 2^64 and around 2^128.
    /// Each keystream from a counter near the edge is compared with single blocks whose counters were worked out here.
    @Test(arguments: [28, 60, 92, 124]) func counterCarries(bit: Int) throws {
        let key = [UInt8](0..<16)
        let edge = bit == 124 ? UInt128(0) : UInt128(1) << UInt128(bit + 4)
        for before in [1, 2, 5, 255, 256, 257, 300] as [UInt128] {
            let start = edge &- before
            var stream = try SeedStream(key: key, counter: bigEndian(start))
            let run = try stream.keystream(16 * 520)
            #expect(stream.counter == bigEndian(start &+ 520), "\(before) before 2^\(bit + 4)")
            for block in [0, 1, Int(before) - 1, Int(before), Int(before) + 1, 519] where block < 520 && block >= 0 {
                var single = try SeedStream(key: key, counter: bigEndian(start &+ UInt128(block)))
                let expected = try single.keystream(16)
                #expect(Array(run[(16 * block)..<(16 * block + 16)]) == expected, "block \(block), 2^\(bit + 4) − \(before)")
            }
        }
    }

    /// AES-128 itself: FIPS 197 appendix C.1, reached by the counter one below its plaintext.
    @Test func firstBlockIsTheEncryptionOfTheNextCounter() throws {
        let plaintext = bytes(hex: "00112233445566778899aabbccddeeff")
        var counter = plaintext
        counter[15] -= 1
        var stream = try SeedStream(key: [UInt8](0..<16), counter: counter)
        #expect(hex(try stream.keystream(16)) == "69c4e0d86a7b0430d8cdb78070b4c55a")
        #expect(stream.counter == plaintext)
    }

    private func bigEndian(_ x: UInt128) -> [UInt8] {
        (0..<16).map { UInt8(truncatingIfNeeded: x >> UInt128(120 - 8 * $0)) }
    }

    @Test func systemRandomnessIsAsLongAsAskedAndNotRepeated() throws {
        for count in [0, 1, 32, 5000] { #expect(try secureRandomBytes(count).count == count) }
        #expect(try secureRandomBytes(32) != secureRandomBytes(32))
    }
}
