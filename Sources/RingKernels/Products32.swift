// Row operations on 32-bit residues: key-switch sums, plaintext sums, tensor sums, lifting and rounding division.
// Sums of products are kept in 64 bits and reduced once (Montgomery with R = 2^32).

import CProcessor

extension Kernels32 {
    /// `a·R^-1 mod q` in (0, q + a/2^32) for sums of even and of odd lanes: Montgomery's reduction without the last
    /// subtraction. The lower halves cancel, so only the upper ones are subtracted.
    ///
    /// - `qInverse`: `q^-1 mod 2^32`. Sums below `2^63`.
    @inline(__always) static func redc(_ e: Wide, _ o: Wide, _ q: Lanes, _ qInverse: Lanes) -> Lanes {
        upperLess(e, o, q, qInverse) &+ q
    }

    /// The same in [0, q) for sums below `2^32·q`.
    @inline(__always) static func redcReduced(_ e: Wide, _ o: Wide, _ q: Lanes, _ qInverse: Lanes) -> Lanes {
        let r = upperLess(e, o, q, qInverse)
        // Negative ones are large as they stand.
        return least(r, r &+ q)
    }

    @inline(__always) static func upperLess(_ e: Wide, _ o: Wide, _ q: Lanes, _ qInverse: Lanes) -> Lanes {
        let (q64, i64) = (even(q), even(qInverse))
        // Multiples of q with the same lower halves: what is left stands in the upper ones.
        let me = (((e & lowMask) &* i64) & lowMask) &* q64
        let mo = (((o & lowMask) &* i64) & lowMask) &* q64
        return lanes(((e &- me) &>> 32) | ((o &- mo) & highMask))
    }

    @inline(__always) static func even(_ x: Lanes) -> Wide { wide(x) & lowMask }
    @inline(__always) static func odd(_ x: Lanes) -> Wide { wide(x) &>> 32 }
    @inline(__always) static func interleave(_ even: Wide, _ odd: Wide) -> Lanes { lanes(even | (odd &<< 32)) }

    /// Key-switch sums of one row: `out_p = Σ_j digits[j] ∘ key[j][p]` for both polynomials p, reduced to [0, q).
    ///
    /// - `digits`: `count` rows of `n` residues in [0, 2q), `digitStride` words apart.
    /// - `key`: `count` pairs of rows in Montgomery form; row (j, p) starts at `j·keyStride + p·polyStride`.
    /// - `places`: where an automorphism takes the sums, as `Ring.places` gives it: entry `8·b + k` is `8·d + l` if entry
    ///   `8·b + l` goes to `8·d + k`. Eight neighbours go to eight neighbours, since an odd multiplier keeps the low bits of an
    ///   exponent apart from what stands above them (bfv.md 7.2, bit-reversed order). What is read is far more than what is
    ///   written, and comes from larger caches: so it is read in order.
    /// - `count·2q < 2^32`, so that one subtraction reduces what Montgomery's reduction leaves (below 2q).
    public static func keySwitchRow(
        _ digits: UnsafePointer<UInt32>, _ digitStride: Int, _ key: UnsafePointer<UInt32>, _ keyStride: Int, _ polyStride: Int,
        _ count: Int, _ places: UnsafePointer<UInt32>?,
        _ out0: UnsafeMutablePointer<UInt32>, _ out1: UnsafeMutablePointer<UInt32>, _ n: Int, _ q: UInt32, _ qInverse: UInt32
    ) {
        let (qv, iv) = (Lanes(repeating: q), Lanes(repeating: qInverse))
        if n < 8 { return }
        var i = 0
        while i < n {
            var sums = KeySums()
            if count == 2 {
                // The usual number, without a loop that would take as long as what is in it.
                sums.add(digits + i, key + i, polyStride)
                sums.add(digits + (digitStride &+ i), key + (keyStride &+ i), polyStride)
            } else {
                for j in 0..<count { sums.add(digits + (j &* digitStride &+ i), key + (j &* keyStride &+ i), polyStride) }
            }
            var r0 = redcReduced(sums.e0, sums.o0, qv, iv)
            var r1 = redcReduced(sums.e1, sums.o1, qv, iv)
            var to = i
            if let places {
                let order = load(places, i)
                to = Int(places[i]) & ~7
                r0 = permuted(r0, order)
                r1 = permuted(r1, order)
            }
            store(r0, out0, to)
            store(r1, out1, to)
            i &+= 8
        }
    }

