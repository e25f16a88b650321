// The predefined parameter sets and the rules for arbitrary ones (spec bfv.md 1.1, 1.2, 11.4).

import RingMath

/// How the moduli of a set are bounded.
public enum SecurityLevel: Sendable, Equatable {
    /// No bound; for tests only.
    case unchecked
    /// 128 bits against quantum computers.
    case quantum128
}

/// Why a parameter set, or a use of one, is refused.
public enum ParameterError: Error, Sendable, Equatable {
    /// The numbers break a rule of bfv.md 1.2, named in the text.
    case invalid(String)
    /// No predefined set has this name.
    case unknownName(String)
}

/// Numbers that define an instance of BFV.
public struct ParameterSet: Sendable, Equatable, Hashable {
    /// N, a power of two.
    public let degree: Int
    /// t, a prime.
    public let plaintextModulus: UInt64
    /// q_0 … q_L; if there are two or more, the last is the key-switching modulus.
    public let coefficientModuli: [UInt64]
    /// Bound on the moduli.
    public let level: SecurityLevel

    /// Checks the rules of bfv.md 1.2 and throws `ParameterError.invalid` naming the one that is broken.
    public init(degree: Int, plaintextModulus: UInt64, coefficientModuli: [UInt64], level: SecurityLevel) throws {
        self.degree = degree
        self.plaintextModulus = plaintextModulus
        self.coefficientModuli = coefficientModuli
        self.level = level
        try validate()
    }

    private init(trusted degree: Int, _ t: UInt64, _ moduli: [UInt64], _ level: SecurityLevel) {
        self.degree = degree
        plaintextModulus = t
        coefficientModuli = moduli
        self.level = level
    }

    /// L: moduli of a fresh ciphertext.
    public var ciphertextModuliCount: Int { max(coefficientModuli.count - 1, 1) }
    /// Whether there is a key-switching modulus.
    public var hasEvaluationKeys: Bool { coefficientModuli.count > 1 }
    /// b: bits of payload in a coefficient.
    public var bitsPerCoefficient: Int { floorLog2(plaintextModulus) }
    /// P: bytes of payload in a plaintext.
    public var bytesPerPlaintext: Int { degree * bitsPerCoefficient / 8 }
    /// Whether the engine runs this set with 32-bit words.
    public var fits32Bits: Bool {
        // The second bound is that of a key switch with L digits (`Modulus.maximumDigits`); predefined sets are far from it.
        degree >= 16 && coefficientModuli.allSatisfy { $0 < 1 << 30 && UInt64(ciphertextModuliCount) * $0 < 1 << 31 }
    }

    /// Bits dropped from the two polynomials of a reply (bfv.md 11.4).
    public var replySkipLSBs: (Int, Int) {
        let q = coefficientModuli[0]
        let t = plaintextModulus
        let l = q >= 2 * t ? floorLog2(q / t) - 3 : 0
        let z = Int((8 * (2 * Double(degree) / 9).squareRoot()).rounded(.down))
        let second = l - ceilLog2(z)
        return second <= 1 ? (max(l + 1, 0), 0) : (max(l, 0), second)
    }

    /// Bytes of one reply ciphertext: two polynomials modulo `q_0` without the bits that are dropped.
    public var replyBytes: Int {
        let bits = floorLog2(coefficientModuli[0]) + 1
        let (first, second) = replySkipLSBs
        return 2 + packedBytes(count: degree, bits: bits - first) + packedBytes(count: degree, bits: bits - second)
    }

    private static let degreeBounds: [Int: Int] = [1024: 21, 2048: 41, 4096: 83, 8192: 165, 16384: 330, 32768: 660]

    private func validate() throws {
        func require(_ condition: Bool, _ rule: @autoclosure () -> String) throws {
            if !condition { throw ParameterError.invalid(rule()) }
        }
        try require(degree >= 8 && degree <= 32768 && degree & (degree - 1) == 0, "degree must be a power of two in 8 … 32768")
        try require((1...32).contains(coefficientModuli.count), "1 to 32 coefficient moduli expected")
        try require(Set(coefficientModuli).count == coefficientModuli.count, "coefficient moduli must differ")
        let limit = UInt64(1) << 60
        try require(plaintextModulus >= 2 && isPrime(plaintextModulus), "plaintext modulus must be prime")
        for q in coefficientModuli {
            try require(q > plaintextModulus, "every coefficient modulus must exceed the plaintext modulus")
            try require(q < limit, "coefficient modulus must be below 2^60")
            try require(q % (2 * UInt64(degree)) == 1, "coefficient modulus must be 1 modulo twice the degree")
            try require(isPrime(q), "coefficient modulus must be prime")
        }
        try require(plaintextModulus % 2 == 1, "plaintext modulus must be odd")
        if level == .quantum128 {
            guard let bound = Self.degreeBounds[degree] else {
                throw ParameterError.invalid("degree has no quantum128 bound")
            }
            try require(bitsOfProduct(coefficientModuli) <= bound, "product of the moduli exceeds 2^\(bound)")
        }
    }

