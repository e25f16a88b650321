// The inverse of Transform32.swift: the first six stages on 64 residues in registers, then two or three stages per pass, the
// last pass scaling by 1/n. Values between passes are below 2q; inside a pass sums grow to 16q where that fits a word.

extension Kernels32 {
    /// Whether sums are reduced at once, or grow for three stages.
    protocol SumGrowth {
        static var lazy: Bool { get }
    }
    enum Doubling: SumGrowth {
        @inline(__always) static var lazy: Bool { true }
    }
    enum Reduced: SumGrowth {
        @inline(__always) static var lazy: Bool { false }
    }

    /// - `bound`: what `y` is below, a multiple of q.
    @inline(__always) static func inversePair<G: SumGrowth>(
        _ x: inout Lanes, _ y: inout Lanes, _ t: Twiddle, _ bound: Lanes, _ m: Multiples, _: G.Type
    ) {
        let (sum, difference) = (x &+ y, x &+ (G.lazy ? bound : m.q2) &- y)
        x = G.lazy ? sum : reduceOnce(sum, m.q2)
        y = product(difference, t, m.q)
    }

    /// The last stage of all: both results are multiplied.
    @inline(__always) static func inverseScaledPair<G: SumGrowth>(
        _ x: inout Lanes, _ y: inout Lanes, _ t0: Twiddle, _ t1: Twiddle, _ bound: Lanes, _ m: Multiples, _: G.Type
    ) {
        let (sum, difference) = (x &+ y, x &+ (G.lazy ? bound : m.q2) &- y)
        x = reduceOnce(product(sum, t0, m.q), m.q)
        y = reduceOnce(product(difference, t1, m.q), m.q)
    }

    /// Two stages of three: vectors that are one and two apart. Values below 2q become, lazily, 8q (a, e), 4q (b, f) or 2q.
    @inline(__always) static func inverseTwoStages<G: SumGrowth, T: TwiddleSource>(
        _ x: inout Eight, _ t: T, _ m: Multiples, _: G.Type
    ) {
        inversePair(&x.a, &x.b, t.bottom(0), m.q2, m, G.self)
        inversePair(&x.c, &x.d, t.bottom(1), m.q2, m, G.self)
        inversePair(&x.e, &x.f, t.bottom(2), m.q2, m, G.self)
        inversePair(&x.g, &x.h, t.bottom(3), m.q2, m, G.self)
        let (m0, m1) = (t.middle(0), t.middle(1))
        inversePair(&x.a, &x.c, m0, m.q4, m, G.self)
        inversePair(&x.b, &x.d, m0, m.q2, m, G.self)
        inversePair(&x.e, &x.g, m1, m.q4, m, G.self)
        inversePair(&x.f, &x.h, m1, m.q2, m, G.self)
    }