    /// Even and odd places of the sums for both polynomials.
    struct KeySums {
        var (e0, o0, e1, o1) = (Wide(), Wide(), Wide(), Wide())

        @inline(__always) init() {}

        @inline(__always) mutating func add(_ digit: UnsafePointer<UInt32>, _ key: UnsafePointer<UInt32>, _ polyStride: Int) {
            let (d, k0, k1) = (load(digit, 0), load(key, 0), load(key, polyStride))
            e0 = e0 &+ even(d) &* even(k0)
            o0 = o0 &+ odd(d) &* odd(k0)
            e1 = e1 &+ even(d) &* even(k1)
            o1 = o1 &+ odd(d) &* odd(k1)
        }
    }

    /// How many words ahead a plaintext is asked for: a page of memory, at whose end the processor's own foresight ends.
    static var prefetchDistance: Int { 16 &* 64 }

    /// One column of the first dimension, one row: sums over `count` plaintexts for both polynomials of the selection.
    ///
    /// - `plaintexts`: tiles of 16 residues; tile t of the a-th plaintext present starts at `(t·count + a)·16`.
    /// - `selection`: polynomial p of selection ciphertext c starts at `(2·c + p)·selectionStride`.
    /// - `indices`: which selection ciphertext the a-th plaintext belongs to.
    /// - Residues in [0, q), `q < 2^28` (`2^30` if the sums are flushed every 8 products); `flush` products per reduction.
    public static func innerProductRow(
        _ plaintexts: UnsafePointer<UInt32>, _ indices: UnsafePointer<Int32>, _ count: Int,
        _ selection: UnsafePointer<UInt32>, _ selectionStride: Int,
        _ out0: UnsafeMutablePointer<UInt32>, _ out1: UnsafeMutablePointer<UInt32>, _ n: Int,
        _ q: UInt32, _ qInverse: UInt32, _ r: UInt32, _ rShoup: UInt32, _ flush: Int
    ) {
        let qv = Lanes(repeating: q)
        let iv = Lanes(repeating: qInverse)
        let rv = Lanes(repeating: r)
        let rs = Lanes(repeating: rShoup)
        var i = 0
        var p = plaintexts
        while i < n {
            var sum = (Lanes(), Lanes(), Lanes(), Lanes())
            var start = 0
            while start < count {
                let end = min(start &+ flush, count)
                var (a0, a1, a2, a3) = (Wide(), Wide(), Wide(), Wide())
                var (b0, b1, b2, b3) = (Wide(), Wide(), Wide(), Wide())
                for a in start..<end {
                    let u = selection + (Int(indices[a]) &* 2 &* selectionStride &+ i)
                    let v = u + selectionStride
                    cprocessor_prefetch(p + prefetchDistance)
                    // The next tile of so many rows is more than the processor foresees.
                    cprocessor_prefetch_near(u + 16)
                    cprocessor_prefetch_near(v + 16)
                    let x = load(p, 0)
                    let y = load(p, 8)
                    let (xe, xo, ye, yo) = (even(x), odd(x), even(y), odd(y))
                    let u0 = load(u, 0)
                    let u1 = load(u, 8)
                    a0 = a0 &+ xe &* even(u0)
                    a1 = a1 &+ xo &* odd(u0)
                    a2 = a2 &+ ye &* even(u1)
                    a3 = a3 &+ yo &* odd(u1)
                    let v0 = load(v, 0)
                    let v1 = load(v, 8)
                    b0 = b0 &+ xe &* even(v0)
                    b1 = b1 &+ xo &* odd(v0)
                    b2 = b2 &+ ye &* even(v1)
                    b3 = b3 &+ yo &* odd(v1)
                    p += 16
                }
                sum.0 = reduceOnce(sum.0 &+ scaleBack(a0, a1, qv, iv, rv, rs), qv)
                sum.1 = reduceOnce(sum.1 &+ scaleBack(a2, a3, qv, iv, rv, rs), qv)
                sum.2 = reduceOnce(sum.2 &+ scaleBack(b0, b1, qv, iv, rv, rs), qv)
                sum.3 = reduceOnce(sum.3 &+ scaleBack(b2, b3, qv, iv, rv, rs), qv)
                start = end
            }
            store(sum.0, out0, i)
            store(sum.1, out0, i &+ 8)
            store(sum.2, out1, i)
            store(sum.3, out1, i &+ 8)
            i &+= 16
        }
    }

