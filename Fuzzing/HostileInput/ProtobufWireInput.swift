// Bytes that should be a proto3 message: what is read can be written and read again, halves add up to the whole, limits hold,
// and neither the place of the bytes in an array nor the way of reading changes the verdict.

import Protobuf

enum ProtobufWireInput {
    /// Steering: byte 0 the limits (bit 0), byte 1 where the message is halved, the others how a walk reads its fields.
    static func judge(_ input: SteeredInput) -> InputVerdict {
        var verdict = InputVerdict()
        let limits = input.steer(0) & 1 == 0 ? ProtobufLimits() : ProtobufLimits(depth: 3, elements: 5)
        do throws(ProtobufError) {
            let message = try EveryField(decoding: input.message, limits: limits)
            verdict.outcomes.insert(message == EveryField() ? "nothing" : "message")
            check(message, of: input, limits, &verdict)
        } catch {
            verdict.outcomes.insert("error \(error.name)")
            verdict.require((0...input.message.count).contains(error.offset), "an error outside the message")
            verdict.require(!error.description.isEmpty, "an error without words")
            var again: ProtobufError?
            do throws(ProtobufError) { _ = try EveryField(decoding: input.moved, limits: limits) } catch { again = error }
            verdict.require(again == error, "another verdict at another place")
        }
        walk(input, limits, &verdict)
        return verdict
    }

    private static func check(
        _ message: EveryField, of input: SteeredInput, _ limits: ProtobufLimits, _ verdict: inout InputVerdict
    ) {
        verdict.require(message.elements <= limits.elements, "more elements than the limit")
        verdict.require(message.depth <= limits.depth, "deeper than the limit")
        verdict.require((try? EveryField(decoding: input.moved, limits: limits)) == message, "another verdict at another place")
        let encoded = message.encoded()
        // An entry of a map is written with its value, whether it had one or not: one level more than was read.
        let again = try? EveryField(
            decoding: encoded, limits: ProtobufLimits(depth: limits.depth + 1, elements: limits.elements))
        verdict.require(again == message, "what was read is another message when it is written and read again")
        verdict.require(again?.encoded() == encoded, "writing is not stable")

        // Messages are concatenated by concatenating their bytes: so a cut between two fields must not matter.
        let half = boundary(input, atLeast: input.steer(1))
        do throws(ProtobufError) {
            var joined = try EveryField(decoding: input.message[..<half], limits: limits)
            var rest = ProtobufReader(input.message[half...], limits: limits)
            try joined.merge(from: &rest)
            verdict.require(joined == message, "two halves do not add up to the whole")
        } catch {
            verdict.violations.append("a half is refused where the whole is not")
        }
    }

    /// Where a field ends, at an offset or behind it.
    private static func boundary(_ input: SteeredInput, atLeast offset: Int) -> Int {
        var reader = ProtobufReader(input.message)
        while reader.offset < offset, (try? reader.nextField()) != nil, (try? reader.skip()) != nil {}
        return min(input.message.startIndex + reader.offset, input.message.endIndex)
    }

    /// Reads fields in ways that do not fit: every call goes forward or fails, and never beyond the end.
    private static func walk(_ input: SteeredInput, _ limits: ProtobufLimits, _ verdict: inout InputVerdict) {
        var reader = ProtobufReader(input.message, limits: limits)
        var before = 0
        var steps = 0
        do throws(ProtobufError) {
            while let field = try reader.nextField() {
                try read(&reader, as: input.steer(2 + steps % 5) ^ field)
                steps += 1
                verdict.require(reader.offset > before, "a field without bytes")
                before = reader.offset
            }
            if reader.offset != input.message.count { verdict.violations.append("the end came before the end") }
        } catch {
            verdict.require((0...input.message.count).contains(error.offset), "an error outside the message")
            verdict.require(!error.description.isEmpty, "an error without words")
        }
        verdict.require(reader.offset <= input.message.count, "read beyond the end")
    }

    private static func read(_ reader: inout ProtobufReader, as way: Int) throws(ProtobufError) {
        switch way % 13 {
        case 0: _ = try reader.uint64()
        case 1: _ = try reader.int64()
        case 2: _ = try reader.int32()
        case 3: _ = try reader.bool()
        case 4: _ = try reader.fixed32()
        case 5: _ = try reader.fixed64()
        case 6: _ = try reader.bytesValue()
        case 7: _ = try reader.string()
        case 8:
            var inner = try reader.subReader()
            while try inner.nextField() != nil { try inner.skip() }
        case 9:
            var list: [UInt32] = []
            try reader.append(to: &list)
        case 10:
            var message = Leaf()
            try reader.message(into: &message)
        case 11: try reader.skip()
        default: break
        }
    }
}

extension ProtobufError {
    /// The offset that the error names.
    var offset: Int {
        switch self {
        case .truncated(let offset, _), .varintTooLong(let offset, _), .lengthBeyondEnd(_, _, _, let offset),
            .wrongWireType(_, _, _, let offset), .invalidWireType(_, _, let offset), .group(_, let offset),
            .fieldNumberZero(let offset), .invalidUTF8(_, let offset), .nestingTooDeep(_, let offset),
            .tooManyElements(_, let offset):
            offset
        }
    }

    /// The case without its figures.
    var name: String {
        switch self {
        case .truncated: "truncated"
        case .varintTooLong: "varintTooLong"
        case .lengthBeyondEnd: "lengthBeyondEnd"
        case .wrongWireType: "wrongWireType"
        case .invalidWireType: "invalidWireType"
        case .group: "group"
        case .fieldNumberZero: "fieldNumberZero"
        case .invalidUTF8: "invalidUTF8"
        case .nestingTooDeep: "nestingTooDeep"
        case .tooManyElements: "tooManyElements"
        }
    }
}