    /// Three stages, from below 2q to below 2q.
    @inline(__always) static func inverseThreeStages<G: SumGrowth, T: TwiddleSource>(
        _ x: inout Eight, _ t: T, _ m: Multiples, _: G.Type
    ) {
        inverseTwoStages(&x, t, m, G.self)
        let t0 = t.top
        inversePair(&x.a, &x.e, t0, m.q8, m, G.self)
        inversePair(&x.b, &x.f, t0, m.q4, m, G.self)
        inversePair(&x.c, &x.g, t0, m.q2, m, G.self)
        inversePair(&x.d, &x.h, t0, m.q2, m, G.self)
        if G.lazy {
            x.a = reduceOnce(reduceOnce(reduceOnce(x.a, m.q8), m.q4), m.q2)
            x.b = reduceOnce(reduceOnce(x.b, m.q4), m.q2)
            x.c = reduceOnce(x.c, m.q2)
            x.d = reduceOnce(x.d, m.q2)
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
        inverse(x, x, n, q, w, ws, tail)
    }

    /// The same into another row, or the same one.
    public static func inverse(
        _ source: UnsafePointer<UInt32>, _ x: UnsafeMutablePointer<UInt32>, _ n: Int, _ q: UInt32,
        _ w: UnsafePointer<UInt32>, _ ws: UnsafePointer<UInt32>, _ tail: UnsafePointer<UInt32>
    ) {
        if n < 256 {
            for i in 0..<n { x[i] = source[i] }
            return inverseSmall(x, n, q, w, ws)
        }
        if q < 1 << 28 {
            inverse(source, x, n, w, ws, tail, Multiples(q), Doubling.self)
        } else {
            inverse(source, x, n, w, ws, tail, Multiples(q), Reduced.self)
        }
    }

    @inline(__always) static func inverse<G: SumGrowth>(
        _ source: UnsafePointer<UInt32>, _ x: UnsafeMutablePointer<UInt32>, _ n: Int, _ w: UnsafePointer<UInt32>,
        _ ws: UnsafePointer<UInt32>,
        _ tail: UnsafePointer<UInt32>, _ m: Multiples, _: G.Type
    ) {
        for k in 0..<(n / 64) {
            var v = Eight(source + 64 &* k, 8, AsTheyAre())
            v.transpose()
            inverseThreeStages(&v, LaneTwiddles(t: tail + 112 &* k), m, G.self)
            v.transpose()
            inverseThreeStages(&v, BlockTwiddles(w: w, ws: ws, i: n / 64 &+ k), m, G.self)
            v.store(x + 64 &* k, 8)
        }
        var left = n.trailingZeroBitCount &- 6
        var blocks = n / 64
        while left > 3 {
            let stages = left == 4 ? 2 : 3
            blocks &>>= stages
            left &-= stages
            let size = n / blocks
            for k in 0..<blocks {
                let t = BlockTwiddles(w: w, ws: ws, i: blocks &+ k)
                if stages == 3 {
                    inverseEighths(x + k &* size, size / 8, LoopTwiddles(t), m, G.self)
                } else {
                    inverseQuarters(x + k &* size, size / 4, t.top, t.middle(0), t.middle(1), m, G.self)
                }
            }
        }
        let t = BlockTwiddles(w: w, ws: ws, i: 1)
        let scale = Twiddle(w[0], ws[0])
        if left == 3 {
            inverseLastEighths(x, n / 8, LoopTwiddles(t), scale, m, G.self)
        } else {
            inverseLastQuarters(x, n / 4, t.top, t.middle(0), t.middle(1), scale, m, G.self)
        }
    }

    /// Three stages on a block of `8·distance` residues.
    @inline(__always) static func inverseEighths<G: SumGrowth>(
        _ x: UnsafeMutablePointer<UInt32>, _ distance: Int, _ t: LoopTwiddles, _ m: Multiples, _: G.Type
    ) {
        var p = 0
        while p < distance {
            var v = Eight(x + p, distance, AsTheyAre())
            inverseThreeStages(&v, t, m, G.self)
            v.store(x + p, distance)
            p &+= 8
        }
    }

    /// The last three stages.
    @inline(__always) static func inverseLastEighths<G: SumGrowth>(
        _ x: UnsafeMutablePointer<UInt32>, _ distance: Int, _ t: LoopTwiddles, _ scale: Twiddle, _ m: Multiples, _: G.Type
    ) {
        var p = 0
        while p < distance {
            var v = Eight(x + p, distance, AsTheyAre())
            inverseTwoStages(&v, t, m, G.self)
            inverseScaledPair(&v.a, &v.e, scale, t.top, m.q8, m, G.self)
            inverseScaledPair(&v.b, &v.f, scale, t.top, m.q4, m, G.self)
            inverseScaledPair(&v.c, &v.g, scale, t.top, m.q2, m, G.self)
            inverseScaledPair(&v.d, &v.h, scale, t.top, m.q2, m, G.self)
            v.store(x + p, distance)
            p &+= 8
        }
    }

    /// Two stages on a block of `4·distance` residues.
    @inline(__always) static func inverseQuarters<G: SumGrowth>(
        _ x: UnsafeMutablePointer<UInt32>, _ distance: Int, _ t: Twiddle, _ t0: Twiddle, _ t1: Twiddle, _ m: Multiples,
        _: G.Type
    ) {
        var p = 0
        while p < distance {
            var (a, b) = (load(x, p), load(x, p &+ distance))
            var (c, d) = (load(x, p &+ 2 &* distance), load(x, p &+ 3 &* distance))
            inversePair(&a, &b, t0, m.q2, m, G.self)
            inversePair(&c, &d, t1, m.q2, m, G.self)
            inversePair(&a, &c, t, m.q4, m, G.self)
            inversePair(&b, &d, t, m.q2, m, G.self)
            store(G.lazy ? reduceOnce(reduceOnce(a, m.q4), m.q2) : a, x, p)
            store(G.lazy ? reduceOnce(b, m.q2) : b, x, p &+ distance)
            store(c, x, p &+ 2 &* distance)
            store(d, x, p &+ 3 &* distance)
            p &+= 8
        }
    }

    /// The last two stages.
    @inline(__always) static func inverseLastQuarters<G: SumGrowth>(
        _ x: UnsafeMutablePointer<UInt32>, _ distance: Int, _ t: Twiddle, _ t0: Twiddle, _ t1: Twiddle, _ scale: Twiddle,
        _ m: Multiples, _: G.Type
    ) {
        var p = 0
        while p < distance {
            var (a, b) = (load(x, p), load(x, p &+ distance))
            var (c, d) = (load(x, p &+ 2 &* distance), load(x, p &+ 3 &* distance))
            inversePair(&a, &b, t0, m.q2, m, G.self)
            inversePair(&c, &d, t1, m.q2, m, G.self)
            inverseScaledPair(&a, &c, scale, t, m.q4, m, G.self)
            inverseScaledPair(&b, &d, scale, t, m.q2, m, G.self)
            store(a, x, p)
            store(b, x, p &+ distance)
            store(c, x, p &+ 2 &* distance)
            store(d, x, p &+ 3 &* distance)
            p &+= 8
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