    /// 64-bit sums to residues in [0, q): Montgomery's reduction, then times R.
    @inline(__always) static func scaleBack(
        _ e: Wide, _ o: Wide, _ q: Lanes, _ iv: Lanes, _ r: Lanes, _ rs: Lanes
    ) -> Lanes {
        reduceOnce(mulShoup(redc(e, o, q, iv), r, rs, q), q)
    }

    /// Tensor product of one row, summed over `count` pairs of ciphertexts: `Σ a0·b0`, `Σ a0·b1 + a1·b0`, `Σ a1·b1` in [0, q).
    ///
    /// Polynomial p of pair j starts at `j·stride + p·polyStride` in `a` and in `b`; residues in [0, q).
    public static func tensorRow(
        _ a: UnsafePointer<UInt32>, _ aStride: Int, _ aPoly: Int, _ b: UnsafePointer<UInt32>, _ bStride: Int, _ bPoly: Int,
        _ count: Int,
        _ out0: UnsafeMutablePointer<UInt32>, _ out1: UnsafeMutablePointer<UInt32>, _ out2: UnsafeMutablePointer<UInt32>,
        _ n: Int, _ q: UInt32, _ qInverse: UInt32, _ r: UInt32, _ rShoup: UInt32, _ flush: Int
    ) {
        let qv = Lanes(repeating: q)
        let iv = Lanes(repeating: qInverse)
        let rv = Lanes(repeating: r)
        let rs = Lanes(repeating: rShoup)
        if n < 8 { return }
        var i = 0
        while i < n {
            var (s0, s1, s2) = (Lanes(), Lanes(), Lanes())
            var start = 0
            while start < count {
                let end = min(start &+ flush, count)
                var (e0, o0, e1, o1, e2, o2) = (Wide(), Wide(), Wide(), Wide(), Wide(), Wide())
                for j in start..<end {
                    let x0 = load(a + j &* aStride, i)
                    let x1 = load(a + (j &* aStride &+ aPoly), i)
                    let y0 = load(b + j &* bStride, i)
                    let y1 = load(b + (j &* bStride &+ bPoly), i)
                    e0 = e0 &+ even(x0) &* even(y0)
                    o0 = o0 &+ odd(x0) &* odd(y0)
                    e1 = e1 &+ even(x0) &* even(y1) &+ even(x1) &* even(y0)
                    o1 = o1 &+ odd(x0) &* odd(y1) &+ odd(x1) &* odd(y0)
                    e2 = e2 &+ even(x1) &* even(y1)
                    o2 = o2 &+ odd(x1) &* odd(y1)
                }
                s0 = reduceOnce(s0 &+ scaleBack(e0, o0, qv, iv, rv, rs), qv)
                s1 = reduceOnce(s1 &+ scaleBack(e1, o1, qv, iv, rv, rs), qv)
                s2 = reduceOnce(s2 &+ scaleBack(e2, o2, qv, iv, rv, rs), qv)
                start = end
            }
            store(s0, out0, i)
            store(s1, out1, i)
            store(s2, out2, i)
            i &+= 8
        }
    }

    /// The children of a node of the expansion tree, one row: `even = a + t`, `odd = (a − t)·monomial`, all in [0, q).
    /// `even` may be `a`.
    ///
    /// - `monomial`, `monomialShoup`: one factor for each run of `block` residues; `block` is 1 or a multiple of 8.
    public static func split(
        _ a: UnsafePointer<UInt32>, _ t: UnsafePointer<UInt32>,
        _ monomial: UnsafePointer<UInt32>, _ monomialShoup: UnsafePointer<UInt32>, _ block: Int,
        _ even: UnsafeMutablePointer<UInt32>, _ odd: UnsafeMutablePointer<UInt32>, _ n: Int, _ q: UInt32
    ) {
        let qv = Lanes(repeating: q)
        var i = 0
        if block < 8 {
            while i < n {
                split(load(a, i), load(t, i), load(monomial, i), load(monomialShoup, i), even, odd, i, qv)
                i &+= 8
            }
            return
        }
        var run = 0
        while i < n {
            let m = Lanes(repeating: monomial[run])
            let ms = Lanes(repeating: monomialShoup[run])
            let end = i &+ block
            while i < end {
                split(load(a, i), load(t, i), m, ms, even, odd, i, qv)
                i &+= 8
            }
            run &+= 1
        }
    }

