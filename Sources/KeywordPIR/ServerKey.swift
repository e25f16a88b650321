// An uploaded evaluation key: checked against the published configuration and brought into the form that the expansion reads
// (spec bfv.md 6, 13; keyword-pir.md 13.1).

import BFV
import LookupMessages
import RingMath

/// A client's key, ready for use.
struct ServerKey<Word: ResidueWord>: Sendable {
    /// Galois keys by element, prepared so that sums come out before the automorphism.
    let galois: [Int: PreparedKey<Word>]
    let relinearization: PreparedKey<Word>?
    let byteCount: Int

    /// Throws `FormatError` or `BFVError` for a key that is malformed or lacks something published. Elements that can be but
    /// were not asked for are left out.
    init(
        _ message: SerializedEvaluationKey, _ context: BFVContext<Word>, elements: [Int], needsRelinearization: Bool
    ) throws {
        let sent = message.galoisKey?.keySwitchKeys ?? [:]
        for element in sent.keys where !context.hasValidElement(element) { throw BFVError.badGaloisElement(element) }
        var galois: [Int: PreparedKey<Word>] = [:]
        for element in elements {
            guard let key = sent[UInt64(element)] else { throw BFVError.missingGaloisKey(element) }
            let read = try context.readKeySwitchKey(key.ciphertextBytes())
            galois[element] = PreparedKey(
                read, context, undoing: Ring<Word>.permutation(degree: context.degree, element: element))
        }
        self.galois = galois
        if needsRelinearization {
            guard let key = message.relinKey?.relinKey else { throw BFVError.missingRelinearizationKey }
            relinearization = PreparedKey(try context.readKeySwitchKey(key.ciphertextBytes()), context)
        } else {
            relinearization = nil
        }
        byteCount =
            (galois.count + (relinearization == nil ? 0 : 1)) * context.levels * 2 * context.keyRows
            * Word.rowStride(degree: context.degree) * MemoryLayout<Word>.size
    }
}

extension SerializedKeySwitchKey {
    /// The bytes of its ciphertexts; throws `FormatError.rule` if there is none.
    func ciphertextBytes() throws -> [CiphertextBytes] {
        guard let vector = keySwitchKey else { throw FormatError.rule("key-switching key is empty") }
        return try vector.ciphertexts.map { try $0.bytes() }
    }

    /// The message of a key.
    init(_ ciphertexts: [CiphertextBytes]) {
        self.init()
        keySwitchKey = SerializedCiphertextVec(ciphertexts: ciphertexts.map { SerializedCiphertext($0) })
    }
}

extension SerializedCiphertext {
    /// What the message carries; throws `FormatError.rule` if neither form is set.
    func bytes() throws -> CiphertextBytes {
        switch kind {
        case .seeded(let s): return .seeded(poly0: s.poly0, seed: s.seed)
        case .full(let f): return .full(polys: f.polys, skipLSBs: f.skipLsbs, correctionFactor: f.correctionFactor)
        case nil: throw FormatError.rule("ciphertext has neither form")
        }
    }

    /// The message of a ciphertext.
    init(_ bytes: CiphertextBytes) {
        self.init()
        switch bytes {
        case .seeded(let poly0, let seed): kind = .seeded(SerializedSeededCiphertext(poly0: poly0, seed: seed))
        case .full(let polys, let skips, let factor):
            kind = .full(SerializedFullCiphertext(polys: polys, skipLsbs: skips, correctionFactor: factor))
        }
    }
}
