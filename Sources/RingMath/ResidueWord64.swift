// Row operations of 64-bit words: which build of the kernels answers.

import RingKernels
import RingKernelsAVX2

extension UInt64: ResidueWord {
    /// Eight 64-bit residues.
    public static var tile: Int { 8 }

    /// See `ResidueWord`.
    public static func forward(_ row: UnsafeMutablePointer<UInt64>, _ t: NTTTable<UInt64>) {
        let call = useAVX2 ? RingKernelsAVX2.Kernels64.forward : RingKernels.Kernels64.forward
        call(row, t.degree, t.modulus.value, t.forward, t.forwardShoup, t.forwardPacked, t.forwardTail)
    }

    /// See `ResidueWord`.
    public static func forwardCentered(
        _ x: UnsafePointer<UInt64>, _ out: UnsafeMutablePointer<UInt64>, from: UInt64, _ t: NTTTable<UInt64>
    ) {
        liftCentered(x, out, n: t.degree, from: from, t.modulus)
        forward(out, t)
    }

    /// See `ResidueWord`.
    public static func inverse(_ row: UnsafeMutablePointer<UInt64>, _ t: NTTTable<UInt64>) {
        let call = useAVX2 ? RingKernelsAVX2.Kernels64.inverse : RingKernels.Kernels64.inverse
        call(row, t.degree, t.modulus.value, t.backward, t.backwardShoup, t.backwardPacked, t.backwardTail)
    }

    /// See `ResidueWord`.
    public static func inverse(_ x: UnsafePointer<UInt64>, _ out: UnsafeMutablePointer<UInt64>, _ t: NTTTable<UInt64>) {
        if x != UnsafePointer(out) { out.update(from: x, count: t.degree) }
        inverse(out, t)
    }

    /// See `ResidueWord`.
    public static func subtractForwardCentered(
        _ values: UnsafePointer<UInt64>, _ remainder: UnsafePointer<UInt64>, _ out: UnsafeMutablePointer<UInt64>,
        from: UInt64, by w: UInt64, _ ws: UInt64, _ t: NTTTable<UInt64>
    ) {
        forwardCentered(remainder, out, from: from, t)
        subtractAndScale(values, out, out, n: t.degree, by: w, ws, t.modulus)
    }

    /// See `ResidueWord`.
    public static func keySwitchRow(
        digits: UnsafePointer<UInt64>, digitStride: Int, key: UnsafePointer<UInt64>, keyStride: Int, polyStride: Int,
        count: Int, places: UnsafePointer<UInt32>?, out0: UnsafeMutablePointer<UInt64>, out1: UnsafeMutablePointer<UInt64>,
        n: Int, _ q: Modulus<UInt64>
    ) {
        let call = useAVX2 ? RingKernelsAVX2.Kernels64.keySwitchRow : RingKernels.Kernels64.keySwitchRow
        call(
            digits, digitStride, key, keyStride, polyStride, count, places, out0, out1, n, q.value, q.inverse, q.r,
            q.rShoup)
    }

    /// See `ResidueWord`.
    public static func innerProductRow(
        plaintexts: UnsafePointer<UInt64>, indices: UnsafePointer<Int32>, count: Int, selection: UnsafePointer<UInt64>,
        selectionStride: Int, out0: UnsafeMutablePointer<UInt64>, out1: UnsafeMutablePointer<UInt64>, n: Int,
        _ q: Modulus<UInt64>
    ) {
        let call = useAVX2 ? RingKernelsAVX2.Kernels64.innerProductRow : RingKernels.Kernels64.innerProductRow
        call(
            plaintexts, indices, count, selection, selectionStride, out0, out1, n, q.value, q.inverse, q.r, q.rShoup,
            q.productsPerSum)
    }

    /// See `ResidueWord`.
    public static func tensorRow(
        a: UnsafePointer<UInt64>, aStride: Int, aPoly: Int, b: UnsafePointer<UInt64>, bStride: Int, bPoly: Int, count: Int,
        out: (UnsafeMutablePointer<UInt64>, UnsafeMutablePointer<UInt64>, UnsafeMutablePointer<UInt64>), n: Int,
        _ q: Modulus<UInt64>
    ) {
        let call = useAVX2 ? RingKernelsAVX2.Kernels64.tensorRow : RingKernels.Kernels64.tensorRow
        call(
            a, aStride, aPoly, b, bStride, bPoly, count, out.0, out.1, out.2, n, q.value, q.inverse, q.r, q.rShoup,
            Swift.max(q.productsPerSum / 2, 1))
    }

