// Negacyclic number-theoretic transform for moduli below 2^30 in 32-bit lanes (spec bfv.md 2.2), forward.
// Lazy butterflies after Harvey (arXiv 1205.2926). With 16q below 2^32 most of them reduce nothing; larger moduli keep their
// values below 4q. Two stages per pass over memory; the last four without leaving the registers.

extension Kernels32 {
    /// Which values a pass reduces first: none, those that its first stage adds to, or those of both stages.
    protocol Growth {
        static var first: Bool { get }
        static var second: Bool { get }
    }
    enum Free: Growth {
        @inline(__always) static var first: Bool { false }
        @inline(__always) static var second: Bool { false }
    }
    enum Halved: Growth {
        @inline(__always) static var first: Bool { true }
        @inline(__always) static var second: Bool { false }
    }
    enum Strict: Growth {
        @inline(__always) static var first: Bool { true }
        @inline(__always) static var second: Bool { true }
    }

    @inline(__always) static func forwardPair(_ x: inout Lanes, _ y: inout Lanes, _ w: Twiddle, _ q: Lanes, _ q2: Lanes) {
        let t = product(y, w, q)
        let a = x
        x = a &+ t
        y = a &+ q2 &- t
    }

    /// Two butterflies side by side: one after the other would leave the processor waiting for each.
    @inline(__always) static func forwardPairs(
        _ a: inout Lanes, _ b: inout Lanes, _ s: Twiddle, _ c: inout Lanes, _ d: inout Lanes, _ t: Twiddle,
        _ q: Lanes, _ q2: Lanes
    ) {
        let (b64, d64) = (wide(b), wide(d))
        let be = (b64 & lowMask) &* s.even
        let de = (d64 & lowMask) &* t.even
        let bo = (b64 &>> 32) &* s.odd
        let d0 = (d64 &>> 32) &* t.odd
        let bw = b &* s.w
        let dw = d &* t.w
        let bh = lanes((be &>> 32) | (bo & highMask))
        let dh = lanes((de &>> 32) | (d0 & highMask))
        let bt = bw &- (bh &* q)
        let dt = dw &- (dh &* q)
        let (x, y) = (a, c)
        a = x &+ bt
        c = y &+ dt
        b = x &+ q2 &- bt
        d = y &+ q2 &- dt
    }

    /// Forward transform in place. Input in [0, 4q), output in [0, q), bit-reversed order.
    ///
    /// - `n`: a power of two. `w`, `ws`: n twiddles `ψ^brv(i)` and their Shoup companions.
    /// - `tail`: the twiddles of the last three stages laid out as lanes, 48 words per 16 residues (see `NTTTable`).
    public static func forward(
        _ x: UnsafeMutablePointer<UInt32>, _ n: Int, _ q: UInt32, _ w: UnsafePointer<UInt32>, _ ws: UnsafePointer<UInt32>,
        _ tail: UnsafePointer<UInt32>
    ) {
        if n < 32 { return forwardSmall(x, n, q, w, ws) }
        let qv = Lanes(repeating: q)
        let q2 = Lanes(repeating: 2 &* q)
        var m = 1
        var h = n / 2
        // Values are below bound·q; 16q fits a word for q below 2^28.
        var bound = 4
        let lazy = q < 1 << 28
        let limit = Lanes(repeating: 8 &* q)
        while h >= 16 {
            if !lazy {
                forwardTwoStages(x, m, h, w, ws, qv, q2, q2, Strict.self)
            } else if bound <= 12 {
                forwardTwoStages(x, m, h, w, ws, qv, q2, limit, Free.self)
                bound &+= 4
            } else {
                forwardTwoStages(x, m, h, w, ws, qv, q2, limit, Halved.self)
                bound = 12
            }
            m &*= 4
            h /= 4
        }
        if lazy {
            forwardTail(x, n, w, ws, h == 8, tail, qv, q2, Free.self)
        } else {
            forwardTail(x, n, w, ws, h == 8, tail, qv, q2, Strict.self)
        }
    }

