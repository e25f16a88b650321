// The row operations of Products64.swift in vectors of four. Sums are kept as sums of products of limbs: residues are split
// in two where both limbs stay below 2^31, so that 64-bit lanes take many products before they are brought back below q.

#if RING_KERNELS_AVX2
    import CProcessor

    extension Kernels64 {
        /// Sums of products of residues that are split into two limbs of s bits and more: Σ low·low, Σ crossed, Σ high·high.
        struct Sums {
            var low = Quad()
            var crossed = Quad()
            var high = Quad()

            @inline(__always) mutating func add(_ x: Limbs, _ y: Limbs) {
                low = low &+ mul32(x.low, y.low)
                crossed = crossed &+ mul32(x.low, y.high) &+ mul32(x.high, y.low)
                high = high &+ mul32(x.high, y.high)
            }
        }

        struct Limbs {
            let low: Quad
            let high: Quad
        }

        /// Where residues of a prime are split, and what brings sums back below it.
        struct Splitter {
            let bits: Quad
            let mask: Quad
            let shift: UInt64
            /// `2^(2s) mod q`
            let factor: Factor
            let prime: Prime
            let q2: Quad

            @inline(__always) init(_ q: UInt64, _ shift: UInt64) {
                self.shift = shift
                bits = Quad(repeating: shift)
                mask = Quad(repeating: (1 &<< shift) &- 1)
                let w = (1 &<< (2 &* shift)) % q
                factor = Factor(Quad(repeating: w), Quad(repeating: q.dividingFullWidth((w, 0)).quotient))
                prime = Prime(q)
                q2 = prime.q &<< 1
            }

            @inline(__always) func limbs(_ x: Quad) -> Limbs { Limbs(low: x & mask, high: x &>> bits) }

            /// The sum modulo q in [0, q).
            @inline(__always) func reduce(_ s: Sums) -> Quad {
                let middle = s.crossed &+ (s.low &>> bits)
                let top = s.high &+ (middle &>> bits)
                // The lower limbs make less than 2^(2s), at most 4q.
                let rest = (s.low & mask) &+ ((middle & mask) &<< bits)
                let r = rest &+ product(top, factor, prime)
                return reduceOnce(reduceOnce(reduceOnce(r, prime.q4), q2), prime.q)
            }
        }

        @inline(__always) static func splitBits(_ q: UInt64) -> UInt64 { UInt64(65 &- q.leadingZeroBitCount) / 2 }

        /// Products of reduced residues whose limbs the lanes of `Sums` take: the crossed ones make `2^(bits+1)` each.
        @inline(__always) static func productsPerSum(_ q: UInt64) -> Int {
            1 &<< (q.leadingZeroBitCount &- 2)
        }

        static func keySwitchVectors(
            _ digits: UnsafePointer<UInt64>, _ digitStride: Int, _ key: UnsafePointer<UInt64>, _ keyStride: Int,
            _ polyStride: Int, _ count: Int, _ places: UnsafePointer<UInt32>?, _ out0: UnsafeMutablePointer<UInt64>,
            _ out1: UnsafeMutablePointer<UInt64>, _ n: Int, _ q: UInt64
        ) {
            let splitter = Splitter(q, splitBits(q))
            var i = 0
            while i < n {
                // Four neighbours go to four neighbours.
                let (from, to) = places.map { moveOfFour($0, i) } ?? (i, i)
                var s0 = Sums()
                var s1 = Sums()
                for j in 0..<count {
                    let d = splitter.limbs(load(digits, j &* digitStride &+ from))
                    s0.add(d, splitter.limbs(load(key, j &* keyStride &+ from)))
                    s1.add(d, splitter.limbs(load(key, j &* keyStride &+ polyStride &+ from)))
                }
                var r0 = splitter.reduce(s0)
                var r1 = splitter.reduce(s1)
                if let places {
                    let order = halfOrder(places, i)
                    r0 = quad(Kernels32.permuted(halves(r0), order))
                    r1 = quad(Kernels32.permuted(halves(r1), order))
                }
                store(r0, out0, to)
                store(r1, out1, to)
                i &+= 4
            }
        }

        @inline(__always) static func moveOfFour(_ places: UnsafePointer<UInt32>, _ i: Int) -> (from: Int, to: Int) {
            (i & ~7 | Int(places[i]) & 4, Int(places[i]) & ~7 | i & 4)
        }

        static func innerProductVectors(
            _ plaintexts: UnsafePointer<UInt64>, _ indices: UnsafePointer<Int32>, _ count: Int,
            _ selection: UnsafePointer<UInt64>, _ selectionStride: Int,
            _ out0: UnsafeMutablePointer<UInt64>, _ out1: UnsafeMutablePointer<UInt64>, _ n: Int, _ q: UInt64
        ) {
            let splitter = Splitter(q, splitBits(q))
            let flush = productsPerSum(q)
            var i = 0
            while i < n {
                // Half a tile of eight at a time: six sums and two operands fit the registers.
                let block = plaintexts + ((i & ~7) &* count &+ (i & 4))
                var r0 = Quad()
                var r1 = Quad()
                var start = 0
                while start < count {
                    let end = min(start &+ flush, count)
                    var s0 = Sums()
                    var s1 = Sums()
                    for a in start..<end {
                        let x = splitter.limbs(load(block, a &* 8))
                        let u = selection + (Int(indices[a]) &* 2 &* selectionStride &+ i)
                        // The next tile of so many rows is more than the processor foresees.
                        cprocessor_prefetch_near(u + 8)
                        cprocessor_prefetch_near(u + (selectionStride &+ 8))
                        s0.add(x, splitter.limbs(load(u, 0)))
                        s1.add(x, splitter.limbs(load(u, selectionStride)))
                    }
                    r0 = reduceOnce(r0 &+ splitter.reduce(s0), splitter.prime.q)
                    r1 = reduceOnce(r1 &+ splitter.reduce(s1), splitter.prime.q)
                    start = end
                }
                store(r0, out0, i)
                store(r1, out1, i)
                i &+= 4
            }
        }

        static func tensorVectors(
            _ a: UnsafePointer<UInt64>, _ aStride: Int, _ aPoly: Int, _ b: UnsafePointer<UInt64>, _ bStride: Int,
            _ bPoly: Int, _ count: Int, _ out0: UnsafeMutablePointer<UInt64>, _ out1: UnsafeMutablePointer<UInt64>,
            _ out2: UnsafeMutablePointer<UInt64>, _ n: Int, _ q: UInt64
        ) {
            let splitter = Splitter(q, splitBits(q))
            let flush = max(productsPerSum(q) / 2, 1)
            let qv = splitter.prime.q
            var i = 0
            while i < n {
                var (t0, t1, t2) = (Quad(), Quad(), Quad())
                var start = 0
                while start < count {
                    let end = min(start &+ flush, count)
                    var (s0, s1, s2) = (Sums(), Sums(), Sums())
                    for j in start..<end {
                        let x0 = splitter.limbs(load(a, j &* aStride &+ i))
                        let x1 = splitter.limbs(load(a, j &* aStride &+ aPoly &+ i))
                        let y0 = splitter.limbs(load(b, j &* bStride &+ i))
                        let y1 = splitter.limbs(load(b, j &* bStride &+ bPoly &+ i))
                        s0.add(x0, y0)
                        s1.add(x0, y1)
                        s1.add(x1, y0)
                        s2.add(x1, y1)
                    }
                    t0 = reduceOnce(t0 &+ splitter.reduce(s0), qv)
                    t1 = reduceOnce(t1 &+ splitter.reduce(s1), qv)
                    t2 = reduceOnce(t2 &+ splitter.reduce(s2), qv)
                    start = end
                }
                store(t0, out0, i)
                store(t1, out1, i)
                store(t2, out2, i)
                i &+= 4
            }
        }

        /// `z_i` below 2^60; at most seven rows.
        static func convertVectors(
            _ z: UnsafePointer<UInt64>, _ stride: Int, _ count: Int, _ column: UnsafePointer<UInt64>,
            _ out: UnsafeMutablePointer<UInt64>, _ n: Int, _ q: UInt64, _ one: UInt64
        ) {
            let splitter = Splitter(q, 30)
            let unit = Factor(Quad(repeating: 1), Quad(repeating: one))
            var i = 0
            while i < n {
                var s = Sums()
                var t = Sums()
                for j in 0..<count {
                    let c = splitter.limbs(Quad(repeating: column[j]))
                    s.add(splitter.limbs(load(z, j &* stride &+ i)), c)
                    t.add(splitter.limbs(load(z, j &* stride &+ i &+ 4)), c)
                }
                store(convertedSum(s, splitter, unit), out, i)
                store(convertedSum(t, splitter, unit), out, i &+ 4)
                i &+= 8
            }
        }

        @inline(__always) static func convertedSum(_ s: Sums, _ splitter: Splitter, _ unit: Factor) -> Quad {
            let middle = s.crossed &+ (s.low &>> splitter.bits)
            let top = s.high &+ (middle &>> splitter.bits)
            let rest = (s.low & splitter.mask) &+ ((middle & splitter.mask) &<< splitter.bits)
            let m = splitter.prime
            let r = product(rest, unit, m) &+ product(top, splitter.factor, m)
            return reduceOnce(reduceOnce(reduceOnce(r, m.q4), splitter.q2), m.q)
        }

        /// High half of `y·s`, at most two too small.
        @inline(__always) static func highHalf(_ y: Quad, _ s: Quad, _ sHigh: Quad) -> Quad {
            let y1 = y &>> 32
            return mul32(y1, sHigh) &+ (mul32(y1, s) &>> 32) &+ (mul32(y, sHigh) &>> 32)
        }

        static func quotientVectors(
            _ z: UnsafePointer<UInt64>, _ stride: Int, _ count: Int, _ shifts: UnsafePointer<Int32>,
            _ fractions: UnsafePointer<UInt64>, _ out: UnsafeMutablePointer<UInt64>, _ n: Int
        ) {
            let half = Quad(repeating: 1 &<< 58)
            var i = 0
            while i < n {
                var sum = half
                for j in 0..<count {
                    let v = load(z, j &* stride &+ i) &<< Quad(repeating: UInt64(truncatingIfNeeded: shifts[j]))
                    let f = Quad(repeating: fractions[j])
                    sum = sum &+ (highHalf(v, f, f &>> 32) &>> 4)
                }
                store(sum &>> 59, out, i)
                i &+= 4
            }
        }

        @inline(__always) static func reduceFromFour(_ x: Quad, _ m: Prime) -> Quad {
            reduceOnce(reduceOnce(x, m.q &<< 1), m.q)
        }

        @inline(__always) static func splitQuad(
            _ x: Quad, _ t: Quad, _ f: Factor, _ m: Prime, _ even: UnsafeMutablePointer<UInt64>,
            _ odd: UnsafeMutablePointer<UInt64>, _ i: Int
        ) {
            store(reduceOnce(x &+ t, m.q), even, i)
            store(reduceFromFour(product(x &+ m.q &- t, f, m), m), odd, i)
        }

        /// Where the 32-bit halves of lanes i … i + 3 come from.
        @inline(__always) static func halfOrder(_ permutation: UnsafePointer<UInt32>, _ i: Int) -> Halves {
            let p = UnsafeRawPointer(permutation + i).loadUnaligned(as: SIMD4<UInt32>.self)
            let low = (Quad(truncatingIfNeeded: p) & 3) &<< 1
            return halves(low | ((low | 1) &<< 32))
        }

        static func splitVectors(
            _ a: UnsafePointer<UInt64>, _ t: UnsafePointer<UInt64>,
            _ monomial: UnsafePointer<UInt64>, _ monomialShoup: UnsafePointer<UInt64>, _ block: Int,
            _ even: UnsafeMutablePointer<UInt64>, _ odd: UnsafeMutablePointer<UInt64>, _ n: Int, _ q: UInt64
        ) {
            let m = Prime(q)
            var i = 0
            if block < 4 {
                while i < n {
                    splitQuad(load(a, i), load(t, i), Factor(load(monomial, i), load(monomialShoup, i)), m, even, odd, i)
                    i &+= 4
                }
                return
            }
            var run = 0
            while i < n {
                let f = Factor(Quad(repeating: monomial[run]), Quad(repeating: monomialShoup[run]))
                let end = i &+ block
                while i < end {
                    splitQuad(load(a, i), load(t, i), f, m, even, odd, i)
                    i &+= 4
                }
                run &+= 1
            }
        }

        static func addPermutedVectors(
            _ a: UnsafePointer<UInt64>, _ sum: UnsafePointer<UInt64>, _ places: UnsafePointer<UInt32>,
            _ out: UnsafeMutablePointer<UInt64>, _ n: Int, _ q: UInt64
        ) {
            let qv = Quad(repeating: q)
            var i = 0
            while i < n {
                let (from, to) = moveOfFour(places, i)
                let turned = quad(Kernels32.permuted(halves(load(a, from)), halfOrder(places, i)))
                store(reduceOnce(turned &+ load(sum, to), qv), out, to)
                i &+= 4
            }
        }

        static func scaleVectors(
            _ x: UnsafePointer<UInt64>, _ out: UnsafeMutablePointer<UInt64>, _ n: Int, _ w: UInt64, _ ws: UInt64, _ q: UInt64
        ) {
            let m = Prime(q)
            let f = Factor(Quad(repeating: w), Quad(repeating: ws))
            var i = 0
            while i < n {
                store(reduceFromFour(product(load(x, i), f, m), m), out, i)
                i &+= 4
            }
        }

        static func subtractAndScaleVectors(
            _ x: UnsafePointer<UInt64>, _ y: UnsafePointer<UInt64>, _ out: UnsafeMutablePointer<UInt64>, _ n: Int,
            _ w: UInt64, _ ws: UInt64, _ q: UInt64
        ) {
            let m = Prime(q)
            let q2 = m.q &<< 1
            let f = Factor(Quad(repeating: w), Quad(repeating: ws))
            var i = 0
            while i < n {
                store(reduceFromFour(product(load(x, i) &+ q2 &- load(y, i), f, m), m), out, i)
                i &+= 4
            }
        }
    }
#endif
