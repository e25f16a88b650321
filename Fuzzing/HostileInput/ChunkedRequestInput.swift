// Chunked requests put together by somebody who has the gateway's public key and no good will: chunks in any order and framing,
// sealed as the draft says or otherwise (draft-ietf-ohai-chunked-ohttp-08; service.md 3.10). What must come of each is foretold.

import Cryptography
import ObliviousHTTP

enum ChunkedRequestInput {
    /// Steering: byte 0 chooses the AEAD and the limits, byte 1 how many bytes are missing at the end; the others are the lengths
    /// of the pieces in which the body arrives. The message is a script of chunks.
    static func judge(_ input: SteeredInput) -> InputVerdict {
        var verdict = InputVerdict()
        let aead = HPKEAEAD.allCases[input.steer(0) % 3]
        let limits = input.steer(0) < 0x80 ? ChunkLimits() : ChunkedReading.limits
        guard let keys = EncapsulatedRequestInput.keys, let key = keys[0x2A]?.configuration,
            var script = try? ChunkScript(for: key, aead, limits)
        else { return InputVerdict(violations: ["nothing can be sealed"]) }
        script.run(input.message)
        script.cut(input.steer(1))
        let expected = script.expected()
        verdict.outcomes = script.outcomes.union([expected.map { "error \($0.rawCase)" } ?? "opened"])
        let body = SteeredInput(steering: input.steering, message: script.body[...])
        let middle = script.body.count / 2
        var cuts = [("whole", [body.message]), ("halves", [body.message[..<middle], body.message[middle...]])]
        // Large ones are there for their size.
        if script.body.count < 1 << 14 { cuts += [("pieces", body.pieces(from: 2)), ("moved", [body.moved])] }
        if script.body.count < 600 { cuts.append(("bytes", body.single)) }
        for (name, pieces) in cuts {
            let reading = ChunkedReading(pieces, keys, limits: limits)
            let came = reading.error?.rawCase ?? "opened"
            verdict.require(reading.error == expected, "\(expected?.rawCase ?? "opened") became \(came) in \(name)")
            verdict.require(reading.isComplete == (expected == nil), "a wrong end in \(name)")
            verdict.require(script.genuine.starts(with: reading.plaintext), "what was not sent was opened in \(name)")
            verdict.require(
                !reading.isComplete || reading.plaintext.count == script.genuine.count, "bytes were lost in \(name)")
        }
        return verdict
    }

    /// Scripts of every step, alone and one after the other.
    static let examples: [[UInt8]] = {
        let good: [UInt8] = [0, 3, 1, 2, 3, 1, 2, 4, 5]
        var examples: [[UInt8]] = [
            [0], [0, 3, 0], [0, 3, 2, 7, 7], [0] + good, [0] + good + [3, 0], [0] + good + [3, 1, 9],
        ]
        for step in 0...8 as ClosedRange<UInt8> {
            examples += [[0, step, 2, 1, 2] + good + [3, 0], [0] + good + [step, 2, 1, 2, 3, 0]]
            examples.append([3, 0x80 + step % 3, 0, 9] + good + [step, 120] + [UInt8](repeating: 5, count: 120) + [3, 0])
        }
        for missing in [1, 15, 16, 17, 18, 40] as [UInt8] { examples.append([2, missing % 3, missing] + good + [3, 0]) }
        return examples + [[0, 7, 200, 3, 0], [0, 7, 128, 7, 128, 3, 0], [2, 0x81, 0, 0, 50, 0, 60]]
    }()
}

/// A body that grows step by step, and what its reader must say about it.
private struct ChunkScript: ~Copyable {
    private(set) var body: [UInt8]
    /// What was sealed as it should be, before the first flaw.
    private(set) var genuine: [UInt8] = []
    private(set) var outcomes: Set<String> = []
    private let limits: ChunkLimits
    private var sender: HPKESender
    private var total = 0
    private var flaw: EncapsulationError?
    /// Whether the reader counts as many chunks as the sender.
    private var isInStep = true
    /// The last chunk with its length, to be repeated.
    private var last: [UInt8] = []
    /// Where the final chunk begins, its plaintext, and where it ends if it is sealed as one.
    private var final: (start: Int, plaintext: [UInt8], end: Int?)?

    private static let finalMark = Array("final".utf8)

    init(for key: KeyConfiguration, _ aead: HPKEAEAD, _ limits: ChunkLimits) throws {
        let header: [UInt8] = [key.id, 0, 0x20, 0, 1, 0, UInt8(aead.rawValue)]
        let info = Array("message/bhttp chunked request".utf8) + [0] + header
        sender = try HPKESender(to: key.publicKey, aead: aead, info: info)
        body = header + sender.encapsulatedKey
        self.limits = limits
    }

