// Negacyclic number-theoretic transform for moduli below 2^30 in 32-bit lanes (spec bfv.md 2.2), forward.
// Lazy butterflies after Harvey (arXiv 1205.2926). With 16q below 2^32 most of them reduce nothing; larger moduli keep their
// values below 4q. Two or three stages per pass over memory; the last six on 64 residues in registers, transposed in between.

extension Kernels32 {
    /// What stage 0, 1 or 2 of a pass reduces before it adds to it.
    protocol Growth {
        static func reduced(_ x: Lanes, stage: Int, _ m: Multiples) -> Lanes
    }
    /// Nothing.
    enum Free: Growth {
        @inline(__always) static func reduced(_ x: Lanes, stage: Int, _ m: Multiples) -> Lanes { x }
    }
    /// From below 16q to below 8q, once.
    enum Halved: Growth {
        @inline(__always) static func reduced(_ x: Lanes, stage: Int, _ m: Multiples) -> Lanes {
            stage == 0 ? reduceOnce(x, m.q8) : x
        }
    }
    /// From below 14q, so that values below 4q come out.
    enum Last: Growth {
        @inline(__always) static func reduced(_ x: Lanes, stage: Int, _ m: Multiples) -> Lanes {
            if stage == 0 { return x }
            let y = reduceOnce(x, m.q8)
            return stage == 1 ? y : reduceOnce(reduceOnce(y, m.q4), m.q2)
        }
    }
    /// Always from below 4q to below 2q.
    enum Strict: Growth {
        @inline(__always) static func reduced(_ x: Lanes, stage: Int, _ m: Multiples) -> Lanes { reduceOnce(x, m.q2) }
    }

    @inline(__always) static func forwardPair<G: Growth>(
        _ x: inout Lanes, _ y: inout Lanes, _ w: Twiddle, stage: Int, _ m: Multiples, _: G.Type
    ) {
        let t = product(y, w, m.q)
        let a = G.reduced(x, stage: stage, m)
        x = a &+ t
        y = a &+ m.q2 &- t
    }

    /// Three stages: vectors that are four, two and one apart.
    @inline(__always) static func forwardThreeStages<G: Growth, T: TwiddleSource>(
        _ x: inout Eight, _ t: T, _ m: Multiples, _: G.Type
    ) {
        let t0 = t.top
        forwardPair(&x.a, &x.e, t0, stage: 0, m, G.self)
        forwardPair(&x.b, &x.f, t0, stage: 0, m, G.self)
        forwardPair(&x.c, &x.g, t0, stage: 0, m, G.self)
        forwardPair(&x.d, &x.h, t0, stage: 0, m, G.self)
        let (m0, m1) = (t.middle(0), t.middle(1))
        forwardPair(&x.a, &x.c, m0, stage: 1, m, G.self)
        forwardPair(&x.b, &x.d, m0, stage: 1, m, G.self)
        forwardPair(&x.e, &x.g, m1, stage: 1, m, G.self)
        forwardPair(&x.f, &x.h, m1, stage: 1, m, G.self)
        forwardPair(&x.a, &x.b, t.bottom(0), stage: 2, m, G.self)
        forwardPair(&x.c, &x.d, t.bottom(1), stage: 2, m, G.self)
        forwardPair(&x.e, &x.f, t.bottom(2), stage: 2, m, G.self)
        forwardPair(&x.g, &x.h, t.bottom(3), stage: 2, m, G.self)
    }

    /// Forward transform in place. Input in [0, 4q), output in [0, q), bit-reversed order.
    ///
    /// - `n`: a power of two. `w`, `ws`: n twiddles `ψ^brv(i)` and their Shoup companions.
    /// - `tail`: the twiddles of the last three stages laid out as lanes, 112 words per 64 residues (see `NTTTable`).
    public static func forward(
        _ x: UnsafeMutablePointer<UInt32>, _ n: Int, _ q: UInt32, _ w: UnsafePointer<UInt32>, _ ws: UnsafePointer<UInt32>,
        _ tail: UnsafePointer<UInt32>
    ) {
        if n < 256 { return forwardSmall(x, n, q, w, ws) }
        forward(x, AsTheyAre(), x, n, q, w, ws, tail, Reduce())
    }

    /// Residues modulo `from`, taken centered, transformed modulo `q` into another row: `liftCentered` and `forward` in one.
    public static func forwardCentered(
        _ x: UnsafePointer<UInt32>, _ out: UnsafeMutablePointer<UInt32>, _ n: Int, _ from: UInt32, _ q: UInt32,
        _ offset: UInt32, _ one: UInt32, _ w: UnsafePointer<UInt32>, _ ws: UnsafePointer<UInt32>, _ tail: UnsafePointer<UInt32>
    ) {
        if n < 256 || offset > 2 &* q {
            liftCentered(x, out, n, from, q, offset, one)
            return forward(out, n, q, w, ws, tail)
        }
        forward(x, Centered(from, offset), out, n, q, w, ws, tail, Reduce())
    }

