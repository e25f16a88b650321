// Row operations on 64-bit residues, with sums of products in 128 bits; see Products32.swift for the meaning of each.

extension Kernels64 {
    /// A sum of products, 128 bits.
    struct Sum {
        var low: UInt64 = 0
        var high: UInt64 = 0

        @inline(__always) mutating func add(_ x: UInt64, _ y: UInt64) {
            let p = x.multipliedFullWidth(by: y)
            let (l, carry) = low.addingReportingOverflow(p.low)
            low = l
            high = high &+ p.high &+ (carry ? 1 : 0)
        }

        /// `sum·R^-1 mod q` in (0, q + high]: half of Montgomery's reduction with R = 2^64.
        @inline(__always) func redc(_ q: UInt64, _ qInverse: UInt64) -> UInt64 {
            high &+ q &- (low &* qInverse).multipliedFullWidth(by: q).high
        }
    }

    /// Sum to a residue in [0, q).
    @inline(__always) static func scaleBack(
        _ s: Sum, _ q: UInt64, _ qInverse: UInt64, _ r: UInt64, _ rShoup: UInt64
    ) -> UInt64 {
        reduceOnce(mulShoup(s.redc(q, qInverse), r, rShoup, q), q)
    }

    /// See `Kernels32.keySwitchRow`; digits in [0, 2q), keys as they are, `count·3·2^bits(q) < 2^64`.
    public static func keySwitchRow(
        _ digits: UnsafePointer<UInt64>, _ digitStride: Int, _ key: UnsafePointer<UInt64>, _ keyStride: Int, _ polyStride: Int,
        _ count: Int, _ places: UnsafePointer<UInt32>?,
        _ out0: UnsafeMutablePointer<UInt64>, _ out1: UnsafeMutablePointer<UInt64>, _ n: Int,
        _ q: UInt64, _ qInverse: UInt64, _ r: UInt64, _ rShoup: UInt64
    ) {
        #if RING_KERNELS_AVX2
            if n >= 8 {
                return keySwitchVectors(digits, digitStride, key, keyStride, polyStride, count, places, out0, out1, n, q)
            }
        #endif
        for i in 0..<n {
            let (from, to) = places.map { Self.move($0, i) } ?? (i, i)
            var s0 = Sum()
            var s1 = Sum()
            for j in 0..<count {
                let d = digits[j &* digitStride &+ from]
                s0.add(d, key[j &* keyStride &+ from])
                s1.add(d, key[j &* keyStride &+ polyStride &+ from])
            }
            out0[to] = scaleBack(s0, q, qInverse, r, rShoup)
            out1[to] = scaleBack(s1, q, qInverse, r, rShoup)
        }
    }

    /// The move that entry `i` of `Ring.places` stands for.
    @inline(__always) static func move(_ places: UnsafePointer<UInt32>, _ i: Int) -> (from: Int, to: Int) {
        (i & ~7 | Int(places[i]) & 7, Int(places[i]) & ~7 | i & 7)
    }

    /// See `Kernels32.innerProductRow`; tiles of 8 residues.
    public static func innerProductRow(
        _ plaintexts: UnsafePointer<UInt64>, _ indices: UnsafePointer<Int32>, _ count: Int,
        _ selection: UnsafePointer<UInt64>, _ selectionStride: Int,
        _ out0: UnsafeMutablePointer<UInt64>, _ out1: UnsafeMutablePointer<UInt64>, _ n: Int,
        _ q: UInt64, _ qInverse: UInt64, _ r: UInt64, _ rShoup: UInt64, _ flush: Int
    ) {
        #if RING_KERNELS_AVX2
            if n >= 8 { return innerProductVectors(plaintexts, indices, count, selection, selectionStride, out0, out1, n, q) }
        #endif
        var i = 0
        while i < n {
            let block = plaintexts + i &* count
            for lane in 0..<8 {
                var r0: UInt64 = 0
                var r1: UInt64 = 0
                var start = 0
                while start < count {
                    let end = min(start &+ flush, count)
                    var s0 = Sum()
                    var s1 = Sum()
                    for a in start..<end {
                        let x = block[a &* 8 &+ lane]
                        let u = selection + (Int(indices[a]) &* 2 &* selectionStride &+ i &+ lane)
                        s0.add(x, u[0])
                        s1.add(x, u[selectionStride])
                    }
                    r0 = reduceOnce(r0 &+ scaleBack(s0, q, qInverse, r, rShoup), q)
                    r1 = reduceOnce(r1 &+ scaleBack(s1, q, qInverse, r, rShoup), q)
                    start = end
                }
                out0[i &+ lane] = r0
                out1[i &+ lane] = r1
            }
            i &+= 8
        }
    }

