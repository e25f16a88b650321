// The gateway's private keys, and how a request finds its own (RFC 9458 3, 4.3; service.md 3.2, 3.4).

import Cryptography

/// A private key with its id and its public configuration.
public struct GatewayKey: Sendable {
    /// What clients need to know about the key.
    public let configuration: KeyConfiguration
    let privateKey: X25519PrivateKey

    /// The key's id.
    public var id: UInt8 { configuration.id }

    /// A key that accepts the AEADs listed, the preferred one first.
    ///
    /// Throws `KeyConfigurationError.noAlgorithms` for an empty list.
    public init(id: UInt8, privateKey: X25519PrivateKey, aeads: [HPKEAEAD] = HPKEAEAD.allCases) throws(KeyConfigurationError) {
        configuration = try KeyConfiguration(id: id, publicKey: privateKey.publicKey, algorithms: aeads.map { .init($0) })
        self.privateKey = privateKey
    }

    /// The key's 32 bytes, to be stored.
    ///
    /// Throws `CryptographyError.libraryFailure`.
    public func rawPrivateKey() throws(CryptographyError) -> SecretBytes { try privateKey.rawBytes() }

    /// The AEAD that a request's header names, if the key goes with these algorithms.
    func aead(of header: RequestHeader) throws(EncapsulationError) -> HPKEAEAD {
        let named = KeyConfiguration.Algorithms(kdf: header.kdf, aead: header.aead)
        guard header.kem == HPKESuite.kem, configuration.algorithms.contains(named), let aead = named.known else {
            throw .unsupportedSuite
        }
        return aead
    }
}

/// Two keys with the same id.
public struct RepeatedKeyID: Error, Sendable, Equatable, CustomStringConvertible {
    /// The id.
    public let id: UInt8
    /// The reason in words.
    public var description: String { "two gateway keys have the id \(id)" }
}

/// All keys with which requests may be opened at a time.
public struct GatewayKeySet: Sendable {
    private let keys: [UInt8: GatewayKey]

    /// Throws `RepeatedKeyID` unless all ids differ.
    public init(_ keys: [GatewayKey]) throws(RepeatedKeyID) {
        var byID: [UInt8: GatewayKey] = [:]
        for key in keys {
            guard byID.updateValue(key, forKey: key.id) == nil else { throw RepeatedKeyID(id: key.id) }
        }
        self.keys = byID
    }

    /// The key with an id.
    public subscript(id: UInt8) -> GatewayKey? { keys[id] }

    /// All ids, ascending.
    public var ids: [UInt8] { keys.keys.sorted() }

    /// The key that a request's header names, with the AEAD.
    func key(for header: RequestHeader) throws(EncapsulationError) -> (GatewayKey, HPKEAEAD) {
        guard let key = keys[header.keyID] else { throw .unknownKey }
        return (key, try key.aead(of: header))
    }
}