    /// Each step is a byte for its kind, one for a count, and so many bytes.
    mutating func run(_ script: ArraySlice<UInt8>) {
        var rest = script
        while let kind = rest.popFirst(), body.count < 1 << 17 {
            let count = Int(rest.popFirst() ?? 0)
            let many = limits.chunk > 1000 ? 512 : 1
            let plaintext = kind % 9 == 7 ? [UInt8](repeating: 0, count: count * many) : Array(rest.prefix(count))
            if kind % 9 != 7 { rest = rest.dropFirst(count) }
            switch kind % 9 {
            case 0, 7: chunk(plaintext)
            case 1: chunk(plaintext, lengthBytes: 8)
            case 2: chunk(plaintext, lengthBytes: 4)
            case 3: end(plaintext)
            case 4: end(plaintext, lengthBytes: 2)
            case 5: chunk(plaintext, marking: Self.finalMark)
            case 6: end(plaintext, marking: [])
            case 8 where last.isEmpty || count % 2 == 0: skip()
            default: again()
            }
        }
    }

    private mutating func seal(_ plaintext: [UInt8], _ mark: [UInt8]) -> [UInt8] {
        (try? sender.seal(plaintext[...], authenticating: mark)) ?? []
    }

    private mutating func chunk(_ plaintext: [UInt8], lengthBytes: Int = 1, marking mark: [UInt8] = []) {
        let sealed = seal(plaintext, mark)
        last = Self.number(sealed.count, lengthBytes) + sealed
        outcomes.insert(lengthBytes > 1 ? "long length" : mark.isEmpty ? "chunk" : "chunk that says it is final")
        add(plaintext, isGenuine: isInStep && mark.isEmpty)
    }

    /// Puts `last` behind the body.
    private mutating func add(_ plaintext: [UInt8], isGenuine: Bool) {
        body += last
        guard flaw == nil, final == nil else { return }
        if plaintext.isEmpty {
            flaw = .malformed
        } else if plaintext.count > limits.chunk || total + plaintext.count > limits.total {
            flaw = .tooLarge
        } else if !isGenuine {
            flaw = .cannotOpen
        } else {
            genuine += plaintext
            total += plaintext.count
        }
    }

    private mutating func end(_ plaintext: [UInt8], lengthBytes: Int = 1, marking mark: [UInt8] = ChunkScript.finalMark) {
        let sealed = seal(plaintext, mark)
        body += Self.number(0, lengthBytes)
        let start = body.count
        body += sealed
        outcomes.insert(mark.isEmpty ? "end that does not say it is final" : "end")
        guard flaw == nil, final == nil else { return }
        final = (start, plaintext, isInStep && !mark.isEmpty ? body.count : nil)
    }

    /// A chunk that gets lost.
    private mutating func skip() {
        _ = seal([1], [])
        isInStep = false
        outcomes.insert("lost chunk")
    }

    /// The last chunk once more.
    private mutating func again() {
        outcomes.insert("repeated chunk")
        // Its length is readable, whatever the reader thinks of the rest.
        let length = last.count - 16 - (1 << Int(last[0] >> 6))
        add([UInt8](repeating: 0, count: max(0, length)), isGenuine: false)
    }

    /// Takes bytes away at the end. What the reader can still see is found out anew from the lengths.
    mutating func cut(_ count: Int) {
        guard count > 0, flaw == nil, count < body.count else { return }
        body.removeLast(count)
        outcomes.insert("cut")
        if let final, body.count >= final.start { return }
        final = nil
        flaw = body.count < 39 ? .malformed : .truncated
    }

    /// What the reader must say; nil if the message is complete.
    mutating func expected() -> EncapsulationError? {
        if let flaw { return flaw }
        guard let final else { return .truncated }
        let length = body.count - final.start
        if length > limits.chunk + 16 { return .tooLarge }
        if length < 16 { return .truncated }
        if total + length - 16 > limits.total { return .tooLarge }
        guard final.end == body.count else { return .cannotOpen }
        genuine += final.plaintext
        return nil
    }

    /// A variable-length integer in at least so many bytes.
    private static func number(_ value: Int, _ least: Int) -> [UInt8] {
        let power = max(value < 1 << 6 ? 0 : value < 1 << 14 ? 1 : 2, least == 8 ? 3 : least == 4 ? 2 : least == 2 ? 1 : 0)
        let bytes = (0..<(1 << power)).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
        return [bytes[0] | UInt8(power) << 6] + bytes.dropFirst()
    }
}