    /// See `Kernels32.tensorRow`.
    public static func tensorRow(
        _ a: UnsafePointer<UInt64>, _ aStride: Int, _ aPoly: Int, _ b: UnsafePointer<UInt64>, _ bStride: Int, _ bPoly: Int,
        _ count: Int,
        _ out0: UnsafeMutablePointer<UInt64>, _ out1: UnsafeMutablePointer<UInt64>, _ out2: UnsafeMutablePointer<UInt64>,
        _ n: Int, _ q: UInt64, _ qInverse: UInt64, _ r: UInt64, _ rShoup: UInt64, _ flush: Int
    ) {
        #if RING_KERNELS_AVX2
            if n >= 8 { return tensorVectors(a, aStride, aPoly, b, bStride, bPoly, count, out0, out1, out2, n, q) }
        #endif
        for i in 0..<n {
            var (t0, t1, t2): (UInt64, UInt64, UInt64) = (0, 0, 0)
            var start = 0
            while start < count {
                let end = min(start &+ flush, count)
                var (s0, s1, s2) = (Sum(), Sum(), Sum())
                for j in start..<end {
                    let x0 = a[j &* aStride &+ i]
                    let x1 = a[j &* aStride &+ aPoly &+ i]
                    let y0 = b[j &* bStride &+ i]
                    let y1 = b[j &* bStride &+ bPoly &+ i]
                    s0.add(x0, y0)
                    s1.add(x0, y1)
                    s1.add(x1, y0)
                    s2.add(x1, y1)
                }
                t0 = reduceOnce(t0 &+ scaleBack(s0, q, qInverse, r, rShoup), q)
                t1 = reduceOnce(t1 &+ scaleBack(s1, q, qInverse, r, rShoup), q)
                t2 = reduceOnce(t2 &+ scaleBack(s2, q, qInverse, r, rShoup), q)
                start = end
            }
            out0[i] = t0
            out1[i] = t1
            out2[i] = t2
        }
    }

    /// See `Kernels32.split`; `block` is 1 or a multiple of 4.
    public static func split(
        _ a: UnsafePointer<UInt64>, _ t: UnsafePointer<UInt64>,
        _ monomial: UnsafePointer<UInt64>, _ monomialShoup: UnsafePointer<UInt64>, _ block: Int,
        _ even: UnsafeMutablePointer<UInt64>, _ odd: UnsafeMutablePointer<UInt64>, _ n: Int, _ q: UInt64
    ) {
        #if RING_KERNELS_AVX2
            if n >= 8 { return splitVectors(a, t, monomial, monomialShoup, block, even, odd, n, q) }
        #endif
        var i = 0
        while i < n {
            let (m, ms) = (monomial[i / block], monomialShoup[i / block])
            for i in i..<(i &+ block) {
                let (x, y) = (a[i], t[i])
                even[i] = reduceOnce(x &+ y, q)
                odd[i] = reduceOnce(mulShoup(x &- y &+ q, m, ms, q), q)
            }
            i &+= block
        }
    }

    /// See `Kernels32.scale`.
    public static func scale(
        _ x: UnsafePointer<UInt64>, _ out: UnsafeMutablePointer<UInt64>, _ n: Int, _ w: UInt64, _ ws: UInt64, _ q: UInt64
    ) {
        #if RING_KERNELS_AVX2
            if n >= 8 { return scaleVectors(x, out, n, w, ws, q) }
        #endif
        for i in 0..<n { out[i] = reduceOnce(mulShoup(x[i], w, ws, q), q) }
    }

    /// See `Kernels32.subtractAndScale`.
    public static func subtractAndScale(
        _ x: UnsafePointer<UInt64>, _ y: UnsafePointer<UInt64>, _ out: UnsafeMutablePointer<UInt64>, _ n: Int,
        _ w: UInt64, _ ws: UInt64, _ q: UInt64
    ) {
        #if RING_KERNELS_AVX2
            if n >= 8 { return subtractAndScaleVectors(x, y, out, n, w, ws, q) }
        #endif
        for i in 0..<n { out[i] = reduceOnce(mulShoup(x[i] &- y[i] &+ 2 &* q, w, ws, q), q) }
    }

