// The chunked form of encapsulated requests and responses (draft-ietf-ohai-chunked-ohttp-08; service.md 3.10):
// message/ohttp-chunked-req and message/ohttp-chunked-res.

import Cryptography

/// Opens a chunked request as it arrives, at the gateway. After an error it stays failed.
public struct ChunkedRequestOpener: Sendable {
    private let keys: GatewayKeySet
    private let limits: ChunkLimits
    /// Header and encapsulated key, while they are incomplete.
    private var beginning: [UInt8] = []
    private var exchange: (opening: RequestOpening, chunks: ChunkOpener)?
    private var failure: EncapsulationError?

    /// The id of the key with which the request is sealed, once its beginning has arrived.
    public private(set) var keyID: UInt8?

    /// An opener with these keys.
    public init(keys: GatewayKeySet, limits: ChunkLimits = ChunkLimits()) {
        self.keys = keys
        self.limits = limits
    }

    /// Takes bytes of the body, in any cut. Gives the plaintext of the chunks that are complete now, which is genuine, but not
    /// the whole message: do not act on it before `finish` has returned.
    ///
    /// Throws `EncapsulationError`.
    public mutating func append(_ bytes: ArraySlice<UInt8>) throws(EncapsulationError) -> [UInt8] {
        if let failure { throw failure }
        do throws(EncapsulationError) {
            var bytes = bytes
            if exchange == nil {
                let missing = RequestHeader.lengthWithKey - beginning.count
                beginning += bytes.prefix(missing)
                bytes = bytes.dropFirst(missing)
                guard beginning.count == RequestHeader.lengthWithKey else { return [] }
                try begin()
            }
            return try exchange?.chunks.append(bytes) ?? []
        } catch {
            failure = error
            throw error
        }
    }

    private mutating func begin() throws(EncapsulationError) {
        guard let header = RequestHeader(beginning) else { throw .malformed }
        let (key, aead) = try keys.key(for: header)
        let opening = try RequestOpening(
            header, encapsulatedKey: Array(beginning[RequestHeader.length...]), key: key, aead: aead, form: .chunked)
        let schedule = opening.receiver.schedule
        exchange = (opening, ChunkOpener(key: schedule.key, nonces: schedule.nonces, limits: limits))
        keyID = key.id
    }

    /// The body has ended: the plaintext of the final chunk, with which the message is complete.
    ///
    /// Throws `EncapsulationError`, above all `.truncated` if there was no final chunk.
    public mutating func finish() throws(EncapsulationError) -> [UInt8] {
        if let failure { throw failure }
        do throws(EncapsulationError) {
            guard exchange != nil else { throw .malformed }
            let plaintext = try exchange?.chunks.finish() ?? []
            guard exchange?.opening.isGenuine == true else { throw .cannotOpen }
            return plaintext
        } catch {
            failure = error
            throw error
        }
    }

    /// Seals the answer; to be made once for each answer, when something of the request has been opened.
    ///
    /// Throws `EncapsulationError.malformed` before the request's beginning has arrived, and what `append` has thrown for it,
    /// `.cannotOpen` if the library fails.
    public func responseSealer() throws(EncapsulationError) -> ChunkedResponseSealer {
        guard let exchangeSecret else { throw failure ?? .malformed }
        do {
            return try ChunkedResponseSealer(exchangeSecret, responseNonce: exchangeSecret.freshNonce())
        } catch {
            throw .cannotOpen
        }
    }

    /// What both sides know; nil before the request's beginning has arrived.
    var exchangeSecret: ResponseSecret? {
        exchange.flatMap { $0.opening.isGenuine ? $0.opening.responseSecret : nil }
    }
}

/// Seals a chunked response, at the gateway. Not copyable: two copies would use the same nonces.
public struct ChunkedResponseSealer: ~Copyable, Sendable {
    private var chunks: ChunkSealer

    init(_ secret: ResponseSecret, responseNonce: [UInt8]) throws(CryptographyError) {
        let (key, nonce) = try secret.key(responseNonce: responseNonce)
        chunks = ChunkSealer(key: key, nonces: NonceSequence(base: nonce), beginning: responseNonce)
    }

    /// The next bytes of the body: the plaintext in chunks of at most 16 KiB. The last call, and no other, must say that it is
    /// final; its plaintext may be empty.
    ///
    /// Throws `CryptographyError`.
    public mutating func seal(_ plaintext: ArraySlice<UInt8>, isFinal: Bool) throws(CryptographyError) -> [UInt8] {
        try chunks.seal(plaintext, isFinal: isFinal)
    }
}

