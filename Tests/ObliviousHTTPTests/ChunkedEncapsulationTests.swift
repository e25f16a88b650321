// The chunked form: any cut of the body, no message without its end, limits.

import Cryptography
import Testing

@testable import ObliviousHTTP

@Suite struct ChunkedEncapsulationTests {
    let key: GatewayKey
    let keys: GatewayKeySet

    init() throws {
        key = try GatewayKey(id: 200, privateKey: .generate())
        keys = try GatewayKeySet([key])
    }

    /// A body of these chunks, with the answer's opener.
    func sealed(_ chunks: [[UInt8]], aead: HPKEAEAD = .aes128GCM) throws -> ([UInt8], ChunkedResponseOpener) {
        var sealer = try key.configuration.encapsulateChunked(aead: aead)
        var body: [UInt8] = []
        for (i, chunk) in chunks.enumerated() { body += try sealer.seal(chunk[...], isFinal: i == chunks.count - 1) }
        return (body, sealer.responseOpener())
    }

    func open(_ body: [UInt8], pieces: Int = .max, limits: ChunkLimits = ChunkLimits()) throws -> [UInt8] {
        var opener = ChunkedRequestOpener(keys: keys, limits: limits)
        var plaintext: [UInt8] = []
        var rest = body[...]
        while !rest.isEmpty {
            plaintext += try opener.append(rest.prefix(pieces))
            rest = rest.dropFirst(pieces)
        }
        return plaintext + (try opener.finish())
    }