    @inline(__always) static func split(
        _ x: Lanes, _ t: Lanes, _ m: Lanes, _ ms: Lanes, _ even: UnsafeMutablePointer<UInt32>,
        _ odd: UnsafeMutablePointer<UInt32>, _ i: Int, _ q: Lanes
    ) {
        store(reduceOnce(x &+ t, q), even, i)
        store(reduceOnce(mulShoup(x &- t &+ q, m, ms, q), q), odd, i)
    }

    /// `x·w mod q` in [0, q) for one constant `w`; any 32-bit input.
    public static func scale(
        _ x: UnsafePointer<UInt32>, _ out: UnsafeMutablePointer<UInt32>, _ n: Int, _ w: UInt32, _ ws: UInt32, _ q: UInt32
    ) {
        let (wv, sv, qv) = (Lanes(repeating: w), Lanes(repeating: ws), Lanes(repeating: q))
        var i = 0
        while i < n {
            store(reduceOnce(mulShoup(load(x, i), wv, sv, qv), qv), out, i)
            i &+= 8
        }
    }

    /// `(x − y)·w mod q` in [0, q); x and y in [0, 2q).
    public static func subtractAndScale(
        _ x: UnsafePointer<UInt32>, _ y: UnsafePointer<UInt32>, _ out: UnsafeMutablePointer<UInt32>, _ n: Int,
        _ w: UInt32, _ ws: UInt32, _ q: UInt32
    ) {
        let (wv, sv, qv) = (Lanes(repeating: w), Lanes(repeating: ws), Lanes(repeating: q))
        let q2 = Lanes(repeating: 2 &* q)
        var i = 0
        while i < n {
            store(reduceOnce(mulShoup(load(x, i) &- load(y, i) &+ q2, wv, sv, qv), qv), out, i)
            i &+= 8
        }
    }

    /// Residues modulo `from`, taken centered, as residues modulo `q` in [0, 2q), where `offset` is at most 2q.
    struct Centered: Reading {
        let half: SIMD8<Int32>
        let shift: Lanes

        @inline(__always) init(_ from: UInt32, _ offset: UInt32) {
            half = SIMD8(repeating: Int32(truncatingIfNeeded: from / 2))
            shift = Lanes(repeating: offset &- from)
        }
        @inline(__always) func read(_ p: UnsafePointer<UInt32>, _ i: Int) -> Lanes {
            let v = load(p, i)
            // Residues are below 2^31: the signed comparison is the cheap one.
            return v.replacing(with: v &+ shift, where: unsafeBitCast(v, to: SIMD8<Int32>.self) .> half)
        }
    }

    /// Residues modulo `from`, taken centered, as residues modulo `q` in [0, 2q).
    ///
    /// - `offset`: the multiple of `q` that makes every centered value positive; `from/2 + offset < 2^32`.
    /// - `one`: `floor(2^32 / q)`, the Shoup companion of 1.
    public static func liftCentered(
        _ x: UnsafePointer<UInt32>, _ out: UnsafeMutablePointer<UInt32>, _ n: Int, _ from: UInt32,
        _ q: UInt32, _ offset: UInt32, _ one: UInt32
    ) {
        if offset <= 2 &* q {
            let centered = Centered(from, offset)
            var i = 0
            while i < n {
                store(centered.read(x, i), out, i)
                i &+= 8
            }
            return
        }
        let half = Lanes(repeating: from / 2)
        let fromV = Lanes(repeating: from)
        let (offsetV, qv) = (Lanes(repeating: offset), Lanes(repeating: q))
        let (oneV, unit) = (Lanes(repeating: one), Lanes(repeating: 1))
        var i = 0
        while i < n {
            let v = load(x, i)
            let shifted = v &+ offsetV
            let centered = shifted.replacing(with: shifted &- fromV, where: v .> half)
            store(mulShoup(centered, unit, oneV, qv), out, i)
            i &+= 8
        }
    }

