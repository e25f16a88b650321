// The two word widths of the engine. A generic algorithm names its row operations through `ResidueWord`; each width
// answers with its own kernels, so that nothing inside a row is dispatched at run time.

import CProcessor

#if canImport(Glibc)
    import Glibc
#endif

/// Which build of the kernels runs.
public enum KernelChoice: String, Sendable {
    /// The baseline of the architecture.
    case portable
    /// x86-64 with AVX2.
    case avx2

    /// Chosen once at start by what the processor has; `VEILRING_KERNELS=portable` forces the baseline.
    public static let current: KernelChoice = {
        if let forced = getenv("VEILRING_KERNELS"), String(cString: forced) == "portable" { return .portable }
        return cprocessor_has_avx2() == 1 ? .avx2 : .portable
    }()
}

@usableFromInline let useAVX2 = KernelChoice.current == .avx2

/// A machine word that holds residues, with the row operations for it.
///
/// All rows have `n` words, a power of two of at least 8 (16 for 32-bit words).
public protocol ResidueWord: FixedWidthInteger & UnsignedInteger & BitwiseCopyable & Sendable
where Magnitude == Self, Stride == Int {
    /// Residues of a plaintext that lie together in a shard: one cache line.
    static var tile: Int { get }
    /// Forward transform in place; input below 4q, output reduced (bfv.md 2.2).
    static func forward(_ row: UnsafeMutablePointer<Self>, _ table: NTTTable<Self>)
    /// `liftCentered` to the table's modulus and its forward transform in one; `out` is not `x`.
    static func forwardCentered(
        _ x: UnsafePointer<Self>, _ out: UnsafeMutablePointer<Self>, from: Self, _ table: NTTTable<Self>)
    /// `(values − x)·w` with x as `forwardCentered` makes it from `remainder`; values below 2q, output reduced. `out` is none
    /// of the rows that are read.
    static func subtractForwardCentered(
        _ values: UnsafePointer<Self>, _ remainder: UnsafePointer<Self>, _ out: UnsafeMutablePointer<Self>, from: Self,
        by w: Self, _ ws: Self, _ table: NTTTable<Self>)
    /// Inverse transform; input below 2q, output reduced. `out` may be `x`.
    static func inverse(_ x: UnsafePointer<Self>, _ out: UnsafeMutablePointer<Self>, _ table: NTTTable<Self>)
    /// Both key-switch sums of a row; see `Kernels32.keySwitchRow`.
    static func keySwitchRow(
        digits: UnsafePointer<Self>, digitStride: Int, key: UnsafePointer<Self>, keyStride: Int, polyStride: Int, count: Int,
        places: UnsafePointer<UInt32>?, out0: UnsafeMutablePointer<Self>, out1: UnsafeMutablePointer<Self>, n: Int,
        _ q: Modulus<Self>)
    /// One row of a column of the first dimension; see `Kernels32.innerProductRow`.
    static func innerProductRow(
        plaintexts: UnsafePointer<Self>, indices: UnsafePointer<Int32>, count: Int, selection: UnsafePointer<Self>,
        selectionStride: Int, out0: UnsafeMutablePointer<Self>, out1: UnsafeMutablePointer<Self>, n: Int, _ q: Modulus<Self>)
    /// One row of a sum of tensor products; see `Kernels32.tensorRow`.
    static func tensorRow(
        a: UnsafePointer<Self>, aStride: Int, aPoly: Int, b: UnsafePointer<Self>, bStride: Int, bPoly: Int, count: Int,
        out: (UnsafeMutablePointer<Self>, UnsafeMutablePointer<Self>, UnsafeMutablePointer<Self>), n: Int, _ q: Modulus<Self>)
    /// Children of a tree node; see `Kernels32.split`.
    static func split(
        _ a: UnsafePointer<Self>, _ t: UnsafePointer<Self>, monomial: UnsafePointer<Self>, monomialShoup: UnsafePointer<Self>,
        block: Int, even: UnsafeMutablePointer<Self>, odd: UnsafeMutablePointer<Self>, n: Int, _ q: Modulus<Self>)
    /// `x·w` for a constant w with its Shoup companion; any input word, output reduced.
    static func scale(
        _ x: UnsafePointer<Self>, _ out: UnsafeMutablePointer<Self>, n: Int, by w: Self, _ ws: Self, _ q: Modulus<Self>)
    /// `(x − y)·w`; x and y below 2q, output reduced.
    static func subtractAndScale(
        _ x: UnsafePointer<Self>, _ y: UnsafePointer<Self>, _ out: UnsafeMutablePointer<Self>, n: Int, by w: Self, _ ws: Self,
        _ q: Modulus<Self>)
    /// Centered residues of modulus `from` as residues of `q` below 2q.
    static func liftCentered(
        _ x: UnsafePointer<Self>, _ out: UnsafeMutablePointer<Self>, n: Int, from: Self, _ q: Modulus<Self>)
    /// Nearest integer to `Σ z_i/s_i` for `count` rows z_i; `shifts` and `fraction` as in `BasisConverter`.
    static func quotientRow(
        _ z: UnsafePointer<Self>, stride: Int, count: Int, _ shifts: [Int32], _ fraction: [Self],
        _ out: UnsafeMutablePointer<Self>, n: Int)
    /// `Σ z_i·column_i` for `count` rows and constants in the form of `Modulus.factor`, reduced.
    static func convertRow(
        _ z: UnsafePointer<Self>, stride: Int, count: Int, _ column: UnsafePointer<Self>, _ out: UnsafeMutablePointer<Self>,
        n: Int, _ q: Modulus<Self>)
    /// Sum of reduced residues.
    static func add(
        _ x: UnsafePointer<Self>, _ y: UnsafePointer<Self>, _ out: UnsafeMutablePointer<Self>, n: Int, _ q: Modulus<Self>)
    /// `σ(a) + sum`, reduced, for the places that σ takes values to; see `Kernels32.addPermuted`.
    static func addPermuted(
        _ a: UnsafePointer<Self>, _ sum: UnsafePointer<Self>, places: UnsafePointer<UInt32>,
        _ out: UnsafeMutablePointer<Self>, n: Int, _ q: Modulus<Self>)
}

