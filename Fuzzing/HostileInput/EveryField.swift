// A message with a field of every kind that the protobuf room reads, nested in itself: what its fuzzing decodes.

import Protobuf

/// An enum with two names; other numbers are kept.
struct Colour: ProtobufEnum {
    let rawValue: Int32

    init(rawValue: Int32) { self.rawValue = rawValue }

    static let schema = EnumSchema([(0, "COLOUR_NONE"), (1, "COLOUR_RED")])
}

/// Singular fields, also of `EveryField` and its maps.
struct Leaf: TextMessage {
    var number: UInt64 = 0
    var text = ""
    var numbers: [UInt64] = []

    mutating func decodeField(_ number: Int, from reader: inout ProtobufReader) throws(ProtobufError) {
        switch number {
        case 1: self.number = try reader.uint64()
        case 2: text = try reader.string()
        case 3: try reader.append(to: &numbers)
        default: break
        }
    }

    func encode(to writer: inout ProtobufWriter) {
        writer.uint64(number, field: 1)
        writer.string(text, field: 2)
        writer.packed(numbers, field: 3)
    }

    static let schema = MessageSchema(
        "Leaf",
        [
            FieldSchema(1, "number", .uint64), FieldSchema(2, "text", .string),
            FieldSchema(3, "numbers", .uint64, repeated: true),
        ])
}

/// A field of every kind.
struct EveryField: TextMessage {
    var big: UInt64 = 0
    var small: UInt32 = 0
    var flag = false
    var colour = Colour(rawValue: 0)
    var text = ""
    var bytes: ArraySlice<UInt8> = []
    var leaf: Leaf?
    var nested: [EveryField] = []
    var texts: [String] = []
    var byteStrings: [ArraySlice<UInt8>] = []
    var numbers: [UInt64] = []
    var smallNumbers: [UInt32] = []
    var byNumber: [UInt64: Leaf] = [:]
    var byText: [String: Leaf] = [:]

    mutating func decodeField(_ number: Int, from reader: inout ProtobufReader) throws(ProtobufError) {
        switch number {
        case 1: big = try reader.uint64()
        case 2: small = try reader.uint32()
        case 3: flag = try reader.bool()
        case 4: colour = try reader.enumeration()
        case 5: text = try reader.string()
        case 6: bytes = try reader.bytesValue()
        case 7: try reader.message(into: &leaf)
        case 8: try reader.append(to: &nested)
        case 9: try reader.append(to: &texts)
        case 10: try reader.append(to: &byteStrings)
        case 11: try reader.append(to: &numbers)
        case 12: try reader.append(to: &smallNumbers)
        case 13: try reader.mapEntry(into: &byNumber)
        case 14: try reader.mapEntry(into: &byText)
        default: break
        }
    }

    func encode(to writer: inout ProtobufWriter) {
        writer.uint64(big, field: 1)
        writer.uint32(small, field: 2)
        writer.bool(flag, field: 3)
        writer.enumeration(colour, field: 4)
        writer.string(text, field: 5)
        writer.bytes(bytes, field: 6)
        writer.message(leaf, field: 7)
        writer.repeated(nested, field: 8)
        writer.repeated(texts, field: 9)
        writer.repeated(byteStrings, field: 10)
        writer.packed(numbers, field: 11)
        writer.packed(smallNumbers, field: 12)
        writer.map(byNumber, field: 13)
        writer.map(byText, field: 14)
    }

    /// Elements that count towards a limit, here and below.
    var elements: Int {
        nested.reduce(nested.count + texts.count + byteStrings.count + byNumber.count + byText.count) { $0 + $1.elements }
    }

    /// Levels of messages below this one; an entry of a map counts as one, with its value or without.
    var depth: Int {
        max(leaf == nil && byNumber.isEmpty && byText.isEmpty ? 0 : 1, (nested.map(\.depth).max() ?? -1) + 1)
    }

    /// The text format knows three levels; the wire has no such end.
    static let schema = makeSchema(levels: 3)

    private static func makeSchema(levels: Int) -> MessageSchema {
        let leaf = FieldSchema.Kind.message(Leaf.schema)
        var fields = [
            FieldSchema(1, "big", .uint64), FieldSchema(2, "small", .uint32), FieldSchema(3, "flag", .bool),
            FieldSchema(4, "colour", .enumeration(Colour.schema)), FieldSchema(5, "text", .string),
            FieldSchema(6, "bytes", .bytes), FieldSchema(7, "leaf", leaf),
        ]
        if levels > 1 { fields.append(FieldSchema(8, "nested", .message(makeSchema(levels: levels - 1)), repeated: true)) }
        fields += [
            FieldSchema(9, "texts", .string, repeated: true), FieldSchema(10, "byte_strings", .bytes, repeated: true),
            FieldSchema(11, "numbers", .uint64, repeated: true), FieldSchema(12, "small_numbers", .uint32, repeated: true),
            FieldSchema(13, "by_number", .map(key: .uint64, value: leaf), repeated: true),
            FieldSchema(14, "by_text", .map(key: .string, value: leaf), repeated: true),
        ]
        return MessageSchema("EveryField", fields)
    }
}
