// Eight 32-bit lanes: loads, lazy products with constants (Shoup), and the exchanges of lanes that the last stages of a
// transform need. This folder is compiled twice, portable and for AVX2, and therefore calls no generic of another module.
// Where Swift cannot name an operation, or does not always turn it into one instruction, the AVX2 build takes the processor's
// own and the portable build spells it out.

#if RING_KERNELS_AVX2
    import _Builtin_intrinsics.intel
#endif

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
    @inline(__always) static func reduceOnce(_ x: Lanes, _ m: Lanes) -> Lanes { least(x, x &- m) }

    /// The lesser of each pair of lanes, unsigned.
    @inline(__always) static func least(_ x: Lanes, _ y: Lanes) -> Lanes {
        #if RING_KERNELS_AVX2
            unsafeBitCast(
                _mm256_min_epu32(unsafeBitCast(x, to: SIMD4<Int64>.self), unsafeBitCast(y, to: SIMD4<Int64>.self)),
                to: Lanes.self)
        #else
            x.replacing(with: y, where: y .< x)
        #endif
    }

    /// Lane i becomes lane `order[i] & 7` of `x`.
    @inline(__always) static func permuted(_ x: Lanes, _ order: Lanes) -> Lanes {
        #if RING_KERNELS_AVX2
            unsafeBitCast(
                _mm256_permutevar8x32_epi32(
                    unsafeBitCast(x, to: SIMD4<Int64>.self), unsafeBitCast(order, to: SIMD4<Int64>.self)),
                to: Lanes.self)
        #else
            Lanes(
                x[Int(order[0] & 7)], x[Int(order[1] & 7)], x[Int(order[2] & 7)], x[Int(order[3] & 7)],
                x[Int(order[4] & 7)], x[Int(order[5] & 7)], x[Int(order[6] & 7)], x[Int(order[7] & 7)])
        #endif
    }

    /// Multiples of a modulus that lazy values are compared with.
    struct Multiples {
        let q: Lanes
        let q2: Lanes
        let q4: Lanes
        let q8: Lanes

        @inline(__always) init(_ q: UInt32) {
            self.q = Lanes(repeating: q)
            q2 = Lanes(repeating: 2 &* q)
            q4 = Lanes(repeating: 4 &* q)
            q8 = Lanes(repeating: 8 &* q)
        }
    }

    /// A constant for every lane: the factor below q, and its Shoup companion `floor(2^32·w / q)` for even and for odd lanes.
    struct Twiddle {
        let w: Lanes
        let even: Wide
        let odd: Wide

        @inline(__always) init(_ w: UInt32, _ ws: UInt32) {
            self.w = Lanes(repeating: w)
            even = wide(Lanes(repeating: ws)) & lowMask
            odd = even
        }
        @inline(__always) init(_ w: Lanes, _ ws: Lanes) {
            self.w = w
            even = wide(ws) & lowMask
            odd = wide(ws) &>> 32
        }
    }

    /// Product `w·y` modulo `q` in [0, 2q) for any 32-bit `y`.
    @inline(__always) static func product(_ y: Lanes, _ t: Twiddle, _ q: Lanes) -> Lanes {
        let (even, odd) = (wide(y) & lowMask, wide(y) &>> 32)
        #if RING_KERNELS_AVX2
            let high = lanes(((even &* t.even) &>> 32) | ((odd &* t.odd) & highMask))
            return (y &* t.w) &- (high &* q)
        #else
            // Without a product of 32-bit lanes, even and odd ones stay apart until the end.
            let (wEven, wOdd, q64) = (wide(t.w) & lowMask, wide(t.w) &>> 32, wide(q) & lowMask)
            let e = (even &* wEven) &- (((even &* t.even) &>> 32) &* q64)
            let o = (odd &* wOdd) &- (((odd &* t.odd) &>> 32) &* q64)
            return lanes((e & lowMask) | (o &<< 32))
        #endif
    }

    /// The same for a constant that is used once.
    @inline(__always) static func mulShoup(_ y: Lanes, _ w: Lanes, _ ws: Lanes, _ q: Lanes) -> Lanes {
        product(y, Twiddle(w, ws), q)
    }

    /// What a pass makes of residues that it reads.
    protocol Reading {
        func read(_ p: UnsafePointer<UInt32>, _ i: Int) -> Lanes
    }
    /// Nothing.
    struct AsTheyAre: Reading {
        @inline(__always) func read(_ p: UnsafePointer<UInt32>, _ i: Int) -> Lanes { load(p, i) }
    }

    /// 64 residues.
    struct Eight {
        var (a, b, c, d): (Lanes, Lanes, Lanes, Lanes)
        var (e, f, g, h): (Lanes, Lanes, Lanes, Lanes)

        /// Eight vectors `distance` words apart.
        @inline(__always) init<R: Reading>(_ p: UnsafePointer<UInt32>, _ distance: Int, _ r: R) {
            (a, b) = (r.read(p, 0), r.read(p, distance))
            (c, d) = (r.read(p, 2 &* distance), r.read(p, 3 &* distance))
            (e, f) = (r.read(p, 4 &* distance), r.read(p, 5 &* distance))
            (g, h) = (r.read(p, 6 &* distance), r.read(p, 7 &* distance))
        }

        @inline(__always) func store(_ p: UnsafeMutablePointer<UInt32>, _ distance: Int) {
            Kernels32.store(a, p, 0)
            Kernels32.store(b, p, distance)
            Kernels32.store(c, p, 2 &* distance)
            Kernels32.store(d, p, 3 &* distance)
            Kernels32.store(e, p, 4 &* distance)
            Kernels32.store(f, p, 5 &* distance)
            Kernels32.store(g, p, 6 &* distance)
            Kernels32.store(h, p, 7 &* distance)
        }

        /// Lane i of vector j becomes lane j of vector i. Its own inverse.
        @inline(__always) mutating func transpose() {
            fours(&a, &b, &c, &d)
            fours(&e, &f, &g, &h)
            halves(&a, &e)
            halves(&b, &f)
            halves(&c, &g)
            halves(&d, &h)
        }

        /// The transposition of 4 x 4 lanes in either half.
        @inline(__always) func fours(_ a: inout Lanes, _ b: inout Lanes, _ c: inout Lanes, _ d: inout Lanes) {
            let (t0, t1) = (wide(lowerOfBoth(a, b)), wide(upperOfBoth(a, b)))
            let (t2, t3) = (wide(lowerOfBoth(c, d)), wide(upperOfBoth(c, d)))
            a = lanes(Wide(t0[0], t2[0], t0[2], t2[2]))
            b = lanes(Wide(t0[1], t2[1], t0[3], t2[3]))
            c = lanes(Wide(t1[0], t3[0], t1[2], t3[2]))
            d = lanes(Wide(t1[1], t3[1], t1[3], t3[3]))
        }

        @inline(__always) func lowerOfBoth(_ a: Lanes, _ b: Lanes) -> Lanes {
            Lanes(a[0], b[0], a[1], b[1], a[4], b[4], a[5], b[5])
        }
        @inline(__always) func upperOfBoth(_ a: Lanes, _ b: Lanes) -> Lanes {
            Lanes(a[2], b[2], a[3], b[3], a[6], b[6], a[7], b[7])
        }

        /// Afterwards `a` holds the lower halves of both, `b` the upper ones.
        @inline(__always) func halves(_ a: inout Lanes, _ b: inout Lanes) {
            let (v0, v1) = (wide(a), wide(b))
            a = lanes(Wide(v0[0], v0[1], v1[0], v1[1]))
            b = lanes(Wide(v0[2], v0[3], v1[2], v1[3]))
        }
    }

    /// The seven twiddles of three stages that meet in eight vectors: one, two, four.
    protocol TwiddleSource {
        var top: Twiddle { get }
        func middle(_ j: Int) -> Twiddle
        func bottom(_ j: Int) -> Twiddle
    }

    /// Those of block `i` (counted with the stage that it belongs to, as `w` is), read where they are used.
    struct BlockTwiddles: TwiddleSource {
        let w: UnsafePointer<UInt32>
        let ws: UnsafePointer<UInt32>
        let i: Int

        @inline(__always) var top: Twiddle { Twiddle(w[i], ws[i]) }
        @inline(__always) func middle(_ j: Int) -> Twiddle { Twiddle(w[2 &* i &+ j], ws[2 &* i &+ j]) }
        @inline(__always) func bottom(_ j: Int) -> Twiddle { Twiddle(w[4 &* i &+ j], ws[4 &* i &+ j]) }
    }

    /// The same, read once for a loop.
    struct LoopTwiddles: TwiddleSource {
        let top: Twiddle
        let (m0, m1): (Twiddle, Twiddle)
        let (b0, b1, b2, b3): (Twiddle, Twiddle, Twiddle, Twiddle)

        @inline(__always) init(_ s: BlockTwiddles) {
            top = s.top
            (m0, m1) = (s.middle(0), s.middle(1))
            (b0, b1, b2, b3) = (s.bottom(0), s.bottom(1), s.bottom(2), s.bottom(3))
        }
        @inline(__always) func middle(_ j: Int) -> Twiddle { j == 0 ? m0 : m1 }
        @inline(__always) func bottom(_ j: Int) -> Twiddle { j < 2 ? (j == 0 ? b0 : b1) : (j == 2 ? b2 : b3) }
    }

    /// Those of the distances 4, 2 and 1 in 64 transposed residues: seven vectors of twiddles, each with its companions behind.
    struct LaneTwiddles: TwiddleSource {
        let t: UnsafePointer<UInt32>

        @inline(__always) func pair(_ i: Int) -> Twiddle { Twiddle(load(t, 16 &* i), load(t, 16 &* i &+ 8)) }
        @inline(__always) var top: Twiddle { pair(0) }
        @inline(__always) func middle(_ j: Int) -> Twiddle { pair(1 &+ j) }
        @inline(__always) func bottom(_ j: Int) -> Twiddle { pair(3 &+ j) }
    }
}