extension ResidueWord {
    /// Inverse transform in place.
    @inlinable public static func inverse(_ row: UnsafeMutablePointer<Self>, _ table: NTTTable<Self>) {
        inverse(UnsafePointer(row), row, table)
    }

    /// Distance of rows that are read side by side: one cache line more than the row, since lines whose distance is a multiple
    /// of 4096 bytes compete for the same few places of the first-level cache.
    public static func rowStride(degree: Int) -> Int { degree + tile }
}

extension Modulus {
    /// A multiple of q that makes centered residues of modulus `from` positive.
    @inline(__always)
    func offset(from: Word) -> Word { (from / 2 / value + 1) &* value }

    /// Digits that one key switch may sum. With 32-bit words the sum must come out of Montgomery's reduction below 2q
    /// (`count·2q < 2^32`), with 64-bit words its crossed limbs must stay below 2^64 (see `keySwitchRow` of the kernels).
    public static func maximumDigits(of q: Word) -> Int {
        if Word.bitWidth == 32 { return Int(((1 << 31) - 1) / UInt64(q)) }
        let most = (UInt64.max - 1 << 40) / (3 << UInt64(q.bitWidth - q.leadingZeroBitCount))
        return Int(min(most, 1 << 16))
    }

    /// A constant or a key as `convertRow` and `keySwitchRow` take it: in Montgomery form in 32-bit words, as it is in 64-bit
    /// words, whose sums are brought back in another way.
    public func factor(_ x: Word) -> Word { Word.bitWidth == 32 ? multiply(x, r) : x }

    /// Products of two reduced residues that fit an unreduced sum, with the top bit of the double word kept free.
    @inline(__always)
    var productsPerSum: Int {
        let free = 2 * Word.bitWidth - 1 - 2 * bits
        return free >= 16 ? 1 << 16 : 1 << max(free, 0)
    }
}
