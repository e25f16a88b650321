// What a gateway gets from a relay: whole and chunked requests, lists of key configurations, and messages that a relay has
// damaged.

import Cryptography
import ObliviousHTTP

enum EncapsulatedRequestInput {
    /// Steering: byte 0 says what the message is (modulo 4); the others are the lengths of the pieces in which a chunked one
    /// arrives, or say where a message is damaged.
    static func judge(_ input: SteeredInput) -> InputVerdict {
        var verdict = InputVerdict()
        guard let keys else { return InputVerdict(violations: ["there are no keys"]) }
        switch input.steer(0) % 4 {
        case 0: whole(input, keys, &verdict)
        case 1: chunked(input, keys, &verdict)
        case 2: list(input, &verdict)
        default: damaged(input, keys, &verdict)
        }
        return verdict
    }

    private static func whole(_ input: SteeredInput, _ keys: GatewayKeySet, _ verdict: inout InputVerdict) {
        do throws(EncapsulationError) {
            let opened = try keys.open(Array(input.message))
            verdict.outcomes.insert("whole: opened")
            verdict.require(opened.keyID == input.message.first, "another key than the one named")
            verdict.require(opened.plaintext.count == input.message.count - GatewayKeySet.shortestRequest, "bytes were lost")
            let answer = try? opened.responseSealer.seal(opened.plaintext)
            verdict.require(
                answer?.count == opened.plaintext.count + opened.responseSealer.overhead, "an answer was not sealed")
        } catch {
            verdict.outcomes.insert("whole: \(error.rawCase)")
            verdict.require(error != .tooLarge && error != .truncated, "an error of the chunked form")
            verdict.require(
                (error == .malformed) == (input.message.count < GatewayKeySet.shortestRequest), "only short ones are malformed")
        }
    }

    private static func chunked(_ input: SteeredInput, _ keys: GatewayKeySet, _ verdict: inout InputVerdict) {
        let all = ChunkedReading([input.message], keys)
        verdict.outcomes.insert("chunked: \(all.error?.rawCase ?? "opened")")
        for (name, pieces) in [("pieces", input.pieces(from: 1)), ("bytes", input.single), ("moved", [input.moved])] {
            let cut = ChunkedReading(pieces, keys)
            verdict.require(cut.error == all.error && cut.isComplete == all.isComplete, "another verdict in \(name)")
            verdict.require(
                cut.plaintext.starts(with: all.plaintext) || all.plaintext.starts(with: cut.plaintext),
                "another plaintext in \(name)")
            verdict.require(!all.isComplete || cut.plaintext == all.plaintext, "another message in \(name)")
        }
        verdict.require(all.plaintext.count <= ChunkedReading.limits.total, "more than the limit was opened")
        verdict.require(all.plaintext.count <= input.message.count, "more came out than went in")
    }

    private static func list(_ input: SteeredInput, _ verdict: inout InputVerdict) {
        let bytes = Array(input.message)
        do throws(KeyConfigurationError) {
            let entries = try KeyConfiguration.entries(bytes)
            let known = entries.compactMap(\.known)
            verdict.outcomes.insert("list: read")
            if known.count < entries.count { verdict.outcomes.insert("list: skipped") }
            verdict.require((try? KeyConfiguration.decodeList(bytes)) == known, "two readers differ")
            let encoded = KeyConfiguration.encodeList(known)
            verdict.require(
                (try? KeyConfiguration.decodeList(encoded)) == known, "a list is another when it is written and read")
            verdict.require(known.count < entries.count || encoded == bytes, "a list is written in other bytes")
            verdict.require(
                known.allSatisfy { $0.publicKey.count == 32 && !$0.algorithms.isEmpty }, "a configuration has no key")
        } catch {
            verdict.outcomes.insert("list: refused")
            verdict.require("\(error)".utf8.count < 120, "an error repeats the list")
        }
    }

