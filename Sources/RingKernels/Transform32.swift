// Negacyclic number-theoretic transform for moduli below 2^30 in 32-bit lanes (spec bfv.md 2.2).
// Lazy butterflies after Harvey (arXiv 1205.2926): values stay in [0, 4q) going forward and in [0, 2q) going back.
// This folder is compiled twice, portable and for AVX2, and therefore imports nothing and calls no generic of ours.

/// Kernels on rows of 32-bit residues.
public enum Kernels32 {
    typealias Lanes = SIMD8<UInt32>
    typealias Wide = SIMD4<UInt64>

    @inline(__always) static var lowMask: Wide { Wide(repeating: 0xffff_ffff) }
    @inline(__always) static var highMask: Wide { Wide(repeating: 0xffff_ffff_0000_0000) }

    @inline(__always) static func wide(_ x: Lanes) -> Wide { unsafeBitCast(x, to: Wide.self) }
    @inline(__always) static func lanes(_ x: Wide) -> Lanes { unsafeBitCast(x, to: Lanes.self) }

    @inline(__always) static func load(_ p: UnsafePointer<UInt32>, _ i: Int) -> Lanes {
        UnsafeRawPointer(p + i).loadUnaligned(as: Lanes.self)
    }
    @inline(__always) static func load(_ p: UnsafeMutablePointer<UInt32>, _ i: Int) -> Lanes {
        UnsafeRawPointer(p + i).loadUnaligned(as: Lanes.self)
    }
    @inline(__always) static func store(_ v: Lanes, _ p: UnsafeMutablePointer<UInt32>, _ i: Int) {
        UnsafeMutableRawPointer(p + i).storeBytes(of: v, as: Lanes.self)
    }

    /// `x − m` where `x ≥ m`, else `x`: one unsigned minimum, since `x − m` wraps to something large otherwise.
    @inline(__always) static func reduceOnce(_ x: Lanes, _ m: Lanes) -> Lanes {
        let y = x &- m
        return x.replacing(with: y, where: y .< x)
    }

    /// Product `w·y` modulo `q` in [0, 2q) for any 32-bit `y`; `w` below q, `ws = floor(2^32·w / q)`.
    @inline(__always) static func mulShoup(_ y: Lanes, _ w: Lanes, _ ws: Lanes, _ q: Lanes) -> Lanes {
        let y64 = wide(y)
        let s64 = wide(ws)
        let even = (y64 & lowMask) &* (s64 & lowMask)
        let odd = (y64 &>> 32) &* (s64 &>> 32)
        let high = lanes((even &>> 32) | (odd & highMask))
        return (y &* w) &- (high &* q)
    }

    @inline(__always) static func forwardButterfly(
        _ x: inout Lanes, _ y: inout Lanes, _ w: Lanes, _ ws: Lanes, _ q: Lanes, _ q2: Lanes
    ) {
        let a = reduceOnce(x, q2)
        let t = mulShoup(y, w, ws, q)
        x = a &+ t
        y = a &- t &+ q2
    }

    @inline(__always) static func inverseButterfly(
        _ x: inout Lanes, _ y: inout Lanes, _ w: Lanes, _ ws: Lanes, _ q: Lanes, _ q2: Lanes
    ) {
        let sum = reduceOnce(x &+ y, q2)
        y = mulShoup(x &- y &+ q2, w, ws, q)
        x = sum
    }

