// HPKE in base mode with DHKEM(X25519, HKDF-SHA256) and HKDF-SHA256 (RFC 9180 4.1, 5.1.1, 5.2, 5.3; service.md 4.1).

import Cryptography

/// Secrets of the KEM.
enum KEMSecret {
    /// What both sides derive from the result of Diffie-Hellman.
    static func shared(
        _ hkdf: borrowing HKDFSHA256, _ secret: SecretBytes, encapsulatedKey: some Collection<UInt8>, recipient: [UInt8]
    ) throws(CryptographyError) -> SecretBytes {
        let kem = LabeledHKDF.kem
        return try kem.expand(
            hkdf, kem.extract(hkdf, "eae_prk", secret), "shared_secret", Array(encapsulatedKey) + recipient,
            HKDFSHA256.keyLength)
    }

    /// DeriveKeyPair of RFC 9180 7.1.3; the vectors begin with it.
    static func privateKey(from material: SecretBytes) throws(CryptographyError) -> X25519PrivateKey {
        let kem = LabeledHKDF.kem
        let hkdf = try HKDFSHA256()
        return try X25519PrivateKey(
            rawBytes: kem.expand(hkdf, kem.extract(hkdf, "dkp_prk", material), "sk", [], X25519PrivateKey.length))
    }
}

/// What both sides know once the key has been encapsulated.
struct HPKESchedule: Sendable {
    let aead: HPKEAEAD
    let key: AEADKey
    let nonces: NonceSequence
    let exporterSecret: SecretBytes
    private let labels: LabeledHKDF

    init(
        _ hkdf: borrowing HKDFSHA256, sharedSecret: SecretBytes, aead: HPKEAEAD, info: [UInt8]
    ) throws(CryptographyError) {
        let labels = LabeledHKDF.schedule(aead)
        var emptyKeyID = Self.emptyKeyIDs[aead]
        if emptyKeyID == nil { emptyKeyID = try labels.extract(hkdf, "psk_id_hash") }
        let infoHash = try labels.extract(hkdf, "info_hash", SecretBytes(copying: info))
        let context = [0] + (emptyKeyID?.exposed ?? []) + infoHash.exposed
        let secret = try labels.extract(hkdf, salt: sharedSecret, "secret")
        key = try AEADKey(aead.algorithm, key: labels.expand(hkdf, secret, "key", context, aead.algorithm.keyLength))
        nonces = NonceSequence(
            base: try labels.expand(hkdf, secret, "base_nonce", context, AEADAlgorithm.nonceLength).exposed)
        exporterSecret = try labels.expand(hkdf, secret, "exp", context, HKDFSHA256.keyLength)
        self.aead = aead
        self.labels = labels
    }

    /// The hash of the absent pre-shared key's id depends on the suite only.
    private static let emptyKeyIDs: [HPKEAEAD: SecretBytes] = {
        var hashes: [HPKEAEAD: SecretBytes] = [:]
        guard let hkdf = try? HKDFSHA256() else { return hashes }
        for aead in HPKEAEAD.allCases { hashes[aead] = try? LabeledHKDF.schedule(aead).extract(hkdf, "psk_id_hash") }
        return hashes
    }()

    func export(_ hkdf: borrowing HKDFSHA256, _ context: [UInt8], count: Int) throws(CryptographyError) -> SecretBytes {
        try labels.expand(hkdf, exporterSecret, "sec", context, count)
    }
}

/// Nonces of one key's messages: the base xor the message's number.
struct NonceSequence: Sendable {
    let base: [UInt8]
    private(set) var number: UInt64 = 0

    init(base: [UInt8]) { self.base = base }

    /// The nonce of a message.
    func nonce(_ number: UInt64) -> [UInt8] {
        var nonce = base
        for i in 0..<min(8, nonce.count) { nonce[nonce.count - 1 - i] ^= UInt8(truncatingIfNeeded: number >> (8 * UInt64(i))) }
        return nonce
    }

    /// The next message's nonce.
    ///
    /// Throws `CryptographyError.libraryFailure` after 2^64 - 1 messages.
    mutating func next() throws(CryptographyError) -> [UInt8] {
        guard number < .max else { throw .libraryFailure("the key's last nonce has been used") }
        defer { number += 1 }
        return nonce(number)
    }
}

/// The side that encrypts: anyone who has the receiver's public key. Not copyable: two copies would use the same nonces.
public struct HPKESender: ~Copyable, Sendable {
    /// What the receiver needs to set up its side, 32 bytes.
    public let encapsulatedKey: [UInt8]
    let schedule: HPKESchedule
    private var nonces: NonceSequence