    /// Nearest integer to the sum of the fractions `z_i / s_i` of `count` rows.
    ///
    /// - `shifts`: `32 − bits(s_i)`; `fractions`: `floor(2^(31+bits) / s_i)`; rows `stride` words apart, reduced.
    public static func quotientRow(
        _ z: UnsafePointer<UInt32>, _ stride: Int, _ count: Int, _ shifts: UnsafePointer<Int32>,
        _ fractions: UnsafePointer<UInt32>, _ out: UnsafeMutablePointer<UInt32>, _ n: Int
    ) {
        let half = Wide(repeating: 1 &<< 30)
        var i = 0
        while i < n {
            var e = half
            var o = half
            for j in 0..<count {
                let shift = Lanes(repeating: UInt32(truncatingIfNeeded: shifts[j]))
                let v = load(z + j &* stride, i) &<< shift
                let f = Wide(repeating: UInt64(fractions[j]))
                e = e &+ ((even(v) &* f) &>> 32)
                o = o &+ ((odd(v) &* f) &>> 32)
            }
            store(interleave(e &>> 31, o &>> 31), out, i)
            i &+= 8
        }
    }

    /// `Σ z_i·column_i mod q` in [0, q) for `count` rows and constants in Montgomery form; the sum below `2^63`.
    public static func convertRow(
        _ z: UnsafePointer<UInt32>, _ stride: Int, _ count: Int, _ column: UnsafePointer<UInt32>,
        _ out: UnsafeMutablePointer<UInt32>, _ n: Int, _ q: UInt32, _ qInverse: UInt32, _ one: UInt32
    ) {
        let (qv, iv) = (Lanes(repeating: q), Lanes(repeating: qInverse))
        var i = 0
        if count <= 4 {
            // Rows are below 2^30, constants below q: the sum is below 2^32·q.
            let c0 = Wide(repeating: UInt64(column[0]))
            let c1 = count > 1 ? Wide(repeating: UInt64(column[1])) : Wide()
            let c2 = count > 2 ? Wide(repeating: UInt64(column[2])) : Wide()
            let c3 = count > 3 ? Wide(repeating: UInt64(column[3])) : Wide()
            while i < n {
                var v = load(z, i)
                var (e, o) = (even(v) &* (c0 & lowMask), odd(v) &* (c0 & lowMask))
                if count > 1 {
                    v = load(z + stride, i)
                    (e, o) = (e &+ even(v) &* (c1 & lowMask), o &+ odd(v) &* (c1 & lowMask))
                }
                if count > 2 {
                    v = load(z + 2 &* stride, i)
                    (e, o) = (e &+ even(v) &* (c2 & lowMask), o &+ odd(v) &* (c2 & lowMask))
                }
                if count > 3 {
                    v = load(z + 3 &* stride, i)
                    (e, o) = (e &+ even(v) &* (c3 & lowMask), o &+ odd(v) &* (c3 & lowMask))
                }
                store(redcReduced(e, o, qv, iv), out, i)
                i &+= 8
            }
            return
        }
        let (unit, oneV) = (Lanes(repeating: 1), Lanes(repeating: one))
        while i < n {
            var e = Wide()
            var o = Wide()
            for j in 0..<count {
                let v = load(z + j &* stride, i)
                let c = Wide(repeating: UInt64(column[j]))
                e = e &+ even(v) &* c
                o = o &+ odd(v) &* c
            }
            let r = redc(e, o, qv, iv)
            store(reduceOnce(mulShoup(r, unit, oneV, qv), qv), out, i)
            i &+= 8
        }
    }

    /// `σ(a) + sum` in [0, q), for the places that an automorphism takes values to (see `keySwitchRow`). `out` is not `a`, but
    /// may be `sum`.
    public static func addPermuted(
        _ a: UnsafePointer<UInt32>, _ sum: UnsafePointer<UInt32>, _ places: UnsafePointer<UInt32>,
        _ out: UnsafeMutablePointer<UInt32>, _ n: Int, _ q: UInt32
    ) {
        let qv = Lanes(repeating: q)
        var i = 0
        while i < n {
            let to = Int(places[i]) & ~7
            let x = permuted(load(a, i), load(places, i))
            store(reduceOnce(x &+ load(sum, to), qv), out, to)
            i &+= 8
        }
    }

    /// `x + y mod q` of reduced residues.
    public static func add(
        _ x: UnsafePointer<UInt32>, _ y: UnsafePointer<UInt32>, _ out: UnsafeMutablePointer<UInt32>, _ n: Int, _ q: UInt32
    ) {
        for i in 0..<n {
            let s = x[i] &+ y[i]
            out[i] = min(s, s &- q)
        }
    }
}
