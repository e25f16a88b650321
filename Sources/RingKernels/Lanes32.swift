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

    /// A constant for every lane: the factor below q, and its Shoup companion `floor(2^32·w / q)` for even and for odd lanes.
    struct Twiddle {
        let w: Lanes
        let even: Wide
        let odd: Wide

        @inline(__always) init(_ w: UInt32, _ ws: UInt32) {
            self.w = Lanes(repeating: w)
            even = Wide(repeating: UInt64(ws))
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
        let y64 = wide(y)
        let even = (y64 & lowMask) &* t.even
        let odd = (y64 &>> 32) &* t.odd
        let high = lanes((even &>> 32) | (odd & highMask))
        return (y &* t.w) &- (high &* q)
    }

    /// The same for a constant that is used once.
    @inline(__always) static func mulShoup(_ y: Lanes, _ w: Lanes, _ ws: Lanes, _ q: Lanes) -> Lanes {
        product(y, Twiddle(w, ws), q)
    }

    /// Halves of both: afterwards `a` holds the lower halves, `b` the upper ones. Its own inverse.
    @inline(__always) static func exchangeHalves(_ a: inout Lanes, _ b: inout Lanes) {
        let v0 = wide(a)
        let v1 = wide(b)
        a = lanes(Wide(v0[0], v0[1], v1[0], v1[1]))
        b = lanes(Wide(v0[2], v0[3], v1[2], v1[3]))
    }

    /// The same within each half, by pairs of lanes. Its own inverse.
    @inline(__always) static func exchangePairs(_ a: inout Lanes, _ b: inout Lanes) {
        let v0 = wide(a)
        let v1 = wide(b)
        a = lanes(Wide(v0[0], v1[0], v0[2], v1[2]))
        b = lanes(Wide(v0[1], v1[1], v0[3], v1[3]))
    }

    /// The same within each pair of lanes. Its own inverse.
    @inline(__always) static func exchangeNeighbours(_ a: inout Lanes, _ b: inout Lanes) {
        let v0 = wide(a)
        let v1 = wide(b)
        a = lanes((v0 & lowMask) | (v1 &<< 32))
        b = lanes((v0 &>> 32) | (v1 & highMask))
    }

    /// Lanes of `a` and `b` in turn: from even and odd places to sixteen residues in order.
    @inline(__always) static func interleave(_ a: inout Lanes, _ b: inout Lanes) {
        let r0 = Lanes(a[0], b[0], a[1], b[1], a[2], b[2], a[3], b[3])
        let r1 = Lanes(a[4], b[4], a[5], b[5], a[6], b[6], a[7], b[7])
        a = r0
        b = r1
    }

    /// From sixteen residues in order to those in even and those in odd places.
    @inline(__always) static func deinterleave(_ a: inout Lanes, _ b: inout Lanes) {
        let (v0, v1) = (a, b)
        a = Lanes(v0[0], v0[2], v0[4], v0[6], v1[0], v1[2], v1[4], v1[6])
        b = Lanes(v0[1], v0[3], v0[5], v0[7], v1[1], v1[3], v1[5], v1[7])
    }
}
