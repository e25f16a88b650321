// One folder of `bfv/` of the reference's vectors, read into the engine's types of a given word width.

import LookupMessages
import Protobuf
import RingMath
import TestVectors
import Testing

@testable import BFV

/// `index.json` of such a folder.
struct BFVIndex: Decodable {
    /// Coefficients, or the name of a file with packed ones.
    enum Plaintext: Decodable {
        case listed([UInt64])
        case file(String)

        init(from decoder: any Decoder) throws {
            let value = try decoder.singleValueContainer()
            if let name = try? value.decode(String.self) {
                self = .file(name)
            } else {
                self = .listed(try value.decode([UInt64].self))
            }
        }
    }
    struct Item: Decodable {
        let name: String
        let file: String?
        let polyCount: Int
        let moduliCount: Int
        let noiseBudgetBits: Double
        let skipLSBs: [UInt32]?
        let seed: String?
        let polys: [[[UInt64]]]?
        let plaintext: String
    }
    struct KeyConfiguration: Decodable {
        let galoisElements: [Int]
        let hasRelinearizationKey: Bool
    }
    let evaluationKeyConfig: KeyConfiguration?
    let plaintexts: [String: Plaintext]
    let items: [Item]
}

private struct SecretText: Decodable { let secretCoefficients: [Int] }

/// The bytes of a message as the engine takes them.
func ciphertextBytes(_ message: SerializedCiphertext) throws -> CiphertextBytes {
    switch try #require(message.kind) {
    case .seeded(let s): .seeded(poly0: s.poly0, seed: s.seed)
    case .full(let f): .full(polys: f.polys, skipLSBs: f.skipLsbs, correctionFactor: f.correctionFactor)
    }
}

/// The message of a ciphertext's bytes.
func message(_ bytes: CiphertextBytes) -> SerializedCiphertext {
    switch bytes {
    case .seeded(let poly0, let seed):
        SerializedCiphertext(kind: .seeded(SerializedSeededCiphertext(poly0: poly0, seed: seed)))
    case .full(let polys, let skips, let factor):
        SerializedCiphertext(
            kind: .full(SerializedFullCiphertext(polys: polys, skipLsbs: skips, correctionFactor: factor)))
    }
}

struct BFVFolder<Word: ResidueWord> {
    let name: String
    let set: ParameterSet
    let context: BFVContext<Word>
    let index: BFVIndex
    /// −1, 0, 1.
    let secretCoefficients: [Int]
    let key: SecretKey<Word>

    init(_ name: String) throws {
        self.name = name
        set = try ParameterSet.named(name, allowInsecure: true)
        context = try BFVContext(set)
        index = try VectorFiles.json("bfv/\(name)/index.json")
        secretCoefficients = try VectorFiles.json("bfv/\(name)/secret-key.json", as: SecretText.self).secretCoefficients
        let message = try SerializedSecretKey(decoding: VectorFiles.bytes("bfv/\(name)/secret-key.binpb"))
        key = try context.readSecretKey(message.polys)
    }

    func bytes(_ file: String) throws -> [UInt8] { try VectorFiles.bytes("bfv/\(name)/\(file)") }

    func item(_ name: String) -> BFVIndex.Item? { index.items.first { $0.name == name } }

    func plaintext(_ name: String) throws -> [Word] {
        switch try #require(index.plaintexts[name], "\(name)") {
        case .listed(let values): return values.map { Word($0) }
        case .file(let file):
            return try unpack(
                try bytes(file)[...], count: set.degree, bits: ceilLog2(Int(set.plaintextModulus)), skip: 0)
        }
    }

    /// The ciphertext of a file, or nil where the vectors leave it out.
    func ciphertext(_ name: String) throws -> Ciphertext<Word>? {
        guard let item = item(name), let file = item.file else { return nil }
        let read = try ciphertextBytes(SerializedCiphertext(decoding: bytes(file)))
        if name.hasSuffix("-reply") { return try context.readReplyCiphertext(read) }
        if item.polyCount == 2, item.moduliCount == context.levels { return try context.readQueryCiphertext(read) }
        if item.polyCount == 2, item.moduliCount == 1 { return try context.readReplyCiphertext(read) }
        // Three polynomials: the engine never reads such a message, so the test does.
        guard case .full(let polys, _, _) = read else { return nil }
        let size = context.ring.packedBytes(rows: item.moduliCount)
        return Ciphertext(
            try (0..<item.polyCount).map { p in
                let start = polys.startIndex + 2 + p * size
                return try context.ring.unpack(polys[start..<(start + size)], rows: item.moduliCount)
            })
    }

    /// The reference's evaluation key, where it is stored.
    func evaluationKey() throws -> EvaluationKeySet<Word>? {
        guard VectorFiles.find("bfv/\(name)/evaluation-key.binpb") != nil else { return nil }
        let message = try SerializedEvaluationKey(decoding: bytes("evaluation-key.binpb"))
        func read(_ key: SerializedKeySwitchKey?) throws -> KeySwitchKey<Word> {
            try context.readKeySwitchKey(#require(key?.keySwitchKey).ciphertexts.map { try ciphertextBytes($0) })
        }
        var galois: [Int: KeySwitchKey<Word>] = [:]
        for (element, key) in message.galoisKey?.keySwitchKeys ?? [:] { galois[Int(element)] = try read(key) }
        return EvaluationKeySet(galois: galois, relinearization: try read(message.relinKey?.relinKey))
    }
}

/// Which folder in which word width.
struct FolderCase: Sendable, CustomTestStringConvertible {
    let name: String
    let narrow: Bool
    var testDescription: String { "\(name), \(narrow ? 32 : 64)-bit words" }

    /// Those whose files are here.
    static let all: [FolderCase] =
        ParameterSet.secure.map(\.name).filter { has($0) }.flatMap { name in
            let fits = (try? ParameterSet.named(name).fits32Bits) ?? false
            return fits
                ? [FolderCase(name: name, narrow: true), FolderCase(name: name, narrow: false)]
                : [FolderCase(name: name, narrow: false)]
        } + ParameterSet.insecure.map(\.name).filter { has($0) }.map { FolderCase(name: $0, narrow: false) }

    private static func has(_ name: String) -> Bool { VectorFiles.find("bfv/\(name)/index.json") != nil }
}
