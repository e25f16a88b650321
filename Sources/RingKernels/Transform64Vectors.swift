// The transform of 64-bit residues in vectors of four (spec bfv.md 2.2): values stay in [0, 8q) going forward and in [0, 4q)
// going back. After the first two stages each quarter of the row is finished before the next one, so that the long rows of
// degree 8192 are read from the first-level cache.

#if RING_KERNELS_AVX2
    extension Kernels64 {
        @inline(__always) static func forwardPair(
            _ x: inout Quad, _ y: inout Quad, _ f: Factor, _ m: Prime
        ) {
            let t = product(y, f, m)
            let a = reduceOnce(x, m.q4)
            x = a &+ t
            y = a &+ m.q4 &- t
        }

        @inline(__always) static func inversePair(_ x: inout Quad, _ y: inout Quad, _ f: Factor, _ m: Prime) {
            let sum = reduceOnce(x &+ y, m.q4)
            y = product(x &+ m.q4 &- y, f, m)
            x = sum
        }

        /// Stages with distance h and h/2 for blocks `k ..< end`, `m` blocks in all.
        @inline(__always) static func forwardTwoStages(
            _ x: UnsafeMutablePointer<UInt64>, _ m: Int, _ h: Int, _ blocks: Range<Int>, _ twiddles: UnsafePointer<UInt64>,
            _ prime: Prime
        ) {
            let half = h / 2
            for k in blocks {
                let i = m &+ k
                let f0 = Factor(twiddles + 4 &* i)
                let f1 = Factor(twiddles + 8 &* i)
                let f2 = Factor(twiddles + (8 &* i &+ 4))
                var p = 2 &* k &* h
                let end = p &+ half
                while p < end {
                    var a = load(x, p)
                    var b = load(x, p &+ half)
                    var c = load(x, p &+ h)
                    var d = load(x, p &+ h &+ half)
                    forwardPair(&a, &c, f0, prime)
                    forwardPair(&b, &d, f0, prime)
                    forwardPair(&a, &b, f1, prime)
                    forwardPair(&c, &d, f2, prime)
                    store(a, x, p)
                    store(b, x, p &+ half)
                    store(c, x, p &+ h)
                    store(d, x, p &+ h &+ half)
                    p &+= 4
                }
            }
        }

        @inline(__always) static func forwardVectors(
            _ x: UnsafeMutablePointer<UInt64>, _ n: Int, _ q: UInt64, _ twiddles: UnsafePointer<UInt64>,
            _ tail: UnsafePointer<UInt64>
        ) {
            let prime = Prime(q)
            forwardTwoStages(x, 1, n / 2, 0..<1, twiddles, prime)
            // Quarter by quarter, so that the rest of the stages finds its residues in the first-level cache.
            for quarter in 0..<4 {
                var m = 4
                var h = n / 8
                while h >= 8 {
                    let blocks = m / 4
                    forwardTwoStages(x, m, h, (quarter &* blocks)..<(quarter &* blocks &+ blocks), twiddles, prime)
                    m &*= 4
                    h /= 4
                }
                let first = quarter &* (n / 4)
                forwardTail(x, first..<(first &+ n / 4), n, h == 4, twiddles, tail, prime)
            }
        }

        /// Distances (4,) 2 and 1 on sixteen residues at a time, inside registers, and the reduction to [0, q).
        @inline(__always) static func forwardTail(
            _ x: UnsafeMutablePointer<UInt64>, _ range: Range<Int>, _ n: Int, _ four: Bool, _ twiddles: UnsafePointer<UInt64>,
            _ tail: UnsafePointer<UInt64>, _ prime: Prime
        ) {
            var p = range.lowerBound
            var t = tail + 3 &* (p / 2)
            let q2 = prime.q &<< 1
            while p < range.upperBound {
                var a = load(x, p)
                var b = load(x, p &+ 4)
                var c = load(x, p &+ 8)
                var d = load(x, p &+ 12)
                if four {
                    let k = (n &+ p) / 8
                    forwardPair(&a, &b, Factor(twiddles + 4 &* k), prime)
                    forwardPair(&c, &d, Factor(twiddles + (4 &* k &+ 4)), prime)
                }
                transpose(&a, &b, &c, &d)
                let f = Factor(load(t, 0), load(t, 4))
                forwardPair(&a, &c, f, prime)
                forwardPair(&b, &d, f, prime)
                lastPair(&a, &b, Factor(load(t, 8), load(t, 12)), prime)
                lastPair(&c, &d, Factor(load(t, 16), load(t, 20)), prime)
                transposeBack(&a, &b, &c, &d)
                store(reduceOnce(reduceOnce(a, q2), prime.q), x, p)
                store(reduceOnce(reduceOnce(b, q2), prime.q), x, p &+ 4)
                store(reduceOnce(reduceOnce(c, q2), prime.q), x, p &+ 8)
                store(reduceOnce(reduceOnce(d, q2), prime.q), x, p &+ 12)
                p &+= 16
                t += 24
            }
        }

        /// Four blocks of four residues: afterwards `a` holds the first of each, `b` the second and so on, blocks in the
        /// order 0, 2, 1, 3.
        @inline(__always) static func transpose(_ a: inout Quad, _ b: inout Quad, _ c: inout Quad, _ d: inout Quad) {
            let (e, f) = (Quad(a[0], c[0], a[2], c[2]), Quad(a[1], c[1], a[3], c[3]))
            let (g, h) = (Quad(b[0], d[0], b[2], d[2]), Quad(b[1], d[1], b[3], d[3]))
            a = Quad(e[0], e[1], g[0], g[1])
            b = Quad(f[0], f[1], h[0], h[1])
            c = Quad(e[2], e[3], g[2], g[3])
            d = Quad(f[2], f[3], h[2], h[3])
        }

        @inline(__always) static func transposeBack(_ a: inout Quad, _ b: inout Quad, _ c: inout Quad, _ d: inout Quad) {
            let (e, g) = (Quad(a[0], a[1], c[0], c[1]), Quad(a[2], a[3], c[2], c[3]))
            let (f, h) = (Quad(b[0], b[1], d[0], d[1]), Quad(b[2], b[3], d[2], d[3]))
            a = Quad(e[0], f[0], e[2], f[2])
            c = Quad(e[1], f[1], e[3], f[3])
            b = Quad(g[0], h[0], g[2], h[2])
            d = Quad(g[1], h[1], g[3], h[3])
        }

        /// The last butterfly with results in [0, q).
        @inline(__always) static func lastPair(
            _ x: inout Quad, _ y: inout Quad, _ f: Factor, _ m: Prime
        ) {
            let q2 = m.q &<< 1
            let t = reduceOnce(product(y, f, m), q2)
            let a = reduceOnce(reduceOnce(x, m.q4), q2)
            x = a &+ t
            y = a &+ q2 &- t
        }

        @inline(__always) static func inverseTwoStages(
            _ x: UnsafeMutablePointer<UInt64>, _ m: Int, _ h: Int, _ blocks: Range<Int>, _ twiddles: UnsafePointer<UInt64>,
            _ prime: Prime
        ) {
            let half = h / 2
            for k in blocks {
                let i = m &+ k
                let f0 = Factor(twiddles + 4 &* i)
                let f1 = Factor(twiddles + 8 &* i)
                let f2 = Factor(twiddles + (8 &* i &+ 4))
                var p = 2 &* k &* h
                let end = p &+ half
                while p < end {
                    var a = load(x, p)
                    var b = load(x, p &+ half)
                    var c = load(x, p &+ h)
                    var d = load(x, p &+ h &+ half)
                    inversePair(&a, &b, f1, prime)
                    inversePair(&c, &d, f2, prime)
                    inversePair(&a, &c, f0, prime)
                    inversePair(&b, &d, f0, prime)
                    store(a, x, p)
                    store(b, x, p &+ half)
                    store(c, x, p &+ h)
                    store(d, x, p &+ h &+ half)
                    p &+= 4
                }
            }
        }

        @inline(__always) static func inverseTail(
            _ x: UnsafeMutablePointer<UInt64>, _ range: Range<Int>, _ n: Int, _ four: Bool, _ twiddles: UnsafePointer<UInt64>,
            _ tail: UnsafePointer<UInt64>, _ prime: Prime
        ) {
            var p = range.lowerBound
            var t = tail + 3 &* (p / 2)
            while p < range.upperBound {
                var a = load(x, p)
                var b = load(x, p &+ 4)
                var c = load(x, p &+ 8)
                var d = load(x, p &+ 12)
                transpose(&a, &b, &c, &d)
                inversePair(&a, &b, Factor(load(t, 8), load(t, 12)), prime)
                inversePair(&c, &d, Factor(load(t, 16), load(t, 20)), prime)
                let f = Factor(load(t, 0), load(t, 4))
                inversePair(&a, &c, f, prime)
                inversePair(&b, &d, f, prime)
                transposeBack(&a, &b, &c, &d)
                if four {
                    let k = (n &+ p) / 8
                    inversePair(&a, &b, Factor(twiddles + 4 &* k), prime)
                    inversePair(&c, &d, Factor(twiddles + (4 &* k &+ 4)), prime)
                }
                store(a, x, p)
                store(b, x, p &+ 4)
                store(c, x, p &+ 8)
                store(d, x, p &+ 12)
                p &+= 16
                t += 24
            }
        }

        @inline(__always) static func inverseVectors(
            _ x: UnsafeMutablePointer<UInt64>, _ n: Int, _ q: UInt64, _ twiddles: UnsafePointer<UInt64>,
            _ tail: UnsafePointer<UInt64>
        ) {
            let prime = Prime(q)
            // Pairs of stages after the tail and before the last pair: with an odd number of stages the tail takes three.
            let four = n.trailingZeroBitCount & 1 == 1
            for quarter in 0..<4 {
                let first = quarter &* (n / 4)
                inverseTail(x, first..<(first &+ n / 4), n, four, twiddles, tail, prime)
                var m = four ? n / 32 : n / 16
                var h = four ? 16 : 8
                while m >= 4 {
                    let blocks = m / 4
                    inverseTwoStages(x, m, h, (quarter &* blocks)..<(quarter &* blocks &+ blocks), twiddles, prime)
                    m /= 4
                    h &*= 4
                }
            }
            let (f0, f1) = (Factor(twiddles), Factor(twiddles + 4))
            let (f2, f3) = (Factor(twiddles + 8), Factor(twiddles + 12))
            let q2 = prime.q &<< 1
            let quarter = n / 4
            var p = 0
            while p < quarter {
                var a = load(x, p)
                var b = load(x, p &+ quarter)
                var c = load(x, p &+ 2 &* quarter)
                var d = load(x, p &+ 3 &* quarter)
                inversePair(&a, &b, f2, prime)
                inversePair(&c, &d, f3, prime)
                let (r, s) = (product(a &+ c, f0, prime), product(b &+ d, f0, prime))
                let (t, u) = (product(a &+ prime.q4 &- c, f1, prime), product(b &+ prime.q4 &- d, f1, prime))
                store(reduceOnce(reduceOnce(r, q2), prime.q), x, p)
                store(reduceOnce(reduceOnce(s, q2), prime.q), x, p &+ quarter)
                store(reduceOnce(reduceOnce(t, q2), prime.q), x, p &+ 2 &* quarter)
                store(reduceOnce(reduceOnce(u, q2), prime.q), x, p &+ 3 &* quarter)
                p &+= 4
            }
        }
    }
#endif
