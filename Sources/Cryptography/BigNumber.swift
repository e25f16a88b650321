// Numbers of libcrypto, for what EVP does not offer: the client's side of blind RSA (RFC 9474), and keys from their numbers.

import COpenSSL

/// A non-negative number of libcrypto; its memory is erased when it goes.
final class BigNumber {
    let pointer: OpaquePointer

    /// Zero; nil if memory is short.
    init?() {
        guard let pointer = BN_new() else { return nil }
        self.pointer = pointer
    }

    /// Takes over a number that libcrypto allocated.
    init(taking pointer: OpaquePointer) { self.pointer = pointer }

    /// A number from big-endian bytes.
    init?(_ bytes: [UInt8]) {
        guard let count = Int32(exactly: bytes.count), let pointer = BN_bin2bn(bytes, count, nil) else { return nil }
        self.pointer = pointer
    }

    deinit { BN_clear_free(pointer) }

    var bits: Int { Int(BN_num_bits(pointer)) }

    /// Big-endian bytes without leading zeros; none for zero.
    var bytes: [UInt8] { padded(to: (bits + 7) / 8) ?? [] }

    /// Big-endian bytes with leading zeros; nil if the number does not fit.
    func padded(to count: Int) -> [UInt8]? {
        guard let length = Int32(exactly: count) else { return nil }
        var out = [UInt8](repeating: 0, count: count)
        return BN_bn2binpad(pointer, &out, length) == length ? out : nil
    }

    var isZero: Bool { BN_is_zero(pointer) == 1 }
    var isOne: Bool { BN_is_one(pointer) == 1 }
    var isOdd: Bool { BN_is_odd(pointer) == 1 }

    static func < (left: BigNumber, right: BigNumber) -> Bool { BN_cmp(left.pointer, right.pointer) < 0 }
}

/// Scratch space for calculations; one for each calculation.
final class BigNumberScratch {
    private let pointer: OpaquePointer

    init?() {
        guard let pointer = BN_CTX_new() else { return nil }
        self.pointer = pointer
    }

    deinit { BN_CTX_free(pointer) }

    /// `left · right mod modulus`.
    func product(_ left: BigNumber, _ right: BigNumber, modulo modulus: BigNumber) -> BigNumber? {
        guard let out = BigNumber(),
            BN_mod_mul(out.pointer, left.pointer, right.pointer, modulus.pointer, pointer) == 1
        else { return nil }
        return out
    }

    /// `base ^ exponent mod modulus` for an exponent that is public, and an odd modulus.
    func power(_ base: BigNumber, publicExponent exponent: BigNumber, modulo modulus: BigNumber) -> BigNumber? {
        guard let out = BigNumber(),
            BN_mod_exp(out.pointer, base.pointer, exponent.pointer, modulus.pointer, pointer) == 1
        else { return nil }
        return out
    }

    /// The inverse; nil where there is none. Not for secrets: its time depends on the number.
    func inverse(_ number: BigNumber, modulo modulus: BigNumber) -> BigNumber? {
        guard let out = BN_mod_inverse(nil, number.pointer, modulus.pointer, pointer) else {
            ERR_clear_error()
            return nil
        }
        return BigNumber(taking: out)
    }

    /// The inverse of a secret, and thereby proof that neither it nor `other` has a factor in common with the modulus; nil if one
    /// has. Only the product of both with a random number meets the branches of the algorithm.
    func inverse(ofSecret secret: BigNumber, provingCoprime other: BigNumber, modulo modulus: BigNumber) -> BigNumber? {
        guard let mask = BigNumber(), BN_priv_rand_range(mask.pointer, modulus.pointer) == 1,
            let rest = product(mask, other, modulo: modulus), let masked = product(secret, rest, modulo: modulus),
            let inverse = inverse(masked, modulo: modulus)
        else { return nil }
        return product(inverse, rest, modulo: modulus)
    }

    /// `number mod (divisor − 1)`.
    func remainder(_ number: BigNumber, byOneLessThan divisor: BigNumber) -> BigNumber? {
        guard let less = BN_dup(divisor.pointer).map(BigNumber.init(taking:)), let out = BigNumber(),
            BN_sub_word(less.pointer, 1) == 1,
            BN_div(nil, out.pointer, number.pointer, less.pointer, pointer) == 1
        else { return nil }
        return out
    }
}