    /// Forward transform in place. Input in [0, 4q), output in [0, q), bit-reversed order.
    ///
    /// - `n`: a power of two. `w`, `ws`: n twiddles `ψ^brv(i)` and their Shoup companions.
    /// - `tail`: the twiddles of the last three stages laid out as lanes, 48 words per 16 residues (see `NTTTable`).
    public static func forward(
        _ x: UnsafeMutablePointer<UInt32>, _ n: Int, _ q: UInt32, _ w: UnsafePointer<UInt32>, _ ws: UnsafePointer<UInt32>,
        _ tail: UnsafePointer<UInt32>
    ) {
        if n < 16 { return forwardSmall(x, n, q, w, ws) }
        let qv = Lanes(repeating: q)
        let q2 = Lanes(repeating: 2 &* q)
        var m = 1
        var h = n / 2
        while h >= 16 {
            forwardTwoStages(x, m, h, w, ws, qv, q2)
            m &*= 4
            h /= 4
        }
        if h == 8 {
            for k in 0..<m {
                let wv = Lanes(repeating: w[m &+ k])
                let sv = Lanes(repeating: ws[m &+ k])
                var a = load(x, 16 &* k)
                var b = load(x, 16 &* k &+ 8)
                forwardButterfly(&a, &b, wv, sv, qv, q2)
                store(a, x, 16 &* k)
                store(b, x, 16 &* k &+ 8)
            }
        }
        forwardTail(x, n, tail, qv, q2)
    }

    /// Stages with distance `h` and `h/2` in one pass over memory.
    @inline(__always) static func forwardTwoStages(
        _ x: UnsafeMutablePointer<UInt32>, _ m: Int, _ h: Int, _ w: UnsafePointer<UInt32>, _ ws: UnsafePointer<UInt32>,
        _ q: Lanes, _ q2: Lanes
    ) {
        let half = h / 2
        for k in 0..<m {
            let w0 = Lanes(repeating: w[m &+ k])
            let s0 = Lanes(repeating: ws[m &+ k])
            let w1 = Lanes(repeating: w[2 &* (m &+ k)])
            let s1 = Lanes(repeating: ws[2 &* (m &+ k)])
            let w2 = Lanes(repeating: w[2 &* (m &+ k) &+ 1])
            let s2 = Lanes(repeating: ws[2 &* (m &+ k) &+ 1])
            var p = 2 &* k &* h
            let end = p &+ half
            while p < end {
                var a = load(x, p)
                var b = load(x, p &+ half)
                var c = load(x, p &+ h)
                var d = load(x, p &+ h &+ half)
                forwardButterfly(&a, &c, w0, s0, q, q2)
                forwardButterfly(&b, &d, w0, s0, q, q2)
                forwardButterfly(&a, &b, w1, s1, q, q2)
                forwardButterfly(&c, &d, w2, s2, q, q2)
                store(a, x, p)
                store(b, x, p &+ half)
                store(c, x, p &+ h)
                store(d, x, p &+ h &+ half)
                p &+= 8
            }
        }
    }

    /// Distances 4, 2, 1 on sixteen residues at a time, inside registers, and the final reduction to [0, q).
    @inline(__always) static func forwardTail(
        _ x: UnsafeMutablePointer<UInt32>, _ n: Int, _ tail: UnsafePointer<UInt32>, _ q: Lanes, _ q2: Lanes
    ) {
        var p = 0
        var t = tail
        while p < n {
            let v0 = wide(load(x, p))
            let v1 = wide(load(x, p &+ 8))
            var a = lanes(Wide(v0[0], v0[1], v1[0], v1[1]))
            var b = lanes(Wide(v0[2], v0[3], v1[2], v1[3]))
            forwardButterfly(&a, &b, load(t, 0), load(t, 8), q, q2)
            let a64 = wide(a)
            let b64 = wide(b)
            a = lanes(Wide(a64[0], b64[0], a64[2], b64[2]))
            b = lanes(Wide(a64[1], b64[1], a64[3], b64[3]))
            forwardButterfly(&a, &b, load(t, 16), load(t, 24), q, q2)
            let c64 = wide(a)
            let d64 = wide(b)
            a = lanes((c64 & lowMask) | (d64 &<< 32))
            b = lanes((c64 &>> 32) | (d64 & highMask))
            forwardButterfly(&a, &b, load(t, 32), load(t, 40), q, q2)
            let r0 = Lanes(a[0], b[0], a[1], b[1], a[2], b[2], a[3], b[3])
            let r1 = Lanes(a[4], b[4], a[5], b[5], a[6], b[6], a[7], b[7])
            store(reduceOnce(reduceOnce(r0, q2), q), x, p)
            store(reduceOnce(reduceOnce(r1, q2), q), x, p &+ 8)
            p &+= 16
            t += 48
        }
    }

