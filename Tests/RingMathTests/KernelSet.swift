// The kernels of both modules behind one face, so that each can be run on the same rows.

import CProcessor
import RingKernels
import RingKernelsAVX2

@testable import RingMath

/// One build of the row operations for one word width.
struct KernelSet<Word: ResidueWord>: Sendable {
    typealias In = UnsafePointer<Word>
    typealias Out = UnsafeMutablePointer<Word>
    let forward: @Sendable (Out, NTTTable<Word>) -> Void
    let inverse: @Sendable (Out, NTTTable<Word>) -> Void
    /// digits, digit stride, key, key stride, polynomial stride, count, places, outputs, n.
    let keySwitchRow: @Sendable (In, Int, In, Int, Int, Int, UnsafePointer<UInt32>?, Out, Out, Int, Modulus<Word>) -> Void
    /// plaintexts, indices, count, selection, selection count, outputs, n, products per reduction.
    let innerProductRow: @Sendable (In, UnsafePointer<Int32>, Int, In, Int, Out, Out, Int, Modulus<Word>, Int) -> Void
    /// a, b with stride and polynomial stride each, count, outputs, n, pairs per reduction.
    let tensorRow: @Sendable (In, Int, Int, In, Int, Int, Int, Out, Out, Out, Int, Modulus<Word>, Int) -> Void
    /// a, t, monomial and its companion, block, even, odd, n.
    let split: @Sendable (In, In, In, In, Int, Out, Out, Int, Modulus<Word>) -> Void
    let scale: @Sendable (In, Out, Int, Word, Word, Modulus<Word>) -> Void
    let subtractAndScale: @Sendable (In, In, Out, Int, Word, Word, Modulus<Word>) -> Void
    let liftCentered: @Sendable (In, Out, Int, Word, Modulus<Word>) -> Void
    /// rows, stride, count, shifts, fractions, output, n.
    let quotientRow: @Sendable (In, Int, Int, UnsafePointer<Int32>, In, Out, Int) -> Void
    /// rows, stride, count, column, output, n.
    let convertRow: @Sendable (In, Int, Int, In, Out, Int, Modulus<Word>) -> Void
    let addPermuted: @Sendable (In, In, UnsafePointer<UInt32>, Out, Int, Modulus<Word>) -> Void
    let add: @Sendable (In, In, Out, Int, Modulus<Word>) -> Void
    /// What only 32-bit words have as one kernel: source, output.
    var inverseInto: (@Sendable (In, Out, NTTTable<Word>) -> Void)?
    /// Source, output, its modulus.
    var forwardCentered: (@Sendable (In, Out, Word, NTTTable<Word>) -> Void)?
    /// Values, remainder, output, modulus of the remainder, factor and its companion.
    var subtractForwardCentered: (@Sendable (In, In, Out, Word, Word, Word, NTTTable<Word>) -> Void)?
}

/// Widths whose kernels can be named.
protocol KernelWord: ResidueWord {
    static var portable: KernelSet<Self> { get }
    static var avx2: KernelSet<Self> { get }
}

extension KernelWord {
    /// What this processor can run, by name.
    static var builds: [(name: String, kernels: KernelSet<Self>)] {
        cprocessor_has_avx2() == 1 ? [("portable", portable), ("avx2", avx2)] : [("portable", portable)]
    }
}

