// Encryption parameters, the configuration of evaluation keys, and their enums: bfv.md 12.3, 12.4, 12.6.

import Protobuf

/// The distribution of errors.
public struct ErrorStdDev: ProtobufEnum {
    /// The number on the wire.
    public var rawValue: Int32

    /// The value with this number, named or not.
    public init(rawValue: Int32) { self.rawValue = rawValue }

    /// Standard deviation 3.2.
    public static let stdDev32 = ErrorStdDev(rawValue: 0)

    /// Standard deviation 6.4; belongs to another PIR scheme.
    public static let stdDev64 = ErrorStdDev(rawValue: 1)

    static let schema = EnumSchema([
        (0, "ERROR_STD_DEV_STDDEV32"),
        (1, "ERROR_STD_DEV_STDDEV64"),
    ])
}

/// What security the parameters are checked for.
public struct SecurityLevel: ProtobufEnum {
    /// The number on the wire.
    public var rawValue: Int32

    /// The value with this number, named or not.
    public init(rawValue: Int32) { self.rawValue = rawValue }

    /// Unchecked: tests only.
    public static let unspecified = SecurityLevel(rawValue: 0)

    /// 128 bits against quantum computers.
    public static let quantum128 = SecurityLevel(rawValue: 1)

    static let schema = EnumSchema([
        (0, "SECURITY_LEVEL_UNSPECIFIED"),
        (1, "SECURITY_LEVEL_QUANTUM128"),
    ])
}

/// The encryption scheme.
public struct HeScheme: ProtobufEnum {
    /// The number on the wire.
    public var rawValue: Int32

    /// The value with this number, named or not.
    public init(rawValue: Int32) { self.rawValue = rawValue }

    /// None.
    public static let unspecified = HeScheme(rawValue: 0)

    /// BFV.
    public static let bfv = HeScheme(rawValue: 1)

    /// BGV.
    public static let bgv = HeScheme(rawValue: 2)

    static let schema = EnumSchema([
        (0, "HE_SCHEME_UNSPECIFIED"),
        (1, "HE_SCHEME_BFV"),
        (2, "HE_SCHEME_BGV"),
    ])
}

/// The parameters of the encryption scheme (bfv.md 1).
public struct EncryptionParameters: TextMessage {
    /// `N`.
    public var polynomialDegree: UInt64 = 0
    /// `t`.
    public var plaintextModulus: UInt64 = 0
    /// `q_0 … q_L`, the key-switching modulus last.
    public var coefficientModuli: [UInt64] = []
    /// The error distribution.
    public var errorStdDev: ErrorStdDev = ErrorStdDev(rawValue: 0)
    /// The security level.
    public var securityLevel: SecurityLevel = SecurityLevel(rawValue: 0)
    /// The scheme.
    public var heScheme: HeScheme = HeScheme(rawValue: 0)

    /// Every field at its default.
    public init() {}

    /// A message with these fields, the others at their default.
    public init(
        polynomialDegree: UInt64 = 0, plaintextModulus: UInt64 = 0, coefficientModuli: [UInt64] = [],
        errorStdDev: ErrorStdDev = ErrorStdDev(rawValue: 0), securityLevel: SecurityLevel = SecurityLevel(rawValue: 0),
        heScheme: HeScheme = HeScheme(rawValue: 0)
    ) {
        self.polynomialDegree = polynomialDegree
        self.plaintextModulus = plaintextModulus
        self.coefficientModuli = coefficientModuli
        self.errorStdDev = errorStdDev
        self.securityLevel = securityLevel
        self.heScheme = heScheme
    }

    /// Takes one field.
    public mutating func decodeField(_ number: Int, from reader: inout ProtobufReader) throws(ProtobufError) {
        switch number {
        case 1: polynomialDegree = try reader.uint64()
        case 2: plaintextModulus = try reader.uint64()
        case 3: try reader.append(to: &coefficientModuli)
        case 4: errorStdDev = try reader.enumeration()
        case 5: securityLevel = try reader.enumeration()
        case 6: heScheme = try reader.enumeration()
        default: break
        }
    }

    /// Writes the fields in ascending order.
    public func encode(to writer: inout ProtobufWriter) {
        writer.uint64(polynomialDegree, field: 1)
        writer.uint64(plaintextModulus, field: 2)
        writer.packed(coefficientModuli, field: 3)
        writer.enumeration(errorStdDev, field: 4)
        writer.enumeration(securityLevel, field: 5)
        writer.enumeration(heScheme, field: 6)
    }

    /// The fields as the text format names them.
    public static let schema = MessageSchema(
        "EncryptionParameters",
        [
            FieldSchema(1, "polynomial_degree", .uint64),
            FieldSchema(2, "plaintext_modulus", .uint64),
            FieldSchema(3, "coefficient_moduli", .uint64, repeated: true),
            FieldSchema(4, "error_std_dev", .enumeration(ErrorStdDev.schema)),
            FieldSchema(5, "security_level", .enumeration(SecurityLevel.schema)),
            FieldSchema(6, "he_scheme", .enumeration(HeScheme.schema)),
        ])
}

/// What an evaluation key must hold. Its canonical bytes are hashed (bfv.md 11.8).
public struct EvaluationKeyConfig: TextMessage {
    /// The parameters of the key.
    public var encryptionParameters: EncryptionParameters?
    /// Galois elements, ascending.
    public var galoisElements: [UInt32] = []
    /// Whether a relinearization key is needed.
    public var hasRelinKey: Bool = false

    /// Every field at its default.
    public init() {}

    /// A message with these fields, the others at their default.
    public init(encryptionParameters: EncryptionParameters? = nil, galoisElements: [UInt32] = [], hasRelinKey: Bool = false) {
        self.encryptionParameters = encryptionParameters
        self.galoisElements = galoisElements
        self.hasRelinKey = hasRelinKey
    }

    /// Takes one field.
    public mutating func decodeField(_ number: Int, from reader: inout ProtobufReader) throws(ProtobufError) {
        switch number {
        case 1: try reader.message(into: &encryptionParameters)
        case 2: try reader.append(to: &galoisElements)
        case 3: hasRelinKey = try reader.bool()
        default: break
        }
    }

    /// Writes the fields in ascending order.
    public func encode(to writer: inout ProtobufWriter) {
        writer.message(encryptionParameters, field: 1)
        writer.packed(galoisElements, field: 2)
        writer.bool(hasRelinKey, field: 3)
    }

    /// The fields as the text format names them.
    public static let schema = MessageSchema(
        "EvaluationKeyConfig",
        [
            FieldSchema(1, "encryption_parameters", .message(EncryptionParameters.schema)),
            FieldSchema(2, "galois_elements", .uint32, repeated: true),
            FieldSchema(3, "has_relin_key", .bool),
        ])
}
