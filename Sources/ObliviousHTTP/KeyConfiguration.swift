// Key configurations, and the list of them that clients fetch (application/ohttp-keys; RFC 9458 3; service.md 3.1).

import Cryptography

/// Why bytes are no key configuration. Texts name lengths and places.
public enum KeyConfigurationError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The list ends inside a length.
    case lengthCutOff(offset: Int)
    /// A length goes beyond the end of the list.
    case lengthBeyondEnd(offset: Int, length: Int, left: Int)
    /// A configuration is shorter than its fixed fields.
    case tooShort(offset: Int, length: Int)
    /// The length of the list of algorithms is not a positive multiple of 4 that ends with the configuration.
    case badAlgorithmList(offset: Int, length: Int)
    /// A configuration lists no algorithms.
    case noAlgorithms
    /// The public key has another length than 32 bytes.
    case badPublicKey(length: Int)
    /// More configurations, or algorithms in one of them, than any gateway publishes.
    case tooMany(limit: Int)

    /// The reason in words.
    public var description: String {
        switch self {
        case .lengthCutOff(let offset): "byte \(offset): expected a length of 2 bytes, and the list ends"
        case .lengthBeyondEnd(let offset, let length, let left):
            "byte \(offset): a configuration of \(length) bytes is announced, and \(left) follow"
        case .tooShort(let offset, let length): "byte \(offset): a configuration of \(length) bytes is too short"
        case .badAlgorithmList(let offset, let length):
            "byte \(offset): \(length) is not the length of a list of algorithms (a multiple of 4, to the end)"
        case .noAlgorithms: "a key configuration needs at least one pair of KDF and AEAD"
        case .badPublicKey(let length): "a public key of \(length) bytes, where 32 are needed"
        case .tooMany(let limit): "more than \(limit) entries"
        }
    }
}

/// A gateway's public key with its id, and the algorithms that go with it. The KEM is DHKEM(X25519, HKDF-SHA256).
public struct KeyConfiguration: Sendable, Hashable {
    /// Where clients that know no other address of a gateway ask for its keys (RFC 9540 section 5).
    public static let wellKnownPath = "/.well-known/ohttp-gateway"

    /// A pair of algorithms, by code points: what is unknown here may still be listed.
    public struct Algorithms: Sendable, Hashable {
        /// The KDF's code point.
        public var kdf: UInt16
        /// The AEAD's code point.
        public var aead: UInt16

        /// A pair of code points.
        public init(kdf: UInt16 = HPKESuite.kdf, aead: UInt16) {
            self.kdf = kdf
            self.aead = aead
        }

        /// HKDF-SHA256 with an AEAD.
        public init(_ aead: HPKEAEAD) { self.init(aead: aead.rawValue) }

        /// The AEAD if both algorithms are known here.
        public var known: HPKEAEAD? { kdf == HPKESuite.kdf ? HPKEAEAD(rawValue: aead) : nil }
    }

    /// Most pairs of algorithms, and most configurations in a list.
    public static let limit = 64

    /// The key's id.
    public let id: UInt8
    /// The public key, 32 bytes.
    public let publicKey: [UInt8]
    /// The algorithms, the preferred ones first; at least one pair.
    public let algorithms: [Algorithms]

    /// Throws `KeyConfigurationError.badPublicKey`, `.noAlgorithms`, `.tooMany`.
    public init(id: UInt8, publicKey: [UInt8], algorithms: [Algorithms]) throws(KeyConfigurationError) {
        guard publicKey.count == X25519PrivateKey.length else { throw .badPublicKey(length: publicKey.count) }
        guard !algorithms.isEmpty else { throw .noAlgorithms }
        guard algorithms.count <= Self.limit else { throw .tooMany(limit: Self.limit) }
        self.id = id
        self.publicKey = publicKey
        self.algorithms = algorithms
    }

    /// The first AEAD of the list that is known here with its KDF.
    public var preferredAEAD: HPKEAEAD? { algorithms.lazy.compactMap(\.known).first }