    /// Seals the message, and changes or cuts the body somewhere: nothing of that may pass for a complete message.
    private static func damaged(_ input: SteeredInput, _ keys: GatewayKeySet, _ verdict: inout InputVerdict) {
        guard let configuration = keys[0x2A]?.configuration,
            var sealer = try? configuration.encapsulateChunked(aead: .aes128GCM)
        else {
            verdict.violations.append("nothing can be sealed")
            return
        }
        let middle = input.message.startIndex + input.message.count * input.steer(4) / 256
        let first = input.message[..<middle]
        guard var body = try? sealer.seal(first, isFinal: false) + sealer.seal(input.message[middle...], isFinal: true) else {
            verdict.violations.append("a message cannot be sealed")
            return
        }
        let place = (input.steer(1) << 8 | input.steer(2)) % body.count
        let change = UInt8(input.steer(3))
        if change == 0xFF { body.removeSubrange(place...) } else { body[place] ^= change }
        let reading = ChunkedReading([body[...]], keys, limits: ChunkLimits())
        if change == 0 {
            verdict.outcomes.insert("damage: none")
            verdict.require(
                reading.isComplete && reading.plaintext.elementsEqual(input.message), "a sealed message does not open")
        } else {
            verdict.outcomes.insert("damage: noticed")
            verdict.require(!reading.isComplete, "a damaged message passes for complete")
            verdict.require(input.message.starts(with: reading.plaintext), "what was not sent was opened")
        }
    }

    /// Two keys that are always the same; the second one accepts one AEAD only.
    static let keys: GatewayKeySet? = {
        func key(_ id: UInt8, _ byte: UInt8, _ aeads: [HPKEAEAD]) -> GatewayKey? {
            let bytes = SecretBytes(copying: [UInt8](repeating: byte, count: 32))
            return (try? X25519PrivateKey(rawBytes: bytes)).flatMap { try? GatewayKey(id: id, privateKey: $0, aeads: aeads) }
        }
        guard let first = key(0x2A, 0x11, HPKEAEAD.allCases), let second = key(0x07, 0x22, [.aes256GCM]) else { return nil }
        return try? GatewayKeySet([first, second])
    }()

    /// Requests in both forms and with every AEAD, lists, and messages to be damaged.
    static let examples: [[UInt8]] = {
        guard let keys else { return [] }
        let configurations = [0x2A, 0x07].compactMap { keys[$0]?.configuration }
        var examples: [[UInt8]] = []
        for configuration in configurations {
            for aead in configuration.algorithms.compactMap(\.known) {
                if let sealed = try? configuration.encapsulate([0, 3], aead: aead) { examples.append([1, 0] + sealed.bytes) }
                for chunks in [[[], [1, 2, 3]], [[1], [2, 3], []], [[UInt8](repeating: 1, count: 150), []]] as [[[UInt8]]] {
                    guard var sealer = try? configuration.encapsulateChunked(aead: aead) else { continue }
                    var body: [UInt8] = []
                    for (i, chunk) in chunks.enumerated() {
                        body += (try? sealer.seal(chunk[...], isFinal: i == chunks.count - 1)) ?? []
                    }
                    examples += [[3, 1, 20, 3] + body, [1, 1] + body.dropLast(20)]
                }
            }
        }
        examples.append([1, 2] + KeyConfiguration.encodeList(configurations))
        examples.append([1, 2, 0, 5, 9, 0, 0x30, 1, 2] + KeyConfiguration.encodeList(configurations))
        examples += [[5, 3, 0, 50, 0, 0, 1, 2], [5, 3, 0, 50, 1, 128, 1, 2], [5, 3, 0, 60, 0xFF, 128, 1, 2]]
        return examples
    }()
}

extension EncapsulationError {
    /// The name of the case.
    var rawCase: String { Self.names[self] ?? "unknown" }

    private static let names: [EncapsulationError: String] = [
        .malformed: "malformed", .unknownKey: "unknownKey", .unsupportedSuite: "unsupportedSuite", .cannotOpen: "cannotOpen",
        .tooLarge: "tooLarge", .truncated: "truncated",
    ]
}

/// What the opener of chunked requests said about one body.
struct ChunkedReading {
    var plaintext: [UInt8] = []
    var isComplete = false
    var error: EncapsulationError?

    /// Limits that short inputs reach.
    static let limits: ChunkLimits = {
        var limits = ChunkLimits()
        limits.chunk = 100
        limits.total = 150
        return limits
    }()

    init(_ pieces: [ArraySlice<UInt8>], _ keys: GatewayKeySet, limits: ChunkLimits = Self.limits) {
        var opener = ChunkedRequestOpener(keys: keys, limits: limits)
        do throws(EncapsulationError) {
            for piece in pieces { plaintext += try opener.append(piece) }
            plaintext += try opener.finish()
            isComplete = true
        } catch {
            self.error = error
        }
    }
}