extension UInt32: KernelWord {
    static var portable: KernelSet<UInt32> {
        KernelSet(
            forward: {
                RingKernels.Kernels32.forward($0, $1.degree, $1.modulus.value, $1.forward, $1.forwardShoup, $1.forwardTail)
            },
            inverse: {
                RingKernels.Kernels32.inverse($0, $1.degree, $1.modulus.value, $1.backward, $1.backwardShoup, $1.backwardTail)
            },
            keySwitchRow: {
                RingKernels.Kernels32.keySwitchRow($0, $1, $2, $3, $4, $5, $6, $7, $8, $9, $10.value, $10.inverse)
            },
            innerProductRow: {
                RingKernels.Kernels32.innerProductRow($0, $1, $2, $3, $4, $5, $6, $7, $8.value, $8.inverse, $8.r, $8.rShoup, $9)
            },
            tensorRow: {
                RingKernels.Kernels32.tensorRow(
                    $0, $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11.value, $11.inverse, $11.r, $11.rShoup, $12)
            },
            split: { RingKernels.Kernels32.split($0, $1, $2, $3, $4, $5, $6, $7, $8.value) },
            scale: { RingKernels.Kernels32.scale($0, $1, $2, $3, $4, $5.value) },
            subtractAndScale: { RingKernels.Kernels32.subtractAndScale($0, $1, $2, $3, $4, $5, $6.value) },
            liftCentered: { RingKernels.Kernels32.liftCentered($0, $1, $2, $3, $4.value, $4.offset(from: $3), $4.one) },
            quotientRow: { RingKernels.Kernels32.quotientRow($0, $1, $2, $3, $4, $5, $6) },
            convertRow: { RingKernels.Kernels32.convertRow($0, $1, $2, $3, $4, $5, $6.value, $6.inverse, $6.one) },
            addPermuted: { RingKernels.Kernels32.addPermuted($0, $1, $2, $3, $4, $5.value) },
            add: { RingKernels.Kernels32.add($0, $1, $2, $3, $4.value) },
            inverseInto: {
                RingKernels.Kernels32.inverse(
                    $0, $1, $2.degree, $2.modulus.value, $2.backward, $2.backwardShoup, $2.backwardTail)
            },
            forwardCentered: {
                RingKernels.Kernels32.forwardCentered(
                    $0, $1, $3.degree, $2, $3.modulus.value, $3.modulus.offset(from: $2), $3.modulus.one, $3.forward,
                    $3.forwardShoup, $3.forwardTail)
            },
            subtractForwardCentered: {
                RingKernels.Kernels32.subtractForwardCentered(
                    $0, $1, $2, $6.degree, $3, $4, $5, $6.modulus.value, $6.modulus.offset(from: $3), $6.modulus.one,
                    $6.forward, $6.forwardShoup, $6.forwardTail)
            })
    }

    static var avx2: KernelSet<UInt32> {
        KernelSet(
            forward: {
                RingKernelsAVX2.Kernels32.forward($0, $1.degree, $1.modulus.value, $1.forward, $1.forwardShoup, $1.forwardTail)
            },
            inverse: {
                RingKernelsAVX2.Kernels32.inverse(
                    $0, $1.degree, $1.modulus.value, $1.backward, $1.backwardShoup, $1.backwardTail)
            },
            keySwitchRow: {
                RingKernelsAVX2.Kernels32.keySwitchRow($0, $1, $2, $3, $4, $5, $6, $7, $8, $9, $10.value, $10.inverse)
            },
            innerProductRow: {
                RingKernelsAVX2.Kernels32.innerProductRow(
                    $0, $1, $2, $3, $4, $5, $6, $7, $8.value, $8.inverse, $8.r, $8.rShoup, $9)
            },
            tensorRow: {
                RingKernelsAVX2.Kernels32.tensorRow(
                    $0, $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11.value, $11.inverse, $11.r, $11.rShoup, $12)
            },
            split: { RingKernelsAVX2.Kernels32.split($0, $1, $2, $3, $4, $5, $6, $7, $8.value) },
            scale: { RingKernelsAVX2.Kernels32.scale($0, $1, $2, $3, $4, $5.value) },
            subtractAndScale: { RingKernelsAVX2.Kernels32.subtractAndScale($0, $1, $2, $3, $4, $5, $6.value) },
            liftCentered: { RingKernelsAVX2.Kernels32.liftCentered($0, $1, $2, $3, $4.value, $4.offset(from: $3), $4.one) },
            quotientRow: { RingKernelsAVX2.Kernels32.quotientRow($0, $1, $2, $3, $4, $5, $6) },
            convertRow: { RingKernelsAVX2.Kernels32.convertRow($0, $1, $2, $3, $4, $5, $6.value, $6.inverse, $6.one) },
            addPermuted: { RingKernelsAVX2.Kernels32.addPermuted($0, $1, $2, $3, $4, $5.value) },
            add: { RingKernelsAVX2.Kernels32.add($0, $1, $2, $3, $4.value) },
            inverseInto: {
                RingKernelsAVX2.Kernels32.inverse(
                    $0, $1, $2.degree, $2.modulus.value, $2.backward, $2.backwardShoup, $2.backwardTail)
            },
            forwardCentered: {
                RingKernelsAVX2.Kernels32.forwardCentered(
                    $0, $1, $3.degree, $2, $3.modulus.value, $3.modulus.offset(from: $2), $3.modulus.one, $3.forward,
                    $3.forwardShoup, $3.forwardTail)
            },
            subtractForwardCentered: {
                RingKernelsAVX2.Kernels32.subtractForwardCentered(
                    $0, $1, $2, $6.degree, $3, $4, $5, $6.modulus.value, $6.modulus.offset(from: $3), $6.modulus.one,
                    $6.forward, $6.forwardShoup, $6.forwardTail)
            })
    }
}

