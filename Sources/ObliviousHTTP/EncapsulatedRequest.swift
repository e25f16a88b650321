// Encapsulated requests: opened by the gateway, sealed by clients (RFC 9458 4.3; service.md 3.4).

import Cryptography

/// Why an encapsulated message was not opened. The cases say nothing about what was inside.
public enum EncapsulationError: String, Error, Sendable, Equatable, CaseIterable, CustomStringConvertible {
    /// Too short, or not of the form that it should have.
    case malformed = "not an encapsulated message"
    /// The gateway has no key with this id.
    case unknownKey = "key identifier unknown"
    /// The algorithms are not those of the key.
    case unsupportedSuite = "algorithms do not go with the key"
    /// The ciphertext, the encapsulated key or the key itself is not the right one: which of them is never said.
    case cannotOpen = "opening failed"
    /// A chunk, or all of them together, is larger than allowed.
    case tooLarge = "larger than allowed"
    /// A chunked message ended before its final chunk: it may have been cut on its way.
    case truncated = "ended before its final chunk"

    /// The reason in words.
    public var description: String { rawValue }
}

/// What stands before the encapsulated key: 7 bytes.
struct RequestHeader: Sendable, Equatable {
    static let length = 7
    /// The header with the encapsulated key.
    static let lengthWithKey = length + HPKESuite.encapsulatedKeyLength

    var keyID: UInt8
    var kem: UInt16 = HPKESuite.kem
    var kdf: UInt16 = HPKESuite.kdf
    var aead: UInt16

    init(keyID: UInt8, aead: HPKEAEAD) {
        self.keyID = keyID
        self.aead = aead.rawValue
    }

    /// Reads the first bytes of a request; nil if they are too few.
    init?(_ bytes: [UInt8]) {
        guard bytes.count >= Self.length else { return nil }
        keyID = bytes[0]
        kem = UInt16(bytes.number(at: 1))
        kdf = UInt16(bytes.number(at: 3))
        aead = UInt16(bytes.number(at: 5))
    }

    var encoded: [UInt8] { [keyID] + kem.bigEndianBytes + kdf.bigEndianBytes + aead.bigEndianBytes }

    /// What ties the key to this use of it.
    func info(_ form: EncapsulatedForm) -> [UInt8] { form.requestLabel + [0] + encoded }
}

/// The two forms of encapsulation, which differ in their labels.
enum EncapsulatedForm: Sendable {
    case whole, chunked

    var requestLabel: [UInt8] {
        Array((self == .whole ? "message/bhttp request" : "message/bhttp chunked request").utf8)
    }

    var responseLabel: [UInt8] {
        Array((self == .whole ? "message/bhttp response" : "message/bhttp chunked response").utf8)
    }
}

/// A request that the gateway has opened.
public struct OpenedRequest: Sendable {
    /// The Binary HTTP message, as a slice of the buffer in which it arrived.
    public let plaintext: ArraySlice<UInt8>
    /// Seals the one answer.
    public let responseSealer: ResponseSealer
    /// The key with which it was sealed.
    public let keyID: UInt8
}

extension GatewayKeySet {
    /// Fewest bytes of an encapsulated request.
    public static let shortestRequest = RequestHeader.lengthWithKey + AEADAlgorithm.tagLength

    /// Opens an encapsulated request (`message/ohttp-req`), in place if the caller gives the buffer up.
    ///
    /// An encapsulated key of low order takes as long as a wrong ciphertext. Throws `EncapsulationError`: `.malformed`,
    /// `.unknownKey`, `.unsupportedSuite`, `.cannotOpen`.
    public func open(_ request: consuming [UInt8]) throws(EncapsulationError) -> OpenedRequest {
        var buffer = request
        guard buffer.count >= Self.shortestRequest, let header = RequestHeader(buffer) else { throw .malformed }
        let (key, aead) = try key(for: header)
        let encapsulatedKey = buffer[RequestHeader.length..<RequestHeader.lengthWithKey]
        var opening = try RequestOpening(header, encapsulatedKey: Array(encapsulatedKey), key: key, aead: aead, form: .whole)
        do {
            try opening.receiver.open(inPlace: &buffer, from: RequestHeader.lengthWithKey)
        } catch {
            throw .cannotOpen
        }
        guard opening.isGenuine else { throw .cannotOpen }
        return OpenedRequest(
            plaintext: buffer[RequestHeader.lengthWithKey...], responseSealer: ResponseSealer(opening.responseSecret),
            keyID: key.id)
    }
}