    /// See `Kernels32.liftCentered`; `offset` at most 2^62.
    public static func liftCentered(
        _ x: UnsafePointer<UInt64>, _ out: UnsafeMutablePointer<UInt64>, _ n: Int, _ from: UInt64,
        _ q: UInt64, _ offset: UInt64, _ one: UInt64
    ) {
        let half = from / 2
        if offset <= 2 &* q {
            for i in 0..<n {
                let v = x[i]
                out[i] = v > half ? v &+ offset &- from : v
            }
            return
        }
        for i in 0..<n {
            let v = x[i]
            let shifted = v &+ offset
            out[i] = mulShoup(v > half ? shifted &- from : shifted, 1, one, q)
        }
    }

    /// High half of `x·y`, at most two too small: what vectors of four work out, so that both builds round alike.
    @inline(__always) static func roughHighHalf(_ x: UInt64, _ y: UInt64) -> UInt64 {
        let (x1, y1) = (x &>> 32, y &>> 32)
        return x1 &* y1 &+ ((x1 &* (y & 0xffff_ffff)) &>> 32) &+ (((x & 0xffff_ffff) &* y1) &>> 32)
    }

    /// See `Kernels32.quotientRow`; `fractions`: `floor(2^(63+bits) / s_i)`, at most eight rows.
    public static func quotientRow(
        _ z: UnsafePointer<UInt64>, _ stride: Int, _ count: Int, _ shifts: UnsafePointer<Int32>,
        _ fractions: UnsafePointer<UInt64>, _ out: UnsafeMutablePointer<UInt64>, _ n: Int
    ) {
        #if RING_KERNELS_AVX2
            if n >= 8 { return quotientVectors(z, stride, count, shifts, fractions, out, n) }
        #endif
        for i in 0..<n {
            var sum: UInt64 = 1 &<< 58
            for j in 0..<count {
                let v = z[j &* stride &+ i] &<< UInt64(truncatingIfNeeded: shifts[j])
                sum = sum &+ (roughHighHalf(v, fractions[j]) &>> 4)
            }
            out[i] = sum &>> 59
        }
    }

    /// See `Kernels32.convertRow`; constants as they are, rows below 2^60, `one`: `floor(2^64 / q)`.
    public static func convertRow(
        _ z: UnsafePointer<UInt64>, _ stride: Int, _ count: Int, _ column: UnsafePointer<UInt64>,
        _ out: UnsafeMutablePointer<UInt64>, _ n: Int, _ q: UInt64, _ qInverse: UInt64, _ r: UInt64, _ rShoup: UInt64,
        _ one: UInt64
    ) {
        #if RING_KERNELS_AVX2
            if n >= 8, count <= 7 { return convertVectors(z, stride, count, column, out, n, q, one) }
        #endif
        for i in 0..<n {
            var s = Sum()
            for j in 0..<count { s.add(z[j &* stride &+ i], column[j]) }
            out[i] = scaleBack(s, q, qInverse, r, rShoup)
        }
    }

    /// See `Kernels32.addPermuted`.
    public static func addPermuted(
        _ a: UnsafePointer<UInt64>, _ sum: UnsafePointer<UInt64>, _ places: UnsafePointer<UInt32>,
        _ out: UnsafeMutablePointer<UInt64>, _ n: Int, _ q: UInt64
    ) {
        #if RING_KERNELS_AVX2
            if n >= 8 { return addPermutedVectors(a, sum, places, out, n, q) }
        #endif
        for i in 0..<n {
            let (from, to) = move(places, i)
            out[to] = reduceOnce(a[from] &+ sum[to], q)
        }
    }

    /// `x + y mod q` of reduced residues.
    public static func add(
        _ x: UnsafePointer<UInt64>, _ y: UnsafePointer<UInt64>, _ out: UnsafeMutablePointer<UInt64>, _ n: Int, _ q: UInt64
    ) {
        for i in 0..<n {
            let s = x[i] &+ y[i]
            out[i] = min(s, s &- q)
        }
    }
}
