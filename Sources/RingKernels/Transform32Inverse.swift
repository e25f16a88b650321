// The inverse of Transform32.swift: the first four stages inside registers, then two stages per pass, the last pass scaling
// by 1/n. Values stay in [0, 2q).

extension Kernels32 {
    @inline(__always) static func inversePair(_ x: inout Lanes, _ y: inout Lanes, _ t: Twiddle, _ q: Lanes, _ q2: Lanes) {
        let sum = reduceOnce(x &+ y, q2)
        y = product(x &+ q2 &- y, t, q)
        x = sum
    }

    @inline(__always) static func inversePairs(
        _ a: inout Lanes, _ b: inout Lanes, _ s: Twiddle, _ c: inout Lanes, _ d: inout Lanes, _ t: Twiddle,
        _ q: Lanes, _ q2: Lanes
    ) {
        let (x, y) = (a &+ q2 &- b, c &+ q2 &- d)
        a = reduceOnce(a &+ b, q2)
        c = reduceOnce(c &+ d, q2)
        let (b64, d64) = (wide(x), wide(y))
        let be = (b64 & lowMask) &* s.even
        let de = (d64 & lowMask) &* t.even
        let bo = (b64 &>> 32) &* s.odd
        let d0 = (d64 &>> 32) &* t.odd
        let bw = x &* s.w
        let dw = y &* t.w
        let bh = lanes((be &>> 32) | (bo & highMask))
        let dh = lanes((de &>> 32) | (d0 & highMask))
        b = bw &- (bh &* q)
        d = dw &- (dh &* q)
    }

    /// Inverse transform in place. Input in [0, 2q), output in [0, q), natural order, scaled by `1/n`.
    ///
    /// - `w`, `ws`: n inverse twiddles `ψ^−brv(i)` and their Shoup companions; entry 0 holds `1/n`, entry 1 holds
    ///   `ψ^−brv(1)/n`, so that the last stage scales as well.
    public static func inverse(
        _ x: UnsafeMutablePointer<UInt32>, _ n: Int, _ q: UInt32, _ w: UnsafePointer<UInt32>, _ ws: UnsafePointer<UInt32>,
        _ tail: UnsafePointer<UInt32>
    ) {
        if n < 32 { return inverseSmall(x, n, q, w, ws) }
        let qv = Lanes(repeating: q)
        let q2 = Lanes(repeating: 2 &* q)
        // The tail takes three stages or four, so that pairs of stages are left.
        let eight = n.trailingZeroBitCount & 1 == 0
        inverseTail(x, n, w, ws, eight, tail, qv, q2)
        var m = eight ? n / 32 : n / 16
        var h = eight ? 16 : 8
        while m > 2 {
            inverseTwoStages(x, m / 2, 2 &* h, w, ws, qv, q2)
            m /= 4
            h &*= 4
        }
        let (t0, t1) = (Twiddle(w[0], ws[0]), Twiddle(w[1], ws[1]))
        let (t2, t3) = (Twiddle(w[2], ws[2]), Twiddle(w[3], ws[3]))
        let quarter = n / 4
        var p = 0
        while p < quarter {
            var a = load(x, p)
            var b = load(x, p &+ quarter)
            var c = load(x, p &+ 2 &* quarter)
            var d = load(x, p &+ 3 &* quarter)
            inversePair(&a, &b, t2, qv, q2)
            inversePair(&c, &d, t3, qv, q2)
            store(reduceOnce(product(a &+ c, t0, qv), qv), x, p)
            store(reduceOnce(product(b &+ d, t0, qv), qv), x, p &+ quarter)
            store(reduceOnce(product(a &+ q2 &- c, t1, qv), qv), x, p &+ 2 &* quarter)
            store(reduceOnce(product(b &+ q2 &- d, t1, qv), qv), x, p &+ 3 &* quarter)
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
            let i = m &+ k
            let t0 = Twiddle(w[i], ws[i])
            let t1 = Twiddle(w[2 &* i], ws[2 &* i])
            let t2 = Twiddle(w[2 &* i &+ 1], ws[2 &* i &+ 1])
            var p = 2 &* k &* h
            let end = p &+ half
            while p < end {
                var a = load(x, p)
                var b = load(x, p &+ half)
                var c = load(x, p &+ h)
                var d = load(x, p &+ h &+ half)
                inversePair(&a, &b, t1, q, q2)
                inversePair(&c, &d, t2, q, q2)
                inversePair(&a, &c, t0, q, q2)
                inversePair(&b, &d, t0, q, q2)
                store(a, x, p)
                store(b, x, p &+ half)
                store(c, x, p &+ h)
                store(d, x, p &+ h &+ half)
                p &+= 8
            }
        }
    }

    /// Distances 1, 2, 4 (and 8) on 32 residues at a time, inside registers.
    @inline(__always) static func inverseTail(
        _ x: UnsafeMutablePointer<UInt32>, _ n: Int, _ w: UnsafePointer<UInt32>, _ ws: UnsafePointer<UInt32>, _ eight: Bool,
        _ tail: UnsafePointer<UInt32>, _ q: Lanes, _ q2: Lanes
    ) {
        var p = 0
        var t = tail
        while p < n {
            var a = load(x, p)
            var b = load(x, p &+ 8)
            var c = load(x, p &+ 16)
            var d = load(x, p &+ 24)
            deinterleave(&a, &b)
            deinterleave(&c, &d)
            inversePairs(&a, &b, Twiddle(load(t, 32), load(t, 40)), &c, &d, Twiddle(load(t, 80), load(t, 88)), q, q2)
            exchangeNeighbours(&a, &b)
            exchangeNeighbours(&c, &d)
            inversePairs(&a, &b, Twiddle(load(t, 16), load(t, 24)), &c, &d, Twiddle(load(t, 64), load(t, 72)), q, q2)
            exchangePairs(&a, &b)
            exchangePairs(&c, &d)
            inversePairs(&a, &b, Twiddle(load(t, 0), load(t, 8)), &c, &d, Twiddle(load(t, 48), load(t, 56)), q, q2)
            exchangeHalves(&a, &b)
            exchangeHalves(&c, &d)
            if eight {
                let k = (n &+ p) / 16
                inversePairs(&a, &b, Twiddle(w[k], ws[k]), &c, &d, Twiddle(w[k &+ 1], ws[k &+ 1]), q, q2)
            }
            store(a, x, p)
            store(b, x, p &+ 8)
            store(c, x, p &+ 16)
            store(d, x, p &+ 24)
            p &+= 32
            t += 96
        }
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