    /// Inverse transform in place. Input in [0, 2q), output in [0, q), natural order, scaled by `1/n`.
    ///
    /// - `w`, `ws`: n inverse twiddles `ψ^−brv(i)` and their Shoup companions; entry 0 holds `1/n`, entry 1 holds
    ///   `ψ^−brv(1)/n`, so that the last stage scales as well.
    public static func inverse(
        _ x: UnsafeMutablePointer<UInt32>, _ n: Int, _ q: UInt32, _ w: UnsafePointer<UInt32>, _ ws: UnsafePointer<UInt32>,
        _ tail: UnsafePointer<UInt32>
    ) {
        if n < 16 { return inverseSmall(x, n, q, w, ws) }
        let qv = Lanes(repeating: q)
        let q2 = Lanes(repeating: 2 &* q)
        inverseTail(x, n, tail, qv, q2)
        var m = n / 16
        var h = 8
        while m > 2 {
            inverseTwoStages(x, m / 2, 2 &* h, w, ws, qv, q2)
            m /= 4
            h &*= 4
        }
        if m == 2 {
            for k in 0..<2 {
                let wv = Lanes(repeating: w[2 &+ k])
                let sv = Lanes(repeating: ws[2 &+ k])
                var p = 2 &* k &* h
                let end = p &+ h
                while p < end {
                    var a = load(x, p)
                    var b = load(x, p &+ h)
                    inverseButterfly(&a, &b, wv, sv, qv, q2)
                    store(a, x, p)
                    store(b, x, p &+ h)
                    p &+= 8
                }
            }
        }
        let w0 = Lanes(repeating: w[0])
        let s0 = Lanes(repeating: ws[0])
        let w1 = Lanes(repeating: w[1])
        let s1 = Lanes(repeating: ws[1])
        let half = n / 2
        var p = 0
        while p < half {
            let a = load(x, p)
            let b = load(x, p &+ half)
            store(reduceOnce(mulShoup(a &+ b, w0, s0, qv), qv), x, p)
            store(reduceOnce(mulShoup(a &- b &+ q2, w1, s1, qv), qv), x, p &+ half)
            p &+= 8
        }
    }

    /// Stages with distance `h/2` and then `h` in one pass; `m` blocks of `2h` residues.
    @inline(__always) static func inverseTwoStages(
        _ x: UnsafeMutablePointer<UInt32>, _ m: Int, _ h: Int, _ w: UnsafePointer<UInt32>, _ ws: UnsafePointer<UInt32>,
        _ q: Lanes, _ q2: Lanes
    ) {
        let half = h / 2
        for k in 0..<m {
            let w0 = Lanes(repeating: w[m &+ k])
            let s0 = Lanes(repeating: ws[m &+ k])
            let w1 = Lanes(repeating: w[2 &* (m &+ k)])
            let s1 = Lanes(repeating: ws[2 &* (m &+ k)])
            let w2 = Lanes(repeating: w[2 &* (m &+ k) &+ 1])
            let s2 = Lanes(repeating: ws[2 &* (m &+ k) &+ 1])
            var p = 2 &* k &* h
            let end = p &+ half
            while p < end {
                var a = load(x, p)
                var b = load(x, p &+ half)
                var c = load(x, p &+ h)
                var d = load(x, p &+ h &+ half)
                inverseButterfly(&a, &b, w1, s1, q, q2)
                inverseButterfly(&c, &d, w2, s2, q, q2)
                inverseButterfly(&a, &c, w0, s0, q, q2)
                inverseButterfly(&b, &d, w0, s0, q, q2)
                store(a, x, p)
                store(b, x, p &+ half)
                store(c, x, p &+ h)
                store(d, x, p &+ h &+ half)
                p &+= 8
            }
        }
    }