extension UInt64: KernelWord {
    static var portable: KernelSet<UInt64> {
        KernelSet(
            forward: {
                RingKernels.Kernels64.forward(
                    $0, $1.degree, $1.modulus.value, $1.forward, $1.forwardShoup, $1.forwardPacked, $1.forwardTail)
            },
            inverse: {
                RingKernels.Kernels64.inverse(
                    $0, $1.degree, $1.modulus.value, $1.backward, $1.backwardShoup, $1.backwardPacked, $1.backwardTail)
            },
            keySwitchRow: {
                RingKernels.Kernels64.keySwitchRow(
                    $0, $1, $2, $3, $4, $5, $6, $7, $8, $9, $10.value, $10.inverse, $10.r, $10.rShoup)
            },
            innerProductRow: {
                RingKernels.Kernels64.innerProductRow($0, $1, $2, $3, $4, $5, $6, $7, $8.value, $8.inverse, $8.r, $8.rShoup, $9)
            },
            tensorRow: {
                RingKernels.Kernels64.tensorRow(
                    $0, $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11.value, $11.inverse, $11.r, $11.rShoup, $12)
            },
            split: { RingKernels.Kernels64.split($0, $1, $2, $3, $4, $5, $6, $7, $8.value) },
            scale: { RingKernels.Kernels64.scale($0, $1, $2, $3, $4, $5.value) },
            subtractAndScale: { RingKernels.Kernels64.subtractAndScale($0, $1, $2, $3, $4, $5, $6.value) },
            liftCentered: { RingKernels.Kernels64.liftCentered($0, $1, $2, $3, $4.value, $4.offset(from: $3), $4.one) },
            quotientRow: { RingKernels.Kernels64.quotientRow($0, $1, $2, $3, $4, $5, $6) },
            convertRow: {
                RingKernels.Kernels64.convertRow($0, $1, $2, $3, $4, $5, $6.value, $6.inverse, $6.r, $6.rShoup, $6.one)
            },
            addPermuted: { RingKernels.Kernels64.addPermuted($0, $1, $2, $3, $4, $5.value) },
            add: { RingKernels.Kernels64.add($0, $1, $2, $3, $4.value) })
    }

    static var avx2: KernelSet<UInt64> {
        KernelSet(
            forward: {
                RingKernelsAVX2.Kernels64.forward(
                    $0, $1.degree, $1.modulus.value, $1.forward, $1.forwardShoup, $1.forwardPacked, $1.forwardTail)
            },
            inverse: {
                RingKernelsAVX2.Kernels64.inverse(
                    $0, $1.degree, $1.modulus.value, $1.backward, $1.backwardShoup, $1.backwardPacked, $1.backwardTail)
            },
            keySwitchRow: {
                RingKernelsAVX2.Kernels64.keySwitchRow(
                    $0, $1, $2, $3, $4, $5, $6, $7, $8, $9, $10.value, $10.inverse, $10.r, $10.rShoup)
            },
            innerProductRow: {
                RingKernelsAVX2.Kernels64.innerProductRow(
                    $0, $1, $2, $3, $4, $5, $6, $7, $8.value, $8.inverse, $8.r, $8.rShoup, $9)
            },
            tensorRow: {
                RingKernelsAVX2.Kernels64.tensorRow(
                    $0, $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11.value, $11.inverse, $11.r, $11.rShoup, $12)
            },
            split: { RingKernelsAVX2.Kernels64.split($0, $1, $2, $3, $4, $5, $6, $7, $8.value) },
            scale: { RingKernelsAVX2.Kernels64.scale($0, $1, $2, $3, $4, $5.value) },
            subtractAndScale: { RingKernelsAVX2.Kernels64.subtractAndScale($0, $1, $2, $3, $4, $5, $6.value) },
            liftCentered: { RingKernelsAVX2.Kernels64.liftCentered($0, $1, $2, $3, $4.value, $4.offset(from: $3), $4.one) },
            quotientRow: { RingKernelsAVX2.Kernels64.quotientRow($0, $1, $2, $3, $4, $5, $6) },
            convertRow: {
                RingKernelsAVX2.Kernels64.convertRow($0, $1, $2, $3, $4, $5, $6.value, $6.inverse, $6.r, $6.rShoup, $6.one)
            },
            addPermuted: { RingKernelsAVX2.Kernels64.addPermuted($0, $1, $2, $3, $4, $5.value) },
            add: { RingKernelsAVX2.Kernels64.add($0, $1, $2, $3, $4.value) })
    }
}