/// The gateway's side of one exchange.
struct RequestOpening: Sendable {
    var receiver: HPKEReceiver
    /// False if the encapsulated key was of low order: the work goes on with a random secret, so that its time tells nothing.
    let isGenuine: Bool
    /// For the one answer.
    let responseSecret: ResponseSecret

    init(
        _ header: RequestHeader, encapsulatedKey: [UInt8], key: GatewayKey, aead: HPKEAEAD, form: EncapsulatedForm
    ) throws(EncapsulationError) {
        do {
            var secret: SecretBytes
            var isGenuine = true
            do {
                secret = try key.privateKey.sharedSecret(with: encapsulatedKey)
            } catch {
                secret = try .random(count: X25519PrivateKey.length)
                isGenuine = false
            }
            let hkdf = try HKDFSHA256()
            receiver = try HPKEReceiver(
                hkdf, secret: secret, encapsulatedKey: encapsulatedKey[...], recipient: key.configuration.publicKey, aead: aead,
                info: header.info(form))
            self.isGenuine = isGenuine
            responseSecret = try ResponseSecret(
                hkdf, receiver.schedule, encapsulatedKey: encapsulatedKey, label: form.responseLabel)
        } catch {
            throw .cannotOpen
        }
    }
}

/// A request that a client has sealed.
public struct SealedRequest: Sendable {
    /// The encapsulated request (`message/ohttp-req`).
    public let bytes: [UInt8]
    /// Opens the one answer.
    public let responseOpener: ResponseOpener
}

extension KeyConfiguration {
    /// Seals a Binary HTTP request for the gateway, with a fresh key. Without an AEAD the configuration's first known one is
    /// used.
    ///
    /// Throws `EncapsulationError.unsupportedSuite` if the configuration does not list it, `.malformed` if its public key is
    /// no proper one, `.tooLarge`.
    public func encapsulate(_ plaintext: [UInt8], aead: HPKEAEAD? = nil) throws(EncapsulationError) -> SealedRequest {
        try encapsulate(plaintext, aead: aead, ephemeral: Self.freshKey())
    }

    static func freshKey() throws(EncapsulationError) -> X25519PrivateKey {
        do { return try .generate() } catch { throw .cannotOpen }
    }

    /// With a given ephemeral key, for vectors.
    func encapsulate(_ plaintext: [UInt8], aead: HPKEAEAD?, ephemeral: X25519PrivateKey) throws(EncapsulationError)
        -> SealedRequest
    {
        let aead = try usable(aead)
        guard plaintext.count <= AEADAlgorithm.longestPlaintext else { throw .tooLarge }
        let header = RequestHeader(keyID: id, aead: aead)
        do {
            var sender = try HPKESender(to: publicKey, aead: aead, info: header.info(.whole), ephemeral: ephemeral)
            var bytes: [UInt8] = []
            bytes.reserveCapacity(RequestHeader.lengthWithKey + plaintext.count + AEADAlgorithm.tagLength)
            bytes += header.encoded
            bytes += sender.encapsulatedKey
            bytes += plaintext
            try sender.seal(inPlace: &bytes, from: RequestHeader.lengthWithKey)
            let secret = try ResponseSecret(
                HKDFSHA256(), sender.schedule, encapsulatedKey: sender.encapsulatedKey,
                label: EncapsulatedForm.whole.responseLabel)
            return SealedRequest(bytes: bytes, responseOpener: ResponseOpener(secret))
        } catch {
            throw .malformed
        }
    }

    /// The AEAD to use.
    func usable(_ aead: HPKEAEAD?) throws(EncapsulationError) -> HPKEAEAD {
        guard let aead = aead ?? preferredAEAD, algorithms.contains(Algorithms(aead)) else { throw .unsupportedSuite }
        return aead
    }
}