    /// One configuration, without the length that stands before it in a list (the older form that some clients read).
    public var encoded: [UInt8] {
        let pairs = algorithms.flatMap { $0.kdf.bigEndianBytes + $0.aead.bigEndianBytes }
        return [id] + HPKESuite.kem.bigEndianBytes + publicKey + UInt16(clamping: pairs.count).bigEndianBytes + pairs
    }

    /// The list of configurations, each behind its length. Put the one that clients should use first.
    public static func encodeList(_ configurations: [KeyConfiguration]) -> [UInt8] {
        configurations.flatMap { configuration in
            let bytes = configuration.encoded
            return UInt16(clamping: bytes.count).bigEndianBytes + bytes
        }
    }

    /// Reads a list. Configurations with another KEM are skipped.
    ///
    /// Throws `KeyConfigurationError`.
    public static func decodeList(_ bytes: [UInt8]) throws(KeyConfigurationError) -> [KeyConfiguration] {
        try entries(bytes).compactMap(\.known)
    }

    /// An entry of a list.
    public struct Entry: Sendable, Equatable {
        /// The key's id.
        public let id: UInt8
        /// The KEM's code point.
        public let kem: UInt16
        /// The configuration; nil if its KEM is another than DHKEM(X25519, HKDF-SHA256).
        public let known: KeyConfiguration?
    }

    /// Reads a list with what is unknown in it, in its order: for a check of what a gateway publishes.
    ///
    /// Throws `KeyConfigurationError`.
    public static func entries(_ bytes: [UInt8]) throws(KeyConfigurationError) -> [Entry] {
        var entries: [Entry] = []
        var offset = 0
        while offset < bytes.count {
            guard bytes.count - offset >= 2 else { throw .lengthCutOff(offset: offset) }
            let length = bytes.number(at: offset)
            let left = bytes.count - offset - 2
            guard length <= left else { throw .lengthBeyondEnd(offset: offset, length: length, left: left) }
            guard entries.count < limit else { throw .tooMany(limit: limit) }
            entries.append(try entry(bytes, offset + 2..<offset + 2 + length))
            offset += 2 + length
        }
        return entries
    }

    /// Reads one configuration without a length before it; nil for another KEM.
    ///
    /// Throws `KeyConfigurationError`.
    public static func decode(_ bytes: [UInt8]) throws(KeyConfigurationError) -> KeyConfiguration? {
        try entry(bytes, bytes.startIndex..<bytes.endIndex).known
    }

    private static func entry(_ bytes: [UInt8], _ range: Range<Int>) throws(KeyConfigurationError) -> Entry {
        let start = range.lowerBound
        guard range.count >= 3 else { throw .tooShort(offset: start, length: range.count) }
        let kem = UInt16(bytes.number(at: start + 1))
        guard kem == HPKESuite.kem else { return Entry(id: bytes[start], kem: kem, known: nil) }
        let list = start + 3 + X25519PrivateKey.length
        guard range.upperBound >= list + 2 else { throw .tooShort(offset: start, length: range.count) }
        let length = bytes.number(at: list)
        guard length > 0, length % 4 == 0, list + 2 + length == range.upperBound else {
            throw .badAlgorithmList(offset: list, length: length)
        }
        let algorithms = stride(from: list + 2, to: range.upperBound, by: 4).map { at in
            Algorithms(kdf: UInt16(bytes.number(at: at)), aead: UInt16(bytes.number(at: at + 2)))
        }
        let known = try KeyConfiguration(
            id: bytes[start], publicKey: Array(bytes[(start + 3)..<list]), algorithms: algorithms)
        return Entry(id: bytes[start], kem: kem, known: known)
    }
}

extension [UInt8] {
    /// The number in two bytes, which must be there.
    func number(at offset: Int) -> Int { Int(self[offset]) << 8 | Int(self[offset + 1]) }
}