    /// Distances 1, 2, 4 on sixteen residues at a time, inside registers.
    @inline(__always) static func inverseTail(
        _ x: UnsafeMutablePointer<UInt32>, _ n: Int, _ tail: UnsafePointer<UInt32>, _ q: Lanes, _ q2: Lanes
    ) {
        var p = 0
        var t = tail
        while p < n {
            let v0 = load(x, p)
            let v1 = load(x, p &+ 8)
            var a = Lanes(v0[0], v0[2], v0[4], v0[6], v1[0], v1[2], v1[4], v1[6])
            var b = Lanes(v0[1], v0[3], v0[5], v0[7], v1[1], v1[3], v1[5], v1[7])
            inverseButterfly(&a, &b, load(t, 32), load(t, 40), q, q2)
            let a64 = wide(a)
            let b64 = wide(b)
            a = lanes((a64 & lowMask) | (b64 &<< 32))
            b = lanes((a64 &>> 32) | (b64 & highMask))
            inverseButterfly(&a, &b, load(t, 16), load(t, 24), q, q2)
            let c64 = wide(a)
            let d64 = wide(b)
            a = lanes(Wide(c64[0], d64[0], c64[2], d64[2]))
            b = lanes(Wide(c64[1], d64[1], c64[3], d64[3]))
            inverseButterfly(&a, &b, load(t, 0), load(t, 8), q, q2)
            let e64 = wide(a)
            let f64 = wide(b)
            store(lanes(Wide(e64[0], e64[1], f64[0], f64[1])), x, p)
            store(lanes(Wide(e64[2], e64[3], f64[2], f64[3])), x, p &+ 8)
            p &+= 16
            t += 48
        }
    }

    /// Product `w·y` modulo `q` in [0, 2q), one residue.
    @inline(__always) static func mulShoup(_ y: UInt32, _ w: UInt32, _ ws: UInt32, _ q: UInt32) -> UInt32 {
        let high = UInt32(truncatingIfNeeded: (UInt64(y) &* UInt64(ws)) &>> 32)
        return (y &* w) &- (high &* q)
    }

    static func forwardSmall(
        _ x: UnsafeMutablePointer<UInt32>, _ n: Int, _ q: UInt32, _ w: UnsafePointer<UInt32>, _ ws: UnsafePointer<UInt32>
    ) {
        var m = 1
        var h = n / 2
        while h >= 1 {
            for k in 0..<m {
                for p in (2 &* k &* h)..<(2 &* k &* h &+ h) {
                    let a = x[p] >= 2 &* q ? x[p] &- 2 &* q : x[p]
                    let t = mulShoup(x[p &+ h], w[m &+ k], ws[m &+ k], q)
                    x[p] = a &+ t
                    x[p &+ h] = a &- t &+ 2 &* q
                }
            }
            m &*= 2
            h /= 2
        }
        for p in 0..<n { x[p] %= q }
    }

    static func inverseSmall(
        _ x: UnsafeMutablePointer<UInt32>, _ n: Int, _ q: UInt32, _ w: UnsafePointer<UInt32>, _ ws: UnsafePointer<UInt32>
    ) {
        var m = n / 2
        var h = 1
        while m >= 2 {
            for k in 0..<m {
                for p in (2 &* k &* h)..<(2 &* k &* h &+ h) {
                    let sum = x[p] &+ x[p &+ h]
                    let difference = x[p] &- x[p &+ h] &+ 2 &* q
                    x[p] = sum >= 2 &* q ? sum &- 2 &* q : sum
                    x[p &+ h] = mulShoup(difference, w[m &+ k], ws[m &+ k], q)
                }
            }
            m /= 2
            h &*= 2
        }
        for p in 0..<(n / 2) {
            let sum = x[p] &+ x[p &+ n / 2]
            let difference = x[p] &- x[p &+ n / 2] &+ 2 &* q
            x[p] = mulShoup(sum, w[0], ws[0], q) % q
            x[p &+ n / 2] = mulShoup(difference, w[1], ws[1], q) % q
        }
    }
}
