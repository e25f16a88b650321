// The wire format, reading: every kind of value, every kind of damage.

import Testing

@testable import Protobuf

/// A message with one field of each kind, for the tests of this target.
struct Sample: TextMessage {
    var number: UInt64 = 0
    var small: UInt32 = 0
    var flag = false
    var text = ""
    var data: ArraySlice<UInt8> = []
    var numbers: [UInt64] = []
    var smalls: [UInt32] = []
    var choice = Choice(rawValue: 0)
    var inner: [Sample.Inner] = []
    var single: Inner?
    var byNumber: [UInt64: Inner] = [:]
    var byName: [String: Inner] = [:]
    var optional: String?
    var texts: [String] = []
    var blobs: [ArraySlice<UInt8>] = []

    init() {}

    struct Choice: ProtobufEnum {
        var rawValue: Int32
        init(rawValue: Int32) { self.rawValue = rawValue }
    }

    struct Inner: TextMessage {
        var value: UInt64 = 0
        var list: [UInt64] = []
        var other: UInt64 = 0

        mutating func decodeField(_ number: Int, from reader: inout ProtobufReader) throws(ProtobufError) {
            switch number {
            case 1: value = try reader.uint64()
            case 2: try reader.append(to: &list)
            case 3: other = try reader.uint64()
            default: break
            }
        }

        func encode(to writer: inout ProtobufWriter) {
            writer.uint64(value, field: 1)
            writer.packed(list, field: 2)
            writer.uint64(other, field: 3)
        }

        static let schema = MessageSchema(
            "Inner",
            [
                FieldSchema(1, "value", .uint64), FieldSchema(2, "list", .uint64, repeated: true),
                FieldSchema(3, "other", .uint64),
            ])
    }

    mutating func decodeField(_ number: Int, from reader: inout ProtobufReader) throws(ProtobufError) {
        switch number {
        case 1: self.number = try reader.uint64()
        case 2: small = try reader.uint32()
        case 3: flag = try reader.bool()
        case 4: text = try reader.string()
        case 5: data = try reader.bytesValue()
        case 6: try reader.append(to: &numbers)
        case 7: try reader.append(to: &smalls)
        case 8: choice = try reader.enumeration()
        case 9: try reader.append(to: &inner)
        case 10: try reader.message(into: &single)
        case 11: try reader.mapEntry(into: &byNumber)
        case 12: try reader.mapEntry(into: &byName)
        case 13: optional = try reader.string()
        case 14: try reader.append(to: &texts)
        case 15: try reader.append(to: &blobs)
        default: break
        }
    }

    func encode(to writer: inout ProtobufWriter) {
        writer.uint64(number, field: 1)
        writer.uint32(small, field: 2)
        writer.bool(flag, field: 3)
        writer.string(text, field: 4)
        writer.bytes(data, field: 5)
        writer.packed(numbers, field: 6)
        writer.packed(smalls, field: 7)
        writer.enumeration(choice, field: 8)
        writer.repeated(inner, field: 9)
        writer.message(single, field: 10)
        writer.map(byNumber, field: 11)
        writer.map(byName, field: 12)
        if let optional { writer.presentString(optional, field: 13) }
        writer.repeated(texts, field: 14)
        writer.repeated(blobs, field: 15)
    }

    static let schema = MessageSchema(
        "Sample",
        [
            FieldSchema(1, "number", .uint64), FieldSchema(2, "small", .uint32), FieldSchema(3, "flag", .bool),
            FieldSchema(4, "text", .string), FieldSchema(5, "data", .bytes),
            FieldSchema(6, "numbers", .uint64, repeated: true), FieldSchema(7, "smalls", .uint32, repeated: true),
            FieldSchema(
                8, "choice", .enumeration(EnumSchema([(0, "CHOICE_NONE"), (1, "CHOICE_ONE"), (-5, "CHOICE_MINUS_FIVE")]))),
            FieldSchema(9, "inner", .message(Inner.schema), repeated: true), FieldSchema(10, "single", .message(Inner.schema)),
            FieldSchema(11, "by_number", .map(key: .uint64, value: .message(Inner.schema)), repeated: true),
            FieldSchema(12, "by_name", .map(key: .string, value: .message(Inner.schema)), repeated: true),
            FieldSchema(13, "optional", .string), FieldSchema(14, "texts", .string, repeated: true),
            FieldSchema(15, "blobs", .bytes, repeated: true),
        ])
}

