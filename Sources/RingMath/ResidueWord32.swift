// Row operations of 32-bit words: which build of the kernels answers.

import RingKernels
import RingKernelsAVX2

extension UInt32: ResidueWord {
    /// Sixteen 32-bit residues.
    public static var tile: Int { 16 }

    /// See `ResidueWord`.
    public static func forward(_ row: UnsafeMutablePointer<UInt32>, _ t: NTTTable<UInt32>) {
        if useAVX2 {
            RingKernelsAVX2.Kernels32.forward(row, t.degree, t.modulus.value, t.forward, t.forwardShoup, t.forwardTail)
        } else {
            RingKernels.Kernels32.forward(row, t.degree, t.modulus.value, t.forward, t.forwardShoup, t.forwardTail)
        }
    }

    /// See `ResidueWord`.
    public static func forwardCentered(
        _ x: UnsafePointer<UInt32>, _ out: UnsafeMutablePointer<UInt32>, from: UInt32, _ t: NTTTable<UInt32>
    ) {
        let call = useAVX2 ? RingKernelsAVX2.Kernels32.forwardCentered : RingKernels.Kernels32.forwardCentered
        let q = t.modulus
        call(x, out, t.degree, from, q.value, q.offset(from: from), q.one, t.forward, t.forwardShoup, t.forwardTail)
    }

    /// See `ResidueWord`.
    public static func subtractForwardCentered(
        _ values: UnsafePointer<UInt32>, _ remainder: UnsafePointer<UInt32>, _ out: UnsafeMutablePointer<UInt32>,
        from: UInt32, by w: UInt32, _ ws: UInt32, _ t: NTTTable<UInt32>
    ) {
        let call =
            useAVX2 ? RingKernelsAVX2.Kernels32.subtractForwardCentered : RingKernels.Kernels32.subtractForwardCentered
        let q = t.modulus
        call(
            values, remainder, out, t.degree, from, w, ws, q.value, q.offset(from: from), q.one, t.forward, t.forwardShoup,
            t.forwardTail)
    }

    /// See `ResidueWord`.
    public static func inverse(_ x: UnsafePointer<UInt32>, _ out: UnsafeMutablePointer<UInt32>, _ t: NTTTable<UInt32>) {
        if useAVX2 {
            RingKernelsAVX2.Kernels32.inverse(
                x, out, t.degree, t.modulus.value, t.backward, t.backwardShoup, t.backwardTail)
        } else {
            RingKernels.Kernels32.inverse(x, out, t.degree, t.modulus.value, t.backward, t.backwardShoup, t.backwardTail)
        }
    }

    /// See `ResidueWord`.
    public static func keySwitchRow(
        digits: UnsafePointer<UInt32>, digitStride: Int, key: UnsafePointer<UInt32>, keyStride: Int, polyStride: Int,
        count: Int, places: UnsafePointer<UInt32>?, out0: UnsafeMutablePointer<UInt32>, out1: UnsafeMutablePointer<UInt32>,
        n: Int, _ q: Modulus<UInt32>
    ) {
        let call = useAVX2 ? RingKernelsAVX2.Kernels32.keySwitchRow : RingKernels.Kernels32.keySwitchRow
        call(digits, digitStride, key, keyStride, polyStride, count, places, out0, out1, n, q.value, q.inverse)
    }

    /// See `ResidueWord`.
    public static func innerProductRow(
        plaintexts: UnsafePointer<UInt32>, indices: UnsafePointer<Int32>, count: Int, selection: UnsafePointer<UInt32>,
        selectionStride: Int, out0: UnsafeMutablePointer<UInt32>, out1: UnsafeMutablePointer<UInt32>, n: Int,
        _ q: Modulus<UInt32>
    ) {
        let call = useAVX2 ? RingKernelsAVX2.Kernels32.innerProductRow : RingKernels.Kernels32.innerProductRow
        call(
            plaintexts, indices, count, selection, selectionStride, out0, out1, n, q.value, q.inverse, q.r, q.rShoup,
            q.productsPerSum)
    }

    /// See `ResidueWord`.
    public static func tensorRow(
        a: UnsafePointer<UInt32>, aStride: Int, aPoly: Int, b: UnsafePointer<UInt32>, bStride: Int, bPoly: Int, count: Int,
        out: (UnsafeMutablePointer<UInt32>, UnsafeMutablePointer<UInt32>, UnsafeMutablePointer<UInt32>), n: Int,
        _ q: Modulus<UInt32>
    ) {
        let call = useAVX2 ? RingKernelsAVX2.Kernels32.tensorRow : RingKernels.Kernels32.tensorRow
        call(
            a, aStride, aPoly, b, bStride, bPoly, count, out.0, out.1, out.2, n, q.value, q.inverse, q.r, q.rShoup,
            Swift.max(q.productsPerSum / 2, 1))
    }