    /// `(values − x)·c` in [0, q) for values in [0, 2q), where x comes from `remainder` as in `forwardCentered`.
    ///
    /// - `c`, `cs`: a factor below q and its Shoup companion. `out` is none of the rows that are read.
    public static func subtractForwardCentered(
        _ values: UnsafePointer<UInt32>, _ remainder: UnsafePointer<UInt32>, _ out: UnsafeMutablePointer<UInt32>, _ n: Int,
        _ from: UInt32, _ c: UInt32, _ cs: UInt32, _ q: UInt32, _ offset: UInt32, _ one: UInt32,
        _ w: UnsafePointer<UInt32>, _ ws: UnsafePointer<UInt32>, _ tail: UnsafePointer<UInt32>
    ) {
        if n < 256 || offset > 2 &* q || q >= 1 << 29 {
            forwardCentered(remainder, out, n, from, q, offset, one, w, ws, tail)
            return subtractAndScale(values, out, out, n, c, cs, q)
        }
        forward(remainder, Centered(from, offset), out, n, q, w, ws, tail, SubtractAndScale(values: values, c: Twiddle(c, cs)))
    }

    /// The first pass takes the source as `r` reads it and writes to `x`, where the others work.
    @inline(__always) static func forward<R: Reading, F: Finishing>(
        _ source: UnsafePointer<UInt32>, _ r: R, _ x: UnsafeMutablePointer<UInt32>, _ n: Int, _ q: UInt32,
        _ w: UnsafePointer<UInt32>, _ ws: UnsafePointer<UInt32>, _ tail: UnsafePointer<UInt32>, _ f: F
    ) {
        let stages = stagesOfNextPass(n.trailingZeroBitCount &- 6)
        // Values are below bound·q; 16q fits a word for q below 2^28.
        if q < 1 << 28 {
            forwardPass(source, r, x, n, 1, stages, w, ws, Multiples(q), Free.self)
            forwardRest(x, n, stages, 4 &+ 2 &* stages, q, w, ws, tail, f)
        } else {
            forwardPass(source, r, x, n, 1, stages, w, ws, Multiples(q), Strict.self)
            forwardRestStrictly(x, n, stages, q, w, ws, tail, f)
        }
    }

    /// Two or three of those that come before the last six.
    @inline(__always) static func stagesOfNextPass(_ left: Int) -> Int { left == 2 || left == 4 ? 2 : 3 }

    static func forwardRest<F: Finishing>(
        _ x: UnsafeMutablePointer<UInt32>, _ n: Int, _ done: Int, _ reached: Int, _ q: UInt32, _ w: UnsafePointer<UInt32>,
        _ ws: UnsafePointer<UInt32>, _ tail: UnsafePointer<UInt32>, _ f: F
    ) {
        let m = Multiples(q)
        var (bound, blocks) = (reached, 1 &<< done)
        var left = n.trailingZeroBitCount &- 6 &- done
        while left > 0 {
            let stages = stagesOfNextPass(left)
            bound &+= 2 &* stages
            if bound <= 16 {
                forwardPass(x, AsTheyAre(), x, n, blocks, stages, w, ws, m, Free.self)
            } else {
                forwardPass(x, AsTheyAre(), x, n, blocks, stages, w, ws, m, Halved.self)
                bound = 8 &+ 2 &* stages
            }
            blocks &<<= stages
            left &-= stages
        }
        forwardTail(x, n, w, ws, tail, m, f, Halved.self, Last.self)
    }

    static func forwardRestStrictly<F: Finishing>(
        _ x: UnsafeMutablePointer<UInt32>, _ n: Int, _ done: Int, _ q: UInt32, _ w: UnsafePointer<UInt32>,
        _ ws: UnsafePointer<UInt32>, _ tail: UnsafePointer<UInt32>, _ f: F
    ) {
        let m = Multiples(q)
        var blocks = 1 &<< done
        var left = n.trailingZeroBitCount &- 6 &- done
        while left > 0 {
            let stages = stagesOfNextPass(left)
            forwardPass(x, AsTheyAre(), x, n, blocks, stages, w, ws, m, Strict.self)
            blocks &<<= stages
            left &-= stages
        }
        forwardTail(x, n, w, ws, tail, m, f, Strict.self, Strict.self)
    }