@Suite struct ProtobufReaderTests {
    func decode(_ bytes: [UInt8]) throws -> Sample { try Sample(decoding: bytes) }

    @Test func scalars() throws {
        let sample = try decode([
            0x08, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01, 0x10, 0x96, 0x01, 0x18, 0x02, 0x22, 0x02, 0xC3,
            0xA9,
            0x2A, 0x02, 0xFF, 0x00, 0x40, 0xFB, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01,
        ])
        #expect(sample.number == .max)
        #expect(sample.small == 150)
        #expect(sample.flag)
        #expect(sample.text == "é")
        #expect(sample.data == [0xFF, 0x00])
        #expect(sample.choice.rawValue == -5)
    }

    @Test func numbersOf32BitsDropHigherBits() throws {
        #expect(try decode([0x10, 0x81, 0x80, 0x80, 0x80, 0x10]).small == 1)
        #expect(try decode([0x18, 0x80, 0x80, 0x80, 0x80, 0x10]).flag)
    }

    @Test func listsPackedAndNot() throws {
        let sample = try decode([
            0x30, 0x01, 0x32, 0x03, 0x02, 0xAC, 0x02, 0x30, 0x04, 0x32, 0x00, 0x38, 0x05, 0x3A, 0x01, 0x06,
        ])
        #expect(sample.numbers == [1, 2, 300, 4])
        #expect(sample.smalls == [5, 6])
    }

    @Test func theLastScalarWinsAndMessagesMerge() throws {
        let sample = try decode([
            0x08, 0x01, 0x08, 0x02, 0x52, 0x04, 0x08, 0x01, 0x10, 0x07, 0x52, 0x04, 0x10, 0x08, 0x18, 0x09,
        ])
        #expect(sample.number == 2)
        var inner = Sample.Inner()
        (inner.value, inner.list, inner.other) = (1, [7, 8], 9)
        #expect(sample.single == inner)
    }

    @Test func mapsKeepTheLastEntryOfAKey() throws {
        let sample = try decode([
            0x5A, 0x06, 0x08, 0x03, 0x12, 0x02, 0x08, 0x01, 0x5A, 0x06, 0x08, 0x03, 0x12, 0x02, 0x18, 0x02, 0x5A, 0x00,
        ])
        var last = Sample.Inner()
        last.other = 2
        #expect(sample.byNumber == [3: last, 0: Sample.Inner()])
    }

    @Test func unknownFieldsAreSkipped() throws {
        let unknown: [UInt8] = [
            0xA0, 0x06, 0x05, 0xA1, 0x06, 1, 2, 3, 4, 5, 6, 7, 8, 0xA2, 0x06, 0x02, 9, 9, 0xA5, 0x06, 1, 2, 3, 4,
        ]
        let sample = try decode(unknown + [0x08, 0x07] + unknown)
        #expect(sample.number == 7)
        #expect(sample.encoded() == [0x08, 0x07])
    }

    @Test func fixedSizesAreLittleEndian() throws {
        var reader = ProtobufReader([0x09, 1, 2, 3, 4, 5, 6, 7, 8, 0x15, 1, 2, 3, 4][...])
        #expect(try reader.nextField() == 1)
        #expect(try reader.fixed64() == 0x0807_0605_0403_0201)
        #expect(try reader.nextField() == 2)
        #expect(try reader.fixed32() == 0x0403_0201)
        #expect(try reader.nextField() == nil)
    }

    @Test func bytesAreSlicesOfTheInput() throws {
        let input: ArraySlice<UInt8> = [0, 0, 0x2A, 0x02, 7, 8][2...]
        let sample = try Sample(decoding: input)
        #expect(sample.data.startIndex == 4)
        #expect(sample.data == [7, 8])
    }