    /// See `ResidueWord`.
    public static func split(
        _ a: UnsafePointer<UInt32>, _ t: UnsafePointer<UInt32>, monomial: UnsafePointer<UInt32>,
        monomialShoup: UnsafePointer<UInt32>, block: Int, even: UnsafeMutablePointer<UInt32>, odd: UnsafeMutablePointer<UInt32>,
        n: Int,
        _ q: Modulus<UInt32>
    ) {
        let call = useAVX2 ? RingKernelsAVX2.Kernels32.split : RingKernels.Kernels32.split
        call(a, t, monomial, monomialShoup, block, even, odd, n, q.value)
    }

    /// See `ResidueWord`.
    public static func scale(
        _ x: UnsafePointer<UInt32>, _ out: UnsafeMutablePointer<UInt32>, n: Int, by w: UInt32, _ ws: UInt32,
        _ q: Modulus<UInt32>
    ) {
        let call = useAVX2 ? RingKernelsAVX2.Kernels32.scale : RingKernels.Kernels32.scale
        call(x, out, n, w, ws, q.value)
    }

    /// See `ResidueWord`.
    public static func subtractAndScale(
        _ x: UnsafePointer<UInt32>, _ y: UnsafePointer<UInt32>, _ out: UnsafeMutablePointer<UInt32>, n: Int, by w: UInt32,
        _ ws: UInt32, _ q: Modulus<UInt32>
    ) {
        let call = useAVX2 ? RingKernelsAVX2.Kernels32.subtractAndScale : RingKernels.Kernels32.subtractAndScale
        call(x, y, out, n, w, ws, q.value)
    }

    /// See `ResidueWord`.
    public static func liftCentered(
        _ x: UnsafePointer<UInt32>, _ out: UnsafeMutablePointer<UInt32>, n: Int, from: UInt32, _ q: Modulus<UInt32>
    ) {
        let call = useAVX2 ? RingKernelsAVX2.Kernels32.liftCentered : RingKernels.Kernels32.liftCentered
        call(x, out, n, from, q.value, q.offset(from: from), q.one)
    }

    /// See `ResidueWord`.
    public static func quotientRow(
        _ z: UnsafePointer<UInt32>, stride: Int, count: Int, _ shifts: [Int32], _ fraction: [UInt32],
        _ out: UnsafeMutablePointer<UInt32>, n: Int
    ) {
        let call = useAVX2 ? RingKernelsAVX2.Kernels32.quotientRow : RingKernels.Kernels32.quotientRow
        shifts.withUnsafeBufferPointer { s in
            fraction.withUnsafeBufferPointer { f in
                guard let s = s.baseAddress, let f = f.baseAddress else { return }
                call(z, stride, count, s, f, out, n)
            }
        }
    }

    /// See `ResidueWord`.
    public static func convertRow(
        _ z: UnsafePointer<UInt32>, stride: Int, count: Int, _ column: UnsafePointer<UInt32>,
        _ out: UnsafeMutablePointer<UInt32>, n: Int, _ q: Modulus<UInt32>
    ) {
        let call = useAVX2 ? RingKernelsAVX2.Kernels32.convertRow : RingKernels.Kernels32.convertRow
        call(z, stride, count, column, out, n, q.value, q.inverse, q.one)
    }

    /// See `ResidueWord`.
    public static func addPermuted(
        _ a: UnsafePointer<UInt32>, _ sum: UnsafePointer<UInt32>, places: UnsafePointer<UInt32>,
        _ out: UnsafeMutablePointer<UInt32>, n: Int, _ q: Modulus<UInt32>
    ) {
        let call = useAVX2 ? RingKernelsAVX2.Kernels32.addPermuted : RingKernels.Kernels32.addPermuted
        call(a, sum, places, out, n, q.value)
    }

    /// See `ResidueWord`.
    public static func add(
        _ x: UnsafePointer<UInt32>, _ y: UnsafePointer<UInt32>, _ out: UnsafeMutablePointer<UInt32>, n: Int,
        _ q: Modulus<UInt32>
    ) {
        let call = useAVX2 ? RingKernelsAVX2.Kernels32.add : RingKernels.Kernels32.add
        call(x, y, out, n, q.value)
    }
}
