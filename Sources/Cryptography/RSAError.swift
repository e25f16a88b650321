// What can go wrong with RSA keys and signatures.

/// Why an RSA key or operation was refused. Texts name sizes and operations, never bytes.
public enum RSAError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The text is not a PKCS#8 private key in PEM.
    case notAPrivateKey
    /// The key is of another kind, or restricted to RSASSA-PSS, which rules out blind signing.
    case notAnRSAKey
    /// The key is encrypted, and no passphrase was given.
    case passphraseNeeded
    /// The passphrase does not open the key, or the key is damaged.
    case wrongPassphrase
    /// The modulus has a size that is not supported, or is even.
    case unsupportedModulus(bits: Int)
    /// The public exponent is even, 1, or longer than 64 bits.
    case unsupportedExponent
    /// The library found the numbers of the key inconsistent.
    case keyCheckFailed
    /// The input has another length than the modulus, in bytes.
    case wrongLength(expected: Int, got: Int)
    /// The input, as a number, is not below the modulus.
    case notBelowModulus
    /// The private operation failed.
    case signingFailed
    /// The result of the private operation does not lead back to the input: the key or the machine is faulty.
    case signatureCheckFailed
    /// The blinding factor has no inverse or is out of range.
    case badBlindingFactor
    /// The finished signature does not verify.
    case invalidSignature
    /// The named operation failed inside libcrypto.
    case libraryFailure(String)

    /// The reason in words.
    public var description: String {
        switch self {
        case .notAPrivateKey: "not a PKCS#8 private key in PEM"
        case .notAnRSAKey: "not a plain RSA key (rsaEncryption)"
        case .passphraseNeeded: "the key is encrypted and no passphrase was given"
        case .wrongPassphrase: "the passphrase does not open the key, or the key is damaged"
        case .unsupportedModulus(let bits):
            "a modulus of \(bits) bits, where an odd one of \(RSAPublicKey.supportedBits.lowerBound) to "
                + "\(RSAPublicKey.supportedBits.upperBound) bits is supported"
        case .unsupportedExponent: "the public exponent must be odd, above 1, and of at most 64 bits"
        case .keyCheckFailed: "the numbers of the key do not belong together"
        case .wrongLength(let expected, let got): "\(got) bytes, where the key's \(expected) are needed"
        case .notBelowModulus: "the value is not below the modulus"
        case .signingFailed: "the private operation failed"
        case .signatureCheckFailed: "the private operation gave a wrong result"
        case .badBlindingFactor: "the blinding factor is out of range or has no inverse"
        case .invalidSignature: "the signature does not verify"
        case .libraryFailure(let operation): "\(operation) failed"
        }
    }
}
