// Payload bytes straight to an evaluation-form plaintext, without intermediate objects (spec bfv.md 3.3, 3.4).

import RingMath

extension BFVContext {
    /// Appends the L rows of the plaintext that carries `bytes`, at most `bytesPerPlaintext` of them.
    public func appendEvaluation(ofPayload bytes: [UInt8], to out: inout [Word]) {
        let start = out.count
        out.append(contentsOf: repeatElement(0, count: levels * degree))
        let bits = parameters.bitsPerCoefficient
        let t = Word(truncatingIfNeeded: parameters.plaintextModulus)
        let threshold = (t + 1) / 2
        let values: [Word] = coefficients(of: bytes, bits: bits)
        out.withUnsafeMutableBufferPointer { buffer in
            guard let base = buffer.baseAddress else { return }
            for row in 0..<levels {
                let place = base + start + row * degree
                let lift = ring.moduli[row].value - t
                for (j, m) in values.prefix(degree).enumerated() { place[j] = m < threshold ? m : m + lift }
                Word.forward(place, ring.tables[row])
            }
        }
    }
}