    /// See `ResidueWord`.
    public static func split(
        _ a: UnsafePointer<UInt64>, _ t: UnsafePointer<UInt64>, monomial: UnsafePointer<UInt64>,
        monomialShoup: UnsafePointer<UInt64>, block: Int, even: UnsafeMutablePointer<UInt64>, odd: UnsafeMutablePointer<UInt64>,
        n: Int,
        _ q: Modulus<UInt64>
    ) {
        let call = useAVX2 ? RingKernelsAVX2.Kernels64.split : RingKernels.Kernels64.split
        call(a, t, monomial, monomialShoup, block, even, odd, n, q.value)
    }

    /// See `ResidueWord`.
    public static func scale(
        _ x: UnsafePointer<UInt64>, _ out: UnsafeMutablePointer<UInt64>, n: Int, by w: UInt64, _ ws: UInt64,
        _ q: Modulus<UInt64>
    ) {
        let call = useAVX2 ? RingKernelsAVX2.Kernels64.scale : RingKernels.Kernels64.scale
        call(x, out, n, w, ws, q.value)
    }

    /// See `ResidueWord`.
    public static func subtractAndScale(
        _ x: UnsafePointer<UInt64>, _ y: UnsafePointer<UInt64>, _ out: UnsafeMutablePointer<UInt64>, n: Int, by w: UInt64,
        _ ws: UInt64, _ q: Modulus<UInt64>
    ) {
        let call = useAVX2 ? RingKernelsAVX2.Kernels64.subtractAndScale : RingKernels.Kernels64.subtractAndScale
        call(x, y, out, n, w, ws, q.value)
    }

    /// See `ResidueWord`.
    public static func liftCentered(
        _ x: UnsafePointer<UInt64>, _ out: UnsafeMutablePointer<UInt64>, n: Int, from: UInt64, _ q: Modulus<UInt64>
    ) {
        let call = useAVX2 ? RingKernelsAVX2.Kernels64.liftCentered : RingKernels.Kernels64.liftCentered
        call(x, out, n, from, q.value, q.offset(from: from), q.one)
    }

    /// See `ResidueWord`.
    public static func quotientRow(
        _ z: UnsafePointer<UInt64>, stride: Int, count: Int, _ shifts: [Int32], _ fraction: [UInt64],
        _ out: UnsafeMutablePointer<UInt64>, n: Int
    ) {
        let call = useAVX2 ? RingKernelsAVX2.Kernels64.quotientRow : RingKernels.Kernels64.quotientRow
        shifts.withUnsafeBufferPointer { s in
            fraction.withUnsafeBufferPointer { f in
                guard let s = s.baseAddress, let f = f.baseAddress else { return }
                call(z, stride, count, s, f, out, n)
            }
        }
    }

    /// See `ResidueWord`.
    public static func convertRow(
        _ z: UnsafePointer<UInt64>, stride: Int, count: Int, _ column: UnsafePointer<UInt64>,
        _ out: UnsafeMutablePointer<UInt64>, n: Int, _ q: Modulus<UInt64>
    ) {
        let call = useAVX2 ? RingKernelsAVX2.Kernels64.convertRow : RingKernels.Kernels64.convertRow
        call(z, stride, count, column, out, n, q.value, q.inverse, q.r, q.rShoup, q.one)
    }

    /// See `ResidueWord`.
    public static func addPermuted(
        _ a: UnsafePointer<UInt64>, _ sum: UnsafePointer<UInt64>, places: UnsafePointer<UInt32>,
        _ out: UnsafeMutablePointer<UInt64>, n: Int, _ q: Modulus<UInt64>
    ) {
        let call = useAVX2 ? RingKernelsAVX2.Kernels64.addPermuted : RingKernels.Kernels64.addPermuted
        call(a, sum, places, out, n, q.value)
    }

    /// See `ResidueWord`.
    public static func add(
        _ x: UnsafePointer<UInt64>, _ y: UnsafePointer<UInt64>, _ out: UnsafeMutablePointer<UInt64>, n: Int,
        _ q: Modulus<UInt64>
    ) {
        let call = useAVX2 ? RingKernelsAVX2.Kernels64.add : RingKernels.Kernels64.add
        call(x, y, out, n, q.value)
    }
}
