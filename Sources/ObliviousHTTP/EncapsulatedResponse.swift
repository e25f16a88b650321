// Encapsulated responses: sealed by the gateway, opened by clients (RFC 9458 4.4; service.md 3.5).

import Cryptography

/// What both sides know of one exchange when its request has been opened.
struct ResponseSecret: Sendable {
    let aead: HPKEAEAD
    private let secret: SecretBytes
    private let encapsulatedKey: [UInt8]

    init(
        _ hkdf: borrowing HKDFSHA256, _ schedule: HPKESchedule, encapsulatedKey: [UInt8], label: [UInt8]
    ) throws(CryptographyError) {
        aead = schedule.aead
        secret = try schedule.export(hkdf, label, count: aead.responseNonceLength)
        self.encapsulatedKey = encapsulatedKey
    }

    /// Key and nonce of the answer with this response nonce.
    func key(responseNonce: some Collection<UInt8>) throws(CryptographyError) -> (key: AEADKey, nonce: [UInt8]) {
        let salt = SecretBytes(copying: encapsulatedKey + responseNonce)
        let hkdf = try HKDFSHA256()
        let pseudorandomKey = try hkdf.extract(salt: salt, secret: secret)
        let key = try hkdf.expand(pseudorandomKey, info: Array("key".utf8), count: aead.algorithm.keyLength)
        let nonce = try hkdf.expand(pseudorandomKey, info: Array("nonce".utf8), count: AEADAlgorithm.nonceLength)
        return (try AEADKey(aead.algorithm, key: key), nonce.exposed)
    }

    func freshNonce() -> [UInt8] { systemRandomBytes(aead.responseNonceLength) }
}

/// Seals the answer to one opened request.
public struct ResponseSealer: Sendable {
    let secret: ResponseSecret

    init(_ secret: ResponseSecret) { self.secret = secret }

    /// Bytes by which an encapsulated response is longer than what is in it.
    public var overhead: Int { secret.aead.responseNonceLength + AEADAlgorithm.tagLength }

    /// The encapsulated response (`message/ohttp-res`) with a Binary HTTP response in it, under a fresh nonce.
    ///
    /// Throws `CryptographyError`: the answer is 500 then.
    public func seal(_ plaintext: some Collection<UInt8>) throws(CryptographyError) -> [UInt8] {
        try seal(plaintext, responseNonce: secret.freshNonce())
    }

    /// Bytes of the nonce at an encapsulated response's beginning.
    public var nonceLength: Int { secret.aead.responseNonceLength }

    /// The same in place: `buffer` holds `nonceLength` bytes of any kind and the Binary HTTP response behind them.
    ///
    /// Throws `CryptographyError`: the answer is 500 then.
    public func seal(inPlace buffer: inout [UInt8]) throws(CryptographyError) {
        guard buffer.count >= nonceLength else { throw .badLength(expected: nonceLength, got: buffer.count) }
        let fresh = secret.freshNonce()
        buffer.replaceSubrange(..<fresh.count, with: fresh)
        try seal(behindNonce: &buffer)
    }

    /// With a given nonce, for vectors.
    func seal(_ plaintext: some Collection<UInt8>, responseNonce: [UInt8]) throws(CryptographyError) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(responseNonce.count + plaintext.count + AEADAlgorithm.tagLength)
        bytes += responseNonce
        bytes += plaintext
        try seal(behindNonce: &bytes)
        return bytes
    }

    private func seal(behindNonce buffer: inout [UInt8]) throws(CryptographyError) {
        let (key, nonce) = try secret.key(responseNonce: buffer[..<nonceLength])
        try key.seal(inPlace: &buffer, from: nonceLength, nonce: nonce)
    }
}

/// Opens the answer to one sealed request.
public struct ResponseOpener: Sendable {
    let secret: ResponseSecret

    init(_ secret: ResponseSecret) { self.secret = secret }

    /// The Binary HTTP response, as a slice of the buffer in which it arrived; in place if the caller gives the buffer up.
    ///
    /// Throws `EncapsulationError.malformed`, `.cannotOpen`.
    public func open(_ response: consuming [UInt8]) throws(EncapsulationError) -> ArraySlice<UInt8> {
        var buffer = response
        let nonceLength = secret.aead.responseNonceLength
        guard buffer.count >= nonceLength + AEADAlgorithm.tagLength else { throw .malformed }
        do {
            let (key, nonce) = try secret.key(responseNonce: buffer[..<nonceLength])
            try key.open(inPlace: &buffer, from: nonceLength, nonce: nonce)
        } catch {
            throw .cannotOpen
        }
        return buffer[nonceLength...]
    }
}