    @Test(arguments: HPKEAEAD.allCases) func anyCutGivesTheSame(aead: HPKEAEAD) throws {
        let message = EncapsulationTests.message(50_000)
        let (body, opener) = try sealed(
            [Array(message[..<10]), Array(message[10..<40_000]), Array(message[40_000...])], aead: aead)
        for pieces in [1, 2, 7, 38, 39, 40, 1000, 16_402, .max] { #expect(try open(body, pieces: pieces) == message) }

        var requestOpener = ChunkedRequestOpener(keys: keys)
        _ = try requestOpener.append(body[...])
        var sealer = try requestOpener.responseSealer()
        var answer = try sealer.seal([], isFinal: false)
        #expect(answer.count == aead.responseNonceLength)
        answer += try sealer.seal(message[..<1], isFinal: false)
        answer += try sealer.seal([], isFinal: false)
        answer += try sealer.seal(message[1...], isFinal: true)
        #expect(throws: CryptographyError.self) { try self.sealAgain(&sealer) }
        for pieces in [1, 3, 100_000] {
            var opener = opener
            var plaintext: [UInt8] = []
            var rest = answer[...]
            while !rest.isEmpty {
                plaintext += try opener.append(rest.prefix(pieces))
                rest = rest.dropFirst(pieces)
            }
            plaintext += try opener.finish()
            #expect(plaintext == message)
        }
    }

    private func sealAgain(_ sealer: inout ChunkedResponseSealer) throws { _ = try sealer.seal([1], isFinal: true) }

    @Test func chunksHaveAtMost16KiB() throws {
        for count in [16_384, 16_385, 40_000] {
            let (body, _) = try sealed([EncapsulationTests.message(count)])
            let chunks = (count - 1) / 16_384
            #expect(body.count == 39 + count + 16 * (chunks + 1) + 4 * chunks + 1)
            var limits = ChunkLimits()
            limits.chunk = 16_384
            #expect(try open(body, limits: limits).count == count)
        }
    }

    @Test func everyCutIsNoticedAtTheEnd() throws {
        let (body, _) = try sealed([[1, 2, 3], [4, 5], [6]])
        for cut in 0..<body.count {
            var opener = ChunkedRequestOpener(keys: keys)
            let begun = try opener.append(body[..<cut])
            #expect([1, 2, 3, 4, 5].starts(with: begun), "what came is genuine")
            let end = body.count - 17
            let expected: EncapsulationError = cut < 39 ? .malformed : cut < end + 16 ? .truncated : .cannotOpen
            #expect(throws: expected, "\(cut) bytes") { try opener.finish() }
            #expect(throws: expected, "it stays failed") { try opener.finish() }
            #expect(throws: expected, "it stays failed") { try opener.append([1]) }
        }
        #expect(throws: EncapsulationError.cannotOpen) { try self.open(body + [0]) }
        #expect(try open(body) == [1, 2, 3, 4, 5, 6])
    }

    @Test func chunksKeepTheirPlaces() throws {
        let (body, _) = try sealed([[1], [2], [3], []])
        let start = 39
        let chunks = (0..<3).map { Array(body[(start + 18 * $0)..<(start + 18 * $0 + 18)]) }
        let (beginning, end) = (Array(body[..<start]), Array(body[(start + 54)...]))
        #expect(try open(beginning + chunks.flatMap { $0 } + end) == [1, 2, 3])
        for order in [[1, 0, 2], [0, 0, 1, 2], [0, 2], [0, 1], [], [2, 1, 0]] {
            #expect(throws: EncapsulationError.cannotOpen, "\(order)") {
                try self.open(beginning + order.flatMap { chunks[$0] } + end)
            }
        }
        // A chunk from the middle is not a final one, and a final one none from the middle.
        #expect(throws: EncapsulationError.cannotOpen) { try self.open(beginning + [0] + chunks[0].dropFirst()) }
        #expect(throws: EncapsulationError.malformed) {
            try self.open(beginning + chunks.flatMap { $0 } + [16] + end.dropFirst())
        }
    }

    @Test func formsAreNotMixed() throws {
        let (body, _) = try sealed([[1]])
        #expect(throws: EncapsulationError.cannotOpen) { try self.keys.open(body) }
        let whole = try key.configuration.encapsulate([1]).bytes
        #expect(throws: EncapsulationError.cannotOpen) { try self.open(whole[..<39] + [0] + whole[39...]) }
    }

    @Test func headersAreJudgedAsInTheWholeForm() throws {
        let (body, _) = try sealed([[1]])
        for (place, value, expected) in [
            (0, 1, .unknownKey), (2, 0x21, .unsupportedSuite), (4, 2, .unsupportedSuite), (6, 4, .unsupportedSuite),
            (6, 2, .cannotOpen), (20, body[20] ^ 1, .cannotOpen),
        ] as [(Int, UInt8, EncapsulationError)] {
            var bad = body
            bad[place] = value
            #expect(throws: expected) { try self.open(bad) }
        }
        var low = body
        low.replaceSubrange(7..<39, with: [UInt8](repeating: 0, count: 32))
        #expect(throws: EncapsulationError.cannotOpen) { try self.open(low) }
        var opener = ChunkedRequestOpener(keys: keys)
        #expect(throws: EncapsulationError.malformed) { _ = try opener.responseSealer().self }
        #expect(throws: EncapsulationError.cannotOpen) {
            _ = try opener.append(low[...]); _ = try opener.finish()
        }
        #expect(throws: EncapsulationError.cannotOpen) { _ = try opener.responseSealer().self }
    }

    @Test func limitsHold() throws {
        var limits = ChunkLimits()
        limits.chunk = 100
        limits.total = 250
        let chunk = [UInt8](repeating: 1, count: 100)
        #expect(try open(sealed([chunk, chunk, Array(chunk[..<50])]).0, limits: limits).count == 250)
        #expect(throws: EncapsulationError.tooLarge) {
            try self.open(self.sealed([chunk, chunk, Array(chunk[..<51])]).0, limits: limits)
        }
        #expect(throws: EncapsulationError.tooLarge) { try self.open(self.sealed([chunk + [1], []]).0, limits: limits) }
        #expect(throws: EncapsulationError.tooLarge) { try self.open(self.sealed([chunk + [1]]).0, limits: limits) }
        // Lengths that nobody could send.
        let beginning = try sealed([[]]).0[..<39]
        for length in [[0xFF] + [UInt8](repeating: 0xFF, count: 7), [0xBF, 0xFF, 0xFF, 0xFF], [0x40, 117]] as [[UInt8]] {
            var opener = ChunkedRequestOpener(keys: keys, limits: limits)
            #expect(throws: EncapsulationError.tooLarge) { try opener.append(beginning + length) }
        }
        for length in 1...16 as ClosedRange<UInt8> {
            var opener = ChunkedRequestOpener(keys: keys, limits: limits)
            #expect(throws: EncapsulationError.malformed) { try opener.append(beginning + [length]) }
        }
    }

    @Test func largestUpload() throws {
        let message = [UInt8](repeating: 0x5A, count: 11_900 * 1024)
        let (body, _) = try sealed([message])
        #expect(try open(body, pieces: 65_536) == message)
    }

    @Test func anAnswerWithoutItsEndIsNone() throws {
        let (body, answerOpener) = try sealed([[1]])
        var requestOpener = ChunkedRequestOpener(keys: keys)
        _ = try requestOpener.append(body[...])
        _ = try requestOpener.finish()
        #expect(throws: EncapsulationError.malformed) { try requestOpener.append([0]) }
        var sealer = try requestOpener.responseSealer()
        let answer = try sealer.seal([7, 8], isFinal: false) + sealer.seal([9], isFinal: true)
        for cut in 0..<answer.count {
            var opener = answerOpener
            #expect([7, 8].starts(with: try opener.append(answer[..<cut])))
            #expect(throws: EncapsulationError.self) { try opener.finish() }
        }
    }
}
