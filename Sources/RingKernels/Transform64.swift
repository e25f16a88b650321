// Negacyclic number-theoretic transform for moduli below 2^60 in 64-bit words (spec bfv.md 2.2), the same lazy
// butterflies as in Transform32.swift with the high half of a 64 x 64 product.

/// Kernels on rows of 64-bit residues.
public enum Kernels64 {
    /// Product `w·y` modulo `q` in [0, 2q) for any 64-bit `y`; `ws = floor(2^64·w / q)`.
    @inline(__always) static func mulShoup(_ y: UInt64, _ w: UInt64, _ ws: UInt64, _ q: UInt64) -> UInt64 {
        (y &* w) &- (y.multipliedFullWidth(by: ws).high &* q)
    }

    @inline(__always) static func reduceOnce(_ x: UInt64, _ m: UInt64) -> UInt64 { min(x, x &- m) }

    @inline(__always) static func forwardButterfly(
        _ x: inout UInt64, _ y: inout UInt64, _ w: UInt64, _ ws: UInt64, _ q: UInt64
    ) {
        let a = reduceOnce(x, 2 &* q)
        let t = mulShoup(y, w, ws, q)
        x = a &+ t
        y = a &- t &+ 2 &* q
    }

    @inline(__always) static func inverseButterfly(
        _ x: inout UInt64, _ y: inout UInt64, _ w: UInt64, _ ws: UInt64, _ q: UInt64
    ) {
        let sum = reduceOnce(x &+ y, 2 &* q)
        y = mulShoup(x &- y &+ 2 &* q, w, ws, q)
        x = sum
    }

    /// Forward transform in place. Input in [0, 4q), output in [0, q), bit-reversed order; `n` a power of two, at least 2.
    ///
    /// - `packed`, `tail`: twiddles as the vectors of the AVX2 build read them (see `NTTTable`).
    public static func forward(
        _ x: UnsafeMutablePointer<UInt64>, _ n: Int, _ q: UInt64, _ w: UnsafePointer<UInt64>, _ ws: UnsafePointer<UInt64>,
        _ packed: UnsafePointer<UInt64>, _ tail: UnsafePointer<UInt64>
    ) {
        #if RING_KERNELS_AVX2
            if n >= 64 { return forwardVectors(x, n, q, packed, tail) }
        #endif
        var m = 1
        var h = n / 2
        while h >= 2 {
            let half = h / 2
            for k in 0..<m {
                let i = m &+ k
                let (w0, s0, w1, s1) = (w[i], ws[i], w[2 &* i], ws[2 &* i])
                let (w2, s2) = (w[2 &* i &+ 1], ws[2 &* i &+ 1])
                let start = 2 &* k &* h
                for p in start..<(start &+ half) {
                    var a = x[p]
                    var b = x[p &+ half]
                    var c = x[p &+ h]
                    var d = x[p &+ h &+ half]
                    forwardButterfly(&a, &c, w0, s0, q)
                    forwardButterfly(&b, &d, w0, s0, q)
                    forwardButterfly(&a, &b, w1, s1, q)
                    forwardButterfly(&c, &d, w2, s2, q)
                    x[p] = a
                    x[p &+ half] = b
                    x[p &+ h] = c
                    x[p &+ h &+ half] = d
                }
            }
            m &*= 4
            h /= 4
        }
        if h == 1 {
            for k in 0..<m {
                var a = x[2 &* k]
                var b = x[2 &* k &+ 1]
                forwardButterfly(&a, &b, w[m &+ k], ws[m &+ k], q)
                x[2 &* k] = a
                x[2 &* k &+ 1] = b
            }
        }
        for p in 0..<n { x[p] = reduceOnce(reduceOnce(x[p], 2 &* q), q) }
    }

    /// Inverse transform in place. Input in [0, 2q), output in [0, q), natural order, scaled by `1/n`.
    ///
    /// Entry 0 of `w` holds `1/n` and entry 1 `ψ^−brv(1)/n`.
    public static func inverse(
        _ x: UnsafeMutablePointer<UInt64>, _ n: Int, _ q: UInt64, _ w: UnsafePointer<UInt64>, _ ws: UnsafePointer<UInt64>,
        _ packed: UnsafePointer<UInt64>, _ tail: UnsafePointer<UInt64>
    ) {
        #if RING_KERNELS_AVX2
            if n >= 64 { return inverseVectors(x, n, q, packed, tail) }
        #endif
        var m = n / 2
        var h = 1
        while m >= 4 {
            let blocks = m / 2
            let far = 2 &* h
            for k in 0..<blocks {
                let i = blocks &+ k
                let (w0, s0, w1, s1) = (w[i], ws[i], w[2 &* i], ws[2 &* i])
                let (w2, s2) = (w[2 &* i &+ 1], ws[2 &* i &+ 1])
                let start = 4 &* k &* h
                for p in start..<(start &+ h) {
                    var a = x[p]
                    var b = x[p &+ h]
                    var c = x[p &+ far]
                    var d = x[p &+ far &+ h]
                    inverseButterfly(&a, &b, w1, s1, q)
                    inverseButterfly(&c, &d, w2, s2, q)
                    inverseButterfly(&a, &c, w0, s0, q)
                    inverseButterfly(&b, &d, w0, s0, q)
                    x[p] = a
                    x[p &+ h] = b
                    x[p &+ far] = c
                    x[p &+ far &+ h] = d
                }
            }
            m /= 4
            h &*= 4
        }
        if m == 2 {
            for k in 0..<2 {
                for p in (2 &* k &* h)..<(2 &* k &* h &+ h) {
                    var a = x[p]
                    var b = x[p &+ h]
                    inverseButterfly(&a, &b, w[2 &+ k], ws[2 &+ k], q)
                    x[p] = a
                    x[p &+ h] = b
                }
            }
        }
        let half = n / 2
        for p in 0..<half {
            let a = x[p]
            let b = x[p &+ half]
            x[p] = reduceOnce(mulShoup(a &+ b, w[0], ws[0], q), q)
            x[p &+ half] = reduceOnce(mulShoup(a &- b &+ 2 &* q, w[1], ws[1], q), q)
        }
    }
}
