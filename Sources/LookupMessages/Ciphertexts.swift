// Plaintexts and ciphertexts as they travel: bfv.md 12.1. Every bytes field is a slice of the decoded message; what the
// bytes mean (polynomials, seeds) is the business of the BFV room.

import Protobuf

/// A plaintext polynomial.
public struct SerializedPlaintext: TextMessage {
    /// The polynomial (bfv.md 11.2).
    public var poly: ArraySlice<UInt8> = []

    /// Every field at its default.
    public init() {}

    /// A message with these fields, the others at their default.
    public init(poly: ArraySlice<UInt8> = []) {
        self.poly = poly
    }

    /// Takes one field.
    public mutating func decodeField(_ number: Int, from reader: inout ProtobufReader) throws(ProtobufError) {
        switch number {
        case 1: poly = try reader.bytesValue()
        default: break
        }
    }

    /// Writes the fields in ascending order.
    public func encode(to writer: inout ProtobufWriter) {
        writer.bytes(poly, field: 1)
    }

    /// The fields as the text format names them.
    public static let schema = MessageSchema(
        "SerializedPlaintext",
        [
            FieldSchema(1, "poly", .bytes)
        ])
}

/// A ciphertext whose second polynomial follows from a seed.
public struct SerializedSeededCiphertext: TextMessage {
    /// The first polynomial, without a count (bfv.md 11.2).
    public var poly0: ArraySlice<UInt8> = []
    /// The seed of the second polynomial, 32 bytes.
    public var seed: ArraySlice<UInt8> = []

    /// Every field at its default.
    public init() {}

    /// A message with these fields, the others at their default.
    public init(poly0: ArraySlice<UInt8> = [], seed: ArraySlice<UInt8> = []) {
        self.poly0 = poly0
        self.seed = seed
    }

    /// Takes one field.
    public mutating func decodeField(_ number: Int, from reader: inout ProtobufReader) throws(ProtobufError) {
        switch number {
        case 1: poly0 = try reader.bytesValue()
        case 2: seed = try reader.bytesValue()
        default: break
        }
    }

    /// Writes the fields in ascending order.
    public func encode(to writer: inout ProtobufWriter) {
        writer.bytes(poly0, field: 1)
        writer.bytes(seed, field: 2)
    }

    /// The fields as the text format names them.
    public static let schema = MessageSchema(
        "SerializedSeededCiphertext",
        [
            FieldSchema(1, "poly0", .bytes),
            FieldSchema(2, "seed", .bytes),
        ])
}

/// A ciphertext with all its polynomials.
public struct SerializedFullCiphertext: TextMessage {
    /// The polynomials, behind their 2-byte little-endian count (bfv.md 11.3).
    public var polys: ArraySlice<UInt8> = []
    /// Low bits dropped, for each polynomial.
    public var skipLsbs: [UInt32] = []
    /// The correction factor: 1. Absent means 0, which nobody can use.
    public var correctionFactor: UInt64 = 0

    /// Every field at its default.
    public init() {}

    /// A message with these fields, the others at their default.
    public init(polys: ArraySlice<UInt8> = [], skipLsbs: [UInt32] = [], correctionFactor: UInt64 = 0) {
        self.polys = polys
        self.skipLsbs = skipLsbs
        self.correctionFactor = correctionFactor
    }

    /// Takes one field.
    public mutating func decodeField(_ number: Int, from reader: inout ProtobufReader) throws(ProtobufError) {
        switch number {
        case 1: polys = try reader.bytesValue()
        case 2: try reader.append(to: &skipLsbs)
        case 3: correctionFactor = try reader.uint64()
        default: break
        }
    }

    /// Writes the fields in ascending order.
    public func encode(to writer: inout ProtobufWriter) {
        writer.bytes(polys, field: 1)
        writer.packed(skipLsbs, field: 2)
        writer.uint64(correctionFactor, field: 3)
    }

    /// The fields as the text format names them.
    public static let schema = MessageSchema(
        "SerializedFullCiphertext",
        [
            FieldSchema(1, "polys", .bytes),
            FieldSchema(2, "skip_lsbs", .uint32, repeated: true),
            FieldSchema(3, "correction_factor", .uint64),
        ])
}

/// A ciphertext in one of its two forms.
public struct SerializedCiphertext: TextMessage {
    /// The form of a ciphertext.
    public enum Kind: Sendable, Equatable {
        /// First polynomial and seed.
        case seeded(SerializedSeededCiphertext)
        /// All polynomials.
        case full(SerializedFullCiphertext)
    }

    /// The oneof; nil if no member is set.
    public var kind: Kind?

    /// Every field at its default.
    public init() {}

    /// A message with these fields, the others at their default.
    public init(kind: Kind? = nil) {
        self.kind = kind
    }

    /// Takes one field.
    public mutating func decodeField(_ number: Int, from reader: inout ProtobufReader) throws(ProtobufError) {
        switch number {
        case 1:
            var value = SerializedSeededCiphertext()
            if case .seeded(let earlier) = kind { value = earlier }
            try reader.message(into: &value)
            kind = .seeded(value)
        case 2:
            var value = SerializedFullCiphertext()
            if case .full(let earlier) = kind { value = earlier }
            try reader.message(into: &value)
            kind = .full(value)
        default: break
        }
    }

    /// Writes the fields in ascending order.
    public func encode(to writer: inout ProtobufWriter) {
        if case .seeded(let value) = kind { writer.message(value, field: 1) }
        if case .full(let value) = kind { writer.message(value, field: 2) }
    }

    /// The fields as the text format names them.
    public static let schema = MessageSchema(
        "SerializedCiphertext",
        [
            FieldSchema(1, "seeded", .message(SerializedSeededCiphertext.schema)),
            FieldSchema(2, "full", .message(SerializedFullCiphertext.schema)),
        ])
}

/// Ciphertexts in order.
public struct SerializedCiphertextVec: TextMessage {
    /// The ciphertexts.
    public var ciphertexts: [SerializedCiphertext] = []

    /// Every field at its default.
    public init() {}

    /// A message with these fields, the others at their default.
    public init(ciphertexts: [SerializedCiphertext] = []) {
        self.ciphertexts = ciphertexts
    }

    /// Takes one field.
    public mutating func decodeField(_ number: Int, from reader: inout ProtobufReader) throws(ProtobufError) {
        switch number {
        case 1: try reader.append(to: &ciphertexts)
        default: break
        }
    }

    /// Writes the fields in ascending order.
    public func encode(to writer: inout ProtobufWriter) {
        writer.repeated(ciphertexts, field: 1)
    }

    /// The fields as the text format names them.
    public static let schema = MessageSchema(
        "SerializedCiphertextVec",
        [
            FieldSchema(1, "ciphertexts", .message(SerializedCiphertext.schema), repeated: true)
        ])
}