    /// Stages with distance `h` and `h/2` in one pass over memory; what `G` names is brought below `limit` first.
    @inline(__always) static func forwardTwoStages<G: Growth>(
        _ x: UnsafeMutablePointer<UInt32>, _ m: Int, _ h: Int, _ w: UnsafePointer<UInt32>, _ ws: UnsafePointer<UInt32>,
        _ q: Lanes, _ q2: Lanes, _ limit: Lanes, _: G.Type
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
                if G.first {
                    a = reduceOnce(a, limit)
                    b = reduceOnce(b, limit)
                }
                forwardPair(&a, &c, t0, q, q2)
                forwardPair(&b, &d, t0, q, q2)
                if G.second {
                    a = reduceOnce(a, limit)
                    c = reduceOnce(c, limit)
                }
                forwardPair(&a, &b, t1, q, q2)
                forwardPair(&c, &d, t2, q, q2)
                store(a, x, p)
                store(b, x, p &+ half)
                store(c, x, p &+ h)
                store(d, x, p &+ h &+ half)
                p &+= 8
            }
        }
    }

    /// Distances (8,) 4, 2, 1 on 32 residues at a time, inside registers, and the final reduction to [0, q).
    ///
    /// - `eight`: whether the stage with distance 8 is still to be done. Values may come as large as 16q (`Free`).
    @inline(__always) static func forwardTail<G: Growth>(
        _ x: UnsafeMutablePointer<UInt32>, _ n: Int, _ w: UnsafePointer<UInt32>, _ ws: UnsafePointer<UInt32>, _ eight: Bool,
        _ tail: UnsafePointer<UInt32>, _ q: Lanes, _ q2: Lanes, _: G.Type
    ) {
        let q4 = q2 &+ q2
        let q8 = q4 &+ q4
        var p = 0
        var t = tail
        while p < n {
            var a = load(x, p)
            var b = load(x, p &+ 8)
            var c = load(x, p &+ 16)
            var d = load(x, p &+ 24)
            if eight {
                let k = (n &+ p) / 16
                a = reduceOnce(a, G.first ? q2 : q8)
                c = reduceOnce(c, G.first ? q2 : q8)
                forwardPairs(&a, &b, Twiddle(w[k], ws[k]), &c, &d, Twiddle(w[k &+ 1], ws[k &+ 1]), q, q2)
            }
            exchangeHalves(&a, &b)
            exchangeHalves(&c, &d)
            a = reduceOnce(a, G.first ? q2 : q8)
            c = reduceOnce(c, G.first ? q2 : q8)
            forwardPairs(&a, &b, Twiddle(load(t, 0), load(t, 8)), &c, &d, Twiddle(load(t, 48), load(t, 56)), q, q2)
            exchangePairs(&a, &b)
            exchangePairs(&c, &d)
            if G.first {
                a = reduceOnce(a, q2)
                c = reduceOnce(c, q2)
            }
            forwardPairs(&a, &b, Twiddle(load(t, 16), load(t, 24)), &c, &d, Twiddle(load(t, 64), load(t, 72)), q, q2)
            exchangeNeighbours(&a, &b)
            exchangeNeighbours(&c, &d)
            if !G.first {
                a = reduceOnce(reduceOnce(a, q8), q4)
                c = reduceOnce(reduceOnce(c, q8), q4)
            }
            a = reduceOnce(a, q2)
            c = reduceOnce(c, q2)
            forwardPairs(&a, &b, Twiddle(load(t, 32), load(t, 40)), &c, &d, Twiddle(load(t, 80), load(t, 88)), q, q2)
            interleave(&a, &b)
            interleave(&c, &d)
            store(reduceOnce(reduceOnce(a, q2), q), x, p)
            store(reduceOnce(reduceOnce(b, q2), q), x, p &+ 8)
            store(reduceOnce(reduceOnce(c, q2), q), x, p &+ 16)
            store(reduceOnce(reduceOnce(d, q2), q), x, p &+ 24)
            p &+= 32
            t += 96
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
}