    @Test(
        arguments: [
            ([0x00, 0x00], ProtobufError.fieldNumberZero(offset: 0)),
            ([0x08], .truncated(offset: 1, expected: "a varint")),
            ([0x08, 0x80], .truncated(offset: 2, expected: "a varint")),
            ([0x80], .truncated(offset: 1, expected: "a field tag")),
            ([0x88, 0x80, 0x80, 0x80, 0x80, 0x00, 0x01], .varintTooLong(offset: 0, allowed: 5)),
            ([0x88, 0x80, 0x80, 0x80, 0x10, 0x01], .varintTooLong(offset: 0, allowed: 5)),
            ([0x08] + [UInt8](repeating: 0xFF, count: 10), .varintTooLong(offset: 1, allowed: 10)),
            ([0x08] + [UInt8](repeating: 0xFF, count: 9) + [0x02], .varintTooLong(offset: 1, allowed: 10)),
            ([0x0A, 0x01, 0x01], .wrongWireType(field: 1, expected: .varint, found: .lengthDelimited, offset: 1)),
            ([0x20, 0x01], .wrongWireType(field: 4, expected: .lengthDelimited, found: .varint, offset: 1)),
            ([0x35, 1, 2, 3, 4], .wrongWireType(field: 6, expected: .varint, found: .fixed32, offset: 1)),
            ([0x0B, 0x0C], .group(field: 1, offset: 0)),
            ([0x08, 0x01, 0x0C], .group(field: 1, offset: 2)),
            ([0x0E], .invalidWireType(field: 1, found: 6, offset: 0)),
            ([0x0F], .invalidWireType(field: 1, found: 7, offset: 0)),
            ([0x2A, 0x02, 0x01], .lengthBeyondEnd(field: 5, length: 2, remaining: 1, offset: 1)),
            ([0x2A, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F], .lengthBeyondEnd(field: 5, length: 0xFFFF_FFFF, remaining: 0, offset: 1)),
            ([0x2A] + [UInt8](repeating: 0xFF, count: 9) + [0x01], .varintTooLong(offset: 1, allowed: 5)),
            ([0x2A] + [UInt8](repeating: 0x80, count: 9) + [0x01], .varintTooLong(offset: 1, allowed: 5)),
            ([0x22, 0x02, 0xC3, 0x28], .invalidUTF8(field: 4, offset: 1)),
            ([0x22, 0x03, 0xED, 0xA0, 0x80], .invalidUTF8(field: 4, offset: 1)),
            ([0x32, 0x01, 0x80], .truncated(offset: 3, expected: "a varint")),
            ([0x32, 0x01, 0x80, 0x01], .truncated(offset: 3, expected: "a varint")),
            ([0x52, 0x03, 0x12, 0x02, 0x01, 0x01], .lengthBeyondEnd(field: 2, length: 2, remaining: 1, offset: 3)),
            ([0xA1, 0x06, 1, 2, 3], .truncated(offset: 2, expected: "a value of 8 bytes")),
        ] as [([UInt8], ProtobufError)])
    func damageIsNamed(bytes: [UInt8], expected: ProtobufError) {
        #expect(throws: expected) { try decode(bytes) }
        #expect(!expected.description.isEmpty)
    }

    @Test func aFieldCannotBeReadTwice() throws {
        var reader = ProtobufReader([0x08, 0x01, 0x01][...])
        _ = try reader.nextField()
        _ = try reader.uint64()
        #expect(throws: ProtobufError.wrongWireType(field: 1, expected: .varint, found: nil, offset: 2)) { try reader.uint64() }
    }

    @Test func limitsHoldForTheWholeMessage() throws {
        // Two messages of two elements each: four elements, though no list is longer than two.
        let bytes: [UInt8] = [0x4A, 0x00, 0x4A, 0x00, 0x72, 0x00, 0x7A, 0x00]
        #expect(try Sample(decoding: bytes, limits: ProtobufLimits(elements: 4)).inner.count == 2)
        #expect(throws: ProtobufError.tooManyElements(limit: 3, offset: 7)) {
            try Sample(decoding: bytes, limits: ProtobufLimits(elements: 3))
        }
        #expect(throws: ProtobufError.nestingTooDeep(limit: 0, offset: 2)) {
            try Sample(decoding: [0x52, 0x00], limits: ProtobufLimits(depth: 0))
        }
        var reader = ProtobufReader([0x52, 0x00][...], limits: ProtobufLimits(depth: 0))
        _ = try reader.nextField()
        #expect(throws: ProtobufError.nestingTooDeep(limit: 0, offset: 1)) { try reader.subReader() }
    }

    @Test func aSubReaderSeesItsMessageOnly() throws {
        var reader = ProtobufReader([0x52, 0x02, 0x08, 0x05, 0x08, 0x06][...])
        _ = try reader.nextField()
        var inner = try reader.subReader()
        #expect(try Sample.Inner(reader: &inner).value == 5)
        #expect(try reader.nextField() == 1)
        #expect(try reader.uint64() == 6)
    }
}
