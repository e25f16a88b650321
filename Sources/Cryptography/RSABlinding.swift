// The client's side of RSA blind signatures (RFC 9474 4.2, 4.4; service.md 2.9.2).

import COpenSSL

/// A message that was made unrecognisable for its signer, and what undoes that.
public struct BlindedMessage: Sendable {
    /// What the signer gets; as many bytes as the modulus has.
    public let bytes: [UInt8]
    /// `r⁻¹ mod n`.
    let inverse: [UInt8]
}

extension RSAPublicKey {
    /// EMSA-PSS (RFC 8017 9.1.1) with SHA-384 and MGF1-SHA-384 and this salt (48 fresh random bytes if nil), as many bytes as
    /// the modulus has.
    ///
    /// Throws `RSAError.libraryFailure`.
    public func pssEncoding(of message: [UInt8], salt: [UInt8]? = nil) throws(RSAError) -> [UInt8] {
        do {
            let salt = try salt ?? secureRandomBytes(Self.saltLength)
            let emBits = bits - 1
            let emLength = (emBits + 7) / 8
            let zeros = emLength - SHA384.length - salt.count - 2
            guard zeros >= 0 else { throw RSAError.libraryFailure("EMSA-PSS") }
            let hash = try SHA384.hash([UInt8](repeating: 0, count: 8), SHA384.hash(message), salt)
            var block = [UInt8](repeating: 0, count: zeros) + [1] + salt
            for (index, byte) in try Self.mask(seed: hash, count: block.count).enumerated() { block[index] ^= byte }
            block[0] &= 0xFF >> UInt8(8 * emLength - emBits)
            return [UInt8](repeating: 0, count: modulus.count - emLength) + block + hash + [0xBC]
        } catch {
            throw .libraryFailure("EMSA-PSS")
        }
    }

    /// MGF1 (RFC 8017 B.2.1) with SHA-384.
    private static func mask(seed: [UInt8], count: Int) throws -> [UInt8] {
        var out: [UInt8] = []
        var counter: UInt32 = 0
        while out.count < count {
            out += try SHA384.hash(seed, (0..<4).map { UInt8(truncatingIfNeeded: counter >> (24 - 8 * $0)) })
            counter += 1
        }
        return Array(out.prefix(count))
    }

    /// Blinds an encoded message: `m · r^e mod n`. The factor `r` is random; vectors give their own.
    ///
    /// Throws `RSAError.wrongLength`, `.notBelowModulus`, `.badBlindingFactor` (for a given one), `.keyCheckFailed` when the
    /// message and the modulus have a factor in common, and `.libraryFailure`.
    public func blind(encodedMessage: [UInt8], factor: [UInt8]? = nil) throws(RSAError) -> BlindedMessage {
        guard encodedMessage.count == modulus.count else {
            throw .wrongLength(expected: modulus.count, got: encodedMessage.count)
        }
        guard isBelowModulus(encodedMessage) else { throw .notBelowModulus }
        guard let scratch = BigNumberScratch(), let n = BigNumber(modulus), let e = BigNumber(exponent),
            let m = BigNumber(encodedMessage)
        else { throw .libraryFailure("BN_bin2bn") }
        let (r, inverse) = try Self.blindingFactor(factor, for: m, modulo: n, scratch)
        guard let power = scratch.power(r, publicExponent: e, modulo: n),
            let blinded = scratch.product(m, power, modulo: n)?.padded(to: modulus.count),
            let inverseBytes = inverse.padded(to: modulus.count)
        else { throw .libraryFailure("BN_mod_exp") }
        return BlindedMessage(bytes: blinded, inverse: inverseBytes)
    }

    /// The given factor or a random one, and its inverse. Also proves that the message has no factor in common with the modulus.
    private static func blindingFactor(
        _ given: [UInt8]?, for message: BigNumber, modulo n: BigNumber, _ scratch: BigNumberScratch
    ) throws(RSAError) -> (factor: BigNumber, inverse: BigNumber) {
        if let given {
            guard let r = BigNumber(given), !r.isZero, r < n,
                let inverse = scratch.inverse(ofSecret: r, provingCoprime: message, modulo: n)
            else { throw .badBlindingFactor }
            return (r, inverse)
        }
        // A random number has an inverse unless it is zero or holds a factor of n: one attempt is enough for a sound key.
        for _ in 0..<4 {
            guard let r = BigNumber(), BN_priv_rand_range(r.pointer, n.pointer) == 1 else {
                throw .libraryFailure("BN_priv_rand_range")
            }
            if !r.isZero, let inverse = scratch.inverse(ofSecret: r, provingCoprime: message, modulo: n) { return (r, inverse) }
        }
        throw .keyCheckFailed
    }

    /// Takes the blinding off the signer's answer and verifies the signature of `message` (RFC 9474 4.4).
    ///
    /// Throws `RSAError.wrongLength`, `.notBelowModulus`, and `.invalidSignature` when the signer misbehaved.
    public func finalise(_ blindSignature: [UInt8], of blinded: BlindedMessage, message: [UInt8]) throws(RSAError) -> [UInt8] {
        try finalise(blindSignature, of: blinded, message: message, saltLength: Self.saltLength)
    }

    /// As above, with another length of salt (RFC 9474 has variants without salt).
    func finalise(
        _ blindSignature: [UInt8], of blinded: BlindedMessage, message: [UInt8], saltLength: Int
    ) throws(RSAError) -> [UInt8] {
        guard blindSignature.count == modulus.count else {
            throw .wrongLength(expected: modulus.count, got: blindSignature.count)
        }
        guard isBelowModulus(blindSignature) else { throw .notBelowModulus }
        guard let scratch = BigNumberScratch(), let n = BigNumber(modulus), let z = BigNumber(blindSignature),
            let inverse = BigNumber(blinded.inverse),
            let signature = scratch.product(z, inverse, modulo: n)?.padded(to: modulus.count)
        else { throw .libraryFailure("BN_mod_mul") }
        guard verifyPSS(message: message, signature: signature, saltLength: saltLength) else { throw .invalidSignature }
        return signature
    }
}