/// Seals a chunked request, at the client. Not copyable: two copies would use the same nonces.
public struct ChunkedRequestSealer: ~Copyable, Sendable {
    private var chunks: ChunkSealer
    private let secret: ResponseSecret

    init(_ header: RequestHeader, publicKey: [UInt8], aead: HPKEAEAD, ephemeral: X25519PrivateKey) throws(CryptographyError) {
        let sender = try HPKESender(to: publicKey, aead: aead, info: header.info(.chunked), ephemeral: ephemeral)
        let schedule = sender.schedule
        secret = try ResponseSecret(
            HKDFSHA256(), schedule, encapsulatedKey: sender.encapsulatedKey, label: EncapsulatedForm.chunked.responseLabel)
        chunks = ChunkSealer(
            key: schedule.key, nonces: schedule.nonces, beginning: header.encoded + sender.encapsulatedKey)
    }

    /// The next bytes of the body: the plaintext in chunks of at most 16 KiB. The last call, and no other, must say that it is
    /// final; its plaintext may be empty.
    ///
    /// Throws `CryptographyError`.
    public mutating func seal(_ plaintext: ArraySlice<UInt8>, isFinal: Bool) throws(CryptographyError) -> [UInt8] {
        try chunks.seal(plaintext, isFinal: isFinal)
    }

    /// Opens the answer.
    public func responseOpener(limits: ChunkLimits = ChunkLimits()) -> ChunkedResponseOpener {
        ChunkedResponseOpener(secret, limits: limits)
    }
}

extension KeyConfiguration {
    /// Begins a chunked request to the gateway, with a fresh key.
    ///
    /// Throws `EncapsulationError.unsupportedSuite` if the configuration does not list the AEAD, `.malformed` if its public key
    /// is no proper one.
    public func encapsulateChunked(aead: HPKEAEAD? = nil) throws(EncapsulationError) -> ChunkedRequestSealer {
        try encapsulateChunked(aead: aead, ephemeral: Self.freshKey())
    }

    /// With a given ephemeral key, for vectors.
    func encapsulateChunked(aead: HPKEAEAD?, ephemeral: X25519PrivateKey) throws(EncapsulationError) -> ChunkedRequestSealer {
        let aead = try usable(aead)
        do {
            return try ChunkedRequestSealer(
                RequestHeader(keyID: id, aead: aead), publicKey: publicKey, aead: aead, ephemeral: ephemeral)
        } catch {
            throw .malformed
        }
    }
}

/// Opens a chunked response as it arrives, at the client. After an error it stays failed.
public struct ChunkedResponseOpener: Sendable {
    private let secret: ResponseSecret
    private let limits: ChunkLimits
    private var responseNonce: [UInt8] = []
    private var chunks: ChunkOpener?
    private var failure: EncapsulationError?

    init(_ secret: ResponseSecret, limits: ChunkLimits) {
        self.secret = secret
        self.limits = limits
    }

    /// Takes bytes of the body, in any cut. Gives the plaintext of the chunks that are complete now, which is genuine, but not
    /// the whole message: that it is only when `finish` has returned.
    ///
    /// Throws `EncapsulationError`.
    public mutating func append(_ bytes: ArraySlice<UInt8>) throws(EncapsulationError) -> [UInt8] {
        if let failure { throw failure }
        do throws(EncapsulationError) {
            var bytes = bytes
            if chunks == nil {
                let missing = secret.aead.responseNonceLength - responseNonce.count
                responseNonce += bytes.prefix(missing)
                bytes = bytes.dropFirst(missing)
                guard responseNonce.count == secret.aead.responseNonceLength else { return [] }
                try begin()
            }
            return try chunks?.append(bytes) ?? []
        } catch {
            failure = error
            throw error
        }
    }

    private mutating func begin() throws(EncapsulationError) {
        do {
            let (key, nonce) = try secret.key(responseNonce: responseNonce)
            chunks = ChunkOpener(key: key, nonces: NonceSequence(base: nonce), limits: limits)
        } catch {
            throw .cannotOpen
        }
    }

    /// The body has ended: the plaintext of the final chunk, with which the message is complete.
    ///
    /// Throws `EncapsulationError`, above all `.truncated` if there was no final chunk.
    public mutating func finish() throws(EncapsulationError) -> [UInt8] {
        if let failure { throw failure }
        do throws(EncapsulationError) {
            guard chunks != nil else { throw .malformed }
            return try chunks?.finish() ?? []
        } catch {
            failure = error
            throw error
        }
    }
}