    /// Bits of the exact product.
    private func bitsOfProduct(_ factors: [UInt64]) -> Int {
        var words: [UInt64] = [1]
        for f in factors {
            var carry: UInt64 = 0
            for i in words.indices {
                let p = words[i].multipliedFullWidth(by: f)
                let (low, overflow) = p.low.addingReportingOverflow(carry)
                words[i] = low
                carry = p.high + (overflow ? 1 : 0)
            }
            if carry > 0 { words.append(carry) }
        }
        return words.count * 64 - (words.last ?? 0).leadingZeroBitCount
    }

    private static let a: [UInt64] = [134_176_769, 268_369_921, 268_361_729]
    private static let b: [UInt64] = [40961, 8_589_852_673, 8_589_844_481]
    private static let c: [UInt64] = [36_028_797_018_652_673, 36_028_797_017_571_329, 36_028_797_017_456_641]
    private static let sixties: [UInt64] = [1_152_921_504_606_830_593, 1_152_921_504_606_748_673]
    private static let g: [UInt64] = [131249, 131297, 131441, 131489, 131617]
    private static let i: [UInt64] = [
        576_460_752_303_436_801, 576_460_752_303_439_873, 576_460_752_303_447_041, 576_460_752_303_471_617,
    ]

    /// The secure predefined sets, by name, in the order of the specification.
    public static let secure: [(name: String, set: ParameterSet)] = [
        ("n_4096_logq_27_28_28_logt_4", ParameterSet(trusted: 4096, 11, a, .quantum128)),
        ("n_4096_logq_27_28_28_logt_5", ParameterSet(trusted: 4096, 17, a, .quantum128)),
        ("n_4096_logq_27_28_28_logt_6", ParameterSet(trusted: 4096, 37, a, .quantum128)),
        ("n_4096_logq_27_28_28_logt_13", ParameterSet(trusted: 4096, 4099, a, .quantum128)),
        ("n_4096_logq_27_28_28_logt_16", ParameterSet(trusted: 4096, 40961, a, .quantum128)),
        ("n_4096_logq_27_28_28_logt_17", ParameterSet(trusted: 4096, 65537, a, .quantum128)),
        ("n_4096_logq_16_33_33_logt_4", ParameterSet(trusted: 4096, 11, b, .quantum128)),
        ("n_8192_logq_3x55_logt_24", ParameterSet(trusted: 8192, 8_404_993, c, .quantum128)),
        ("n_8192_logq_3x55_logt_29", ParameterSet(trusted: 8192, 268_582_913, c, .quantum128)),
        ("n_8192_logq_3x55_logt_30", ParameterSet(trusted: 8192, 536_903_681, c, .quantum128)),
        ("n_8192_logq_3x55_logt_42", ParameterSet(trusted: 8192, 2_199_023_288_321, c, .quantum128)),
        ("n_8192_logq_28_60_60_logt_20", ParameterSet(trusted: 8192, 557_057, [268_369_921] + sixties, .quantum128)),
        ("n_8192_logq_29_60_60_logt_15", ParameterSet(trusted: 8192, 16411, [536_690_689] + sixties, .quantum128)),
        ("n_8192_logq_40_60_60_logt_26", ParameterSet(trusted: 8192, 33_832_961, [1_099_511_480_321] + sixties, .quantum128)),
    ]

    /// Sets without security, for tests only.
    public static let insecure: [(name: String, set: ParameterSet)] = [
        ("insecure_n_8_logq_5x18_logt_5", ParameterSet(trusted: 8, 17, g, .unchecked)),
        ("insecure_n_16_logq_60_logt_15", ParameterSet(trusted: 16, 16417, [sixties[0]], .unchecked)),
        ("insecure_n_512_logq_4x60_logt_20", ParameterSet(trusted: 512, 525_313, i, .unchecked)),
    ]

    /// The set of this name. Throws `ParameterError.unknownName`; insecure sets only if allowed.
    public static func named(_ name: String, allowInsecure: Bool = false) throws -> ParameterSet {
        let known = allowInsecure ? secure + insecure : secure
        guard let found = known.first(where: { $0.name == name }) else { throw ParameterError.unknownName(name) }
        return found.set
    }

    /// The predefined name of this set, if it has one.
    public var name: String? { (Self.secure + Self.insecure).first { $0.set == self }?.name }

    /// Why this set cannot answer from a two-dimensional database, or nil if it can (keyword-pir.md 14.5): too little noise
    /// budget is left after a product of ciphertexts.
    public var refusalForTwoDimensions: String? {
        guard level == .quantum128 else {
            return hasEvaluationKeys ? nil : "the set has a single modulus, so there are no keys for a ciphertext product"
        }
        let unfit: Set<String> = [
            "n_4096_logq_27_28_28_logt_13", "n_4096_logq_27_28_28_logt_16", "n_4096_logq_27_28_28_logt_17",
            "n_8192_logq_3x55_logt_29", "n_8192_logq_3x55_logt_30", "n_8192_logq_3x55_logt_42",
            "n_8192_logq_40_60_60_logt_26", "n_8192_logq_28_60_60_logt_20",
        ]
        guard let name, unfit.contains(name) else { return nil }
        return "a product of ciphertexts leaves too little noise budget; use one dimension or another set"
    }
}