    @inline(__always) static func forwardPass<R: Reading, G: Growth>(
        _ source: UnsafePointer<UInt32>, _ r: R, _ x: UnsafeMutablePointer<UInt32>, _ n: Int, _ blocks: Int, _ stages: Int,
        _ w: UnsafePointer<UInt32>, _ ws: UnsafePointer<UInt32>, _ m: Multiples, _: G.Type
    ) {
        let size = n / blocks
        for k in 0..<blocks {
            let t = BlockTwiddles(w: w, ws: ws, i: blocks &+ k)
            let at = k &* size
            if stages == 3 {
                forwardEighths(source + at, r, x + at, size / 8, LoopTwiddles(t), m, G.self)
            } else {
                forwardQuarters(source + at, r, x + at, size / 4, t.top, t.middle(0), t.middle(1), m, G.self)
            }
        }
    }

    /// Three stages on a block of `8·distance` residues.
    @inline(__always) static func forwardEighths<R: Reading, G: Growth>(
        _ source: UnsafePointer<UInt32>, _ r: R, _ x: UnsafeMutablePointer<UInt32>, _ distance: Int, _ t: LoopTwiddles,
        _ m: Multiples, _: G.Type
    ) {
        var p = 0
        while p < distance {
            var v = Eight(source + p, distance, r)
            forwardThreeStages(&v, t, m, G.self)
            v.store(x + p, distance)
            p &+= 8
        }
    }

    /// Two stages on a block of `4·distance` residues.
    @inline(__always) static func forwardQuarters<R: Reading, G: Growth>(
        _ source: UnsafePointer<UInt32>, _ r: R, _ x: UnsafeMutablePointer<UInt32>, _ distance: Int, _ t: Twiddle,
        _ t0: Twiddle, _ t1: Twiddle, _ m: Multiples, _: G.Type
    ) {
        var p = 0
        while p < distance {
            var (a, b) = (r.read(source, p), r.read(source, p &+ distance))
            var (c, d) = (r.read(source, p &+ 2 &* distance), r.read(source, p &+ 3 &* distance))
            forwardPair(&a, &c, t, stage: 0, m, G.self)
            forwardPair(&b, &d, t, stage: 0, m, G.self)
            forwardPair(&a, &b, t0, stage: 1, m, G.self)
            forwardPair(&c, &d, t1, stage: 1, m, G.self)
            store(a, x, p)
            store(b, x, p &+ distance)
            store(c, x, p &+ 2 &* distance)
            store(d, x, p &+ 3 &* distance)
            p &+= 8
        }
    }

    /// What becomes of transformed residues below 4q.
    protocol Finishing {
        func finished(_ x: Lanes, _ i: Int, _ m: Multiples) -> Lanes
    }
    /// They are reduced to [0, q).
    struct Reduce: Finishing {
        @inline(__always) func finished(_ x: Lanes, _ i: Int, _ m: Multiples) -> Lanes {
            reduceOnce(reduceOnce(x, m.q2), m.q)
        }
    }
    /// They are taken from others, and the difference is multiplied. Moduli below 2^29.
    struct SubtractAndScale: Finishing {
        let values: UnsafePointer<UInt32>
        let c: Twiddle
        @inline(__always) func finished(_ x: Lanes, _ i: Int, _ m: Multiples) -> Lanes {
            reduceOnce(product(load(values, i) &+ m.q4 &- x, c, m.q), m.q)
        }
    }

    /// Distances 32 to 1 on 64 residues at a time, inside registers, and what is to be done with the results.
    @inline(__always) static func forwardTail<F: Finishing, G: Growth, L: Growth>(
        _ x: UnsafeMutablePointer<UInt32>, _ n: Int, _ w: UnsafePointer<UInt32>, _ ws: UnsafePointer<UInt32>,
        _ tail: UnsafePointer<UInt32>, _ m: Multiples, _ f: F, _: G.Type, _: L.Type
    ) {
        let blocks = n / 64
        for k in 0..<blocks {
            let i = 64 &* k
            var v = Eight(x + i, 8, AsTheyAre())
            forwardThreeStages(&v, BlockTwiddles(w: w, ws: ws, i: blocks &+ k), m, G.self)
            v.transpose()
            forwardThreeStages(&v, LaneTwiddles(t: tail + 112 &* k), m, L.self)
            v.transpose()
            v.a = f.finished(v.a, i, m)
            v.b = f.finished(v.b, i &+ 8, m)
            v.c = f.finished(v.c, i &+ 16, m)
            v.d = f.finished(v.d, i &+ 24, m)
            v.e = f.finished(v.e, i &+ 32, m)
            v.f = f.finished(v.f, i &+ 40, m)
            v.g = f.finished(v.g, i &+ 48, m)
            v.h = f.finished(v.h, i &+ 56, m)
            v.store(x + i, 8)
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
