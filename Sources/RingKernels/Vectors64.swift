// Arithmetic on four 64-bit residues at a time, for processors with 256-bit integer units; moduli below 2^60. There is no
// vector multiply of 64 x 64 bits: products are put together from 32 x 32 bits, and the high half of Shoup's quotient leaves
// out what its lower parts carry, which costs one more 2q of laziness (bfv.md 14.5). Compiled in the AVX2 build only: without
// such vectors the scalar loops beside them are faster.

#if RING_KERNELS_AVX2
    extension Kernels64 {
        typealias Quad = SIMD4<UInt64>
        typealias Halves = SIMD8<UInt32>

        @inline(__always) static func halves(_ x: Quad) -> Halves { unsafeBitCast(x, to: Halves.self) }
        @inline(__always) static func quad(_ x: Halves) -> Quad { unsafeBitCast(x, to: Quad.self) }
        @inline(__always) static var low32: Quad { Quad(repeating: 0xffff_ffff) }
        @inline(__always) static var high32: Quad { Quad(repeating: 0xffff_ffff_0000_0000) }

        @inline(__always) static func swapped(_ x: Quad) -> Halves {
            let h = halves(x)
            return Halves(h[1], h[0], h[3], h[2], h[5], h[4], h[7], h[6])
        }

        @inline(__always) static func load(_ p: UnsafePointer<UInt64>, _ i: Int) -> Quad {
            UnsafeRawPointer(p + i).loadUnaligned(as: Quad.self)
        }
        @inline(__always) static func load(_ p: UnsafeMutablePointer<UInt64>, _ i: Int) -> Quad {
            UnsafeRawPointer(p + i).loadUnaligned(as: Quad.self)
        }
        @inline(__always) static func store(_ v: Quad, _ p: UnsafeMutablePointer<UInt64>, _ i: Int) {
            UnsafeMutableRawPointer(p + i).storeBytes(of: v, as: Quad.self)
        }

        /// Product of the low halves of each lane.
        @inline(__always) static func mul32(_ x: Quad, _ y: Quad) -> Quad { (x & low32) &* (y & low32) }

        /// A constant to multiply with, in the forms that `product` reads.
        struct Factor {
            let w: Quad
            let crossed: Halves
            let s: Quad
            let sHigh: Quad
            @inline(__always) init(_ w: Quad, _ ws: Quad) {
                self.w = w
                crossed = swapped(w)
                s = ws
                sHigh = ws &>> 32
            }
            /// From four words: w, w with its halves exchanged, its Shoup companion, the high half of that.
            @inline(__always) init(_ p: UnsafePointer<UInt64>) {
                w = Quad(repeating: p[0])
                crossed = halves(Quad(repeating: p[1]))
                s = Quad(repeating: p[2])
                sHigh = Quad(repeating: p[3])
            }
        }

        struct Prime {
            let q: Quad
            let crossed: Halves
            let q4: Quad
            @inline(__always) init(_ q: UInt64) {
                self.q = Quad(repeating: q)
                crossed = swapped(self.q)
                q4 = Quad(repeating: 4 &* q)
            }
        }

        /// `w·y` modulo q in [0, 4q) for any 64-bit `y`.
        @inline(__always) static func product(_ y: Quad, _ f: Factor, _ m: Prime) -> Quad {
            let y1 = y &>> 32
            let h = mul32(y1, f.sHigh) &+ (mul32(y1, f.s) &>> 32) &+ (mul32(y, f.sHigh) &>> 32)
            let cross = quad((halves(y) &* f.crossed) &- (halves(h) &* m.crossed))
            return (mul32(y, f.w) &- mul32(h, m.q)) &+ ((cross &<< 32) &+ (cross & high32))
        }

        /// `x − m` where that is not negative, else x; x below `m + 2^63`.
        @inline(__always) static func reduceOnce(_ x: Quad, _ m: Quad) -> Quad {
            let d = x &- m
            return d.replacing(with: x, where: unsafeBitCast(d, to: SIMD4<Int64>.self) .< SIMD4<Int64>())
        }
    }
#endif