    /// Sets up a fresh key with the owner of a public key. `info` ties it to its use.
    ///
    /// Throws `CryptographyError`, above all `.lowOrderPoint` and `.badLength` for a bad public key.
    public init(to publicKey: [UInt8], aead: HPKEAEAD, info: [UInt8]) throws(CryptographyError) {
        let ephemeral = try X25519PrivateKey.generate()
        try self.init(to: publicKey, aead: aead, info: info, ephemeral: ephemeral)
    }

    /// With a given ephemeral key, for vectors.
    init(to publicKey: [UInt8], aead: HPKEAEAD, info: [UInt8], ephemeral: X25519PrivateKey) throws(CryptographyError) {
        let secret = try ephemeral.sharedSecret(with: publicKey)
        let hkdf = try HKDFSHA256()
        let schedule = try HPKESchedule(
            hkdf, sharedSecret: KEMSecret.shared(hkdf, secret, encapsulatedKey: ephemeral.publicKey, recipient: publicKey),
            aead: aead,
            info: info)
        self.init(encapsulatedKey: ephemeral.publicKey, schedule)
    }

    private init(encapsulatedKey: [UInt8], _ schedule: HPKESchedule) {
        self.encapsulatedKey = encapsulatedKey
        self.schedule = schedule
        nonces = schedule.nonces
    }

    /// The next message's ciphertext, 16 bytes longer than the plaintext.
    ///
    /// Throws `CryptographyError`.
    public mutating func seal(_ plaintext: ArraySlice<UInt8>, authenticating data: [UInt8] = []) throws(CryptographyError)
        -> [UInt8]
    {
        try schedule.key.seal(plaintext, nonce: nonces.next(), authenticating: data)
    }

    /// Encrypts the end of a buffer in place as the next message, and appends the tag.
    ///
    /// Throws `CryptographyError`.
    public mutating func seal(inPlace buffer: inout [UInt8], from start: Int) throws(CryptographyError) {
        try schedule.key.seal(inPlace: &buffer, from: start, nonce: nonces.next())
    }

    /// A secret that only both sides know.
    ///
    /// Throws `CryptographyError`.
    public func export(_ context: [UInt8], count: Int) throws(CryptographyError) -> SecretBytes {
        try schedule.export(HKDFSHA256(), context, count: count)
    }
}

/// The side that decrypts.
public struct HPKEReceiver: Sendable {
    let schedule: HPKESchedule
    private var nonces: NonceSequence

    /// Sets up the key that a sender has encapsulated.
    ///
    /// Throws `CryptographyError`, above all `.lowOrderPoint` and `.badLength` for a bad encapsulated key.
    public init(encapsulatedKey: ArraySlice<UInt8>, privateKey: X25519PrivateKey, aead: HPKEAEAD, info: [UInt8])
        throws(CryptographyError)
    {
        try self.init(
            HKDFSHA256(), secret: privateKey.sharedSecret(with: encapsulatedKey), encapsulatedKey: encapsulatedKey,
            recipient: privateKey.publicKey, aead: aead, info: info)
    }

    /// From the result of Diffie-Hellman.
    init(
        _ hkdf: borrowing HKDFSHA256, secret: SecretBytes, encapsulatedKey: ArraySlice<UInt8>, recipient: [UInt8],
        aead: HPKEAEAD, info: [UInt8]
    ) throws(CryptographyError) {
        schedule = try HPKESchedule(
            hkdf, sharedSecret: KEMSecret.shared(hkdf, secret, encapsulatedKey: encapsulatedKey, recipient: recipient),
            aead: aead,
            info: info)
        nonces = schedule.nonces
    }

    /// The next message's plaintext.
    ///
    /// Throws `CryptographyError.openingFailed`; the same message may be tried again then.
    public mutating func open(_ ciphertext: ArraySlice<UInt8>, authenticating data: [UInt8] = []) throws(CryptographyError)
        -> [UInt8]
    {
        let plaintext = try schedule.key.open(ciphertext, nonce: nonces.nonce(nonces.number), authenticating: data)
        _ = try nonces.next()
        return plaintext
    }

    /// Decrypts the end of a buffer in place as the next message, and removes the tag.
    ///
    /// Throws `CryptographyError.openingFailed`; the bytes are gone then.
    public mutating func open(inPlace buffer: inout [UInt8], from start: Int) throws(CryptographyError) {
        try schedule.key.open(inPlace: &buffer, from: start, nonce: nonces.nonce(nonces.number))
        _ = try nonces.next()
    }

    /// A secret that only both sides know.
    ///
    /// Throws `CryptographyError`.
    public func export(_ context: [UInt8], count: Int) throws(CryptographyError) -> SecretBytes {
        try schedule.export(HKDFSHA256(), context, count: count)
    }
}
