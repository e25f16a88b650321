// The manifest of a version: what each use case is, and what each of its shard files must be (issue 2, item 5). JSON, so that
// an operator can read it; its hash is part of the version's name.

import BFV
import Cryptography
import FoundationEssentials
import KeywordPIR

/// One version of a directory.
struct BuildManifest: Codable, Sendable, Equatable {
    static let currentFormat = 1
    static let fileName = "manifest.json"
    /// Longest manifest: 2^20 shards in one use case take about 250 MB.
    static let bytesAtMost = 1 << 29

    var format = BuildManifest.currentFormat
    /// Counts the versions of a data folder, from 1.
    var number: Int
    /// Seconds since 1970.
    var created: Int64
    /// What built it.
    var tool: String
    var useCases: [UseCaseRecord]

    /// Parameters of the lattice scheme.
    struct SetRecord: Codable, Sendable, Equatable {
        var degree: Int
        var plaintextModulus: UInt64
        var coefficientModuli: [UInt64]
        var isSecure: Bool

        init(_ set: ParameterSet) {
            degree = set.degree
            plaintextModulus = set.plaintextModulus
            coefficientModuli = set.coefficientModuli
            isSecure = set.level == .quantum128
        }

        func parameterSet() throws -> ParameterSet {
            try ParameterSet(
                degree: degree, plaintextModulus: plaintextModulus, coefficientModuli: coefficientModuli,
                level: isSecure ? .quantum128 : .unchecked)
        }
    }

    /// A shape that some shards have.
    struct ShapeRecord: Codable, Sendable, Hashable {
        var entryCount: Int
        var entrySize: Int
        var dimensions: [Int]

        init(_ parameters: ShardParameters) {
            entryCount = parameters.entryCount
            entrySize = parameters.entrySize
            dimensions = parameters.dimensions
        }
    }

    /// One shard file, `<use case>/<index>.shard`.
    struct ShardRecord: Codable, Sendable, Equatable {
        /// Index in `shapes`.
        var shape: Int
        var rows: Int
        var bytes: Int
        /// SHA-256 of header and index, in hex.
        var digest: String
        /// Hash of its rows and of everything else that its bytes follow from, in hex.
        var content: String
    }

    /// Sizes that we chose, kept for the next build so that it publishes the same configuration.
    struct SizingRecord: Codable, Sendable, Equatable {
        var shardCount: Int?
        /// Buckets of all tables of a shard together.
        var buckets: Int?
        var bucketSize: Int?
        var parameterSet: String?
    }

    /// One use case.
    struct UseCaseRecord: Codable, Sendable, Equatable {
        var name: String
        var kind: String
        var rows: Int
        var set: SetRecord
        var hashFunctionCount: Int
        /// O of doubleMod; nil: sha256.
        var otherShardCount: Int?
        var keyCompression: String
        /// In hex.
        var configurationID: String
        var leastNoiseBudget: Double?
        var sizing: SizingRecord
        var shapes: [ShapeRecord]
        var shards: [ShardRecord]

        /// The client-visible parameters.
        func parameters() throws -> UseCaseParameters {
            let set = try set.parameterSet()
            let known = try shapes.map {
                try ShardParameters(
                    entryCount: $0.entryCount, entrySize: $0.entrySize, dimensions: $0.dimensions,
                    hashFunctionCount: hashFunctionCount, set: set)
            }
            guard shards.allSatisfy({ known.indices.contains($0.shape) && $0.rows >= 0 }) else {
                throw DirectoryError(.manifest, "a shard has no shape")
            }
            guard let compression = KeyCompression(rawValue: keyCompression) else {
                throw DirectoryError(.manifest, "unknown key compression")
            }
            let function: ShardingFunction
            if let other = otherShardCount {
                guard (1...(1 << 20)).contains(other) else { throw DirectoryError(.manifest, "shard count out of range") }
                function = .doubleMod(otherShardCount: other)
            } else {
                function = .sha256
            }
            let made = try UseCaseParameters(
                set: set, shards: shards.map { known[$0.shape] }, hashFunctionCount: hashFunctionCount,
                shardingFunction: function, keyCompression: compression)
            guard made.configurationID.hexadecimal == configurationID else {
                throw DirectoryError(.manifest, "its configuration id is not that of its parameters")
            }
            return made
        }
    }

    /// The text of the manifest.
    func encoded() throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do { return Array(try encoder.encode(self)) } catch { throw DirectoryError(.manifest, "manifest", error) }
    }

    /// Name of the version with this manifest: its number and the head of the manifest's SHA-256.
    static func versionName(number: Int, manifest bytes: [UInt8]) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, 6 - digits.count)) + digits + "-" + SHA256.hash(bytes).prefix(8).hexadecimal
    }

    /// Number in the name of a version; nil if it is no such name.
    static func number(ofVersion name: String) -> Int? {
        let parts = name.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, (6...15).contains(parts[0].utf8.count), parts[1].utf8.count == 16,
            parts[0].utf8.allSatisfy({ NumberText.isDigit($0) }),
            parts[1].utf8.allSatisfy({ NumberText.isDigit($0) || (0x61...0x66).contains($0) })
        else { return nil }
        return Int(parts[0])
    }

    /// Reads the manifest of a version's folder.
    ///
    /// - `name`: the version's name, whose hash must fit; nil for a folder that has no name yet.
    static func read(folder: String, name: String?) throws -> BuildManifest {
        let path = folder + "/" + fileName
        guard let bytes = try DiskFolder.read(path, limit: bytesAtMost) else {
            throw DirectoryError(.manifest, "\(path): expected a manifest, found none")
        }
        let manifest: BuildManifest
        if let name {
            let number = number(ofVersion: name)
            guard let number, versionName(number: number, manifest: bytes) == name else {
                throw DirectoryError(
                    .manifest, "\(path): its hash is not the one in the version's name: it was changed or damaged")
            }
        }
        do {
            manifest = try JSONDecoder().decode(BuildManifest.self, from: Data(bytes))
        } catch {
            throw DirectoryError(.manifest, "\(path): expected a manifest of format \(currentFormat), got other text")
        }
        guard manifest.format == currentFormat else {
            throw DirectoryError(
                .manifest, "\(path): expected format \(currentFormat), got \(manifest.format): build again with this program")
        }
        let names = manifest.useCases.map(\.name)
        guard names.allSatisfy({ ConfigurationReader.isUseCaseName($0) }), Set(names).count == names.count else {
            throw DirectoryError(.manifest, "\(path): names of use cases are not in order")
        }
        return manifest
    }

    /// Path of a shard file below a version's folder.
    static func shardPath(folder: String, useCase: String, shard: Int) -> String { "\(folder)/\(useCase)/\(shard).shard" }
}

extension String {
    /// The bytes of hexadecimal digits, nil if it is something else.
    var hexBytes: [UInt8]? {
        let digits = Array(utf8)
        guard digits.count % 2 == 0 else { return nil }
        var out: [UInt8] = []
        for at in stride(from: 0, to: digits.count, by: 2) {
            guard let high = Self.hexValue(digits[at]), let low = Self.hexValue(digits[at + 1]) else { return nil }
            out.append(high << 4 | low)
        }
        return out
    }

    private static func hexValue(_ digit: UInt8) -> UInt8? {
        switch digit {
        case 0x30...0x39: digit - 0x30
        case 0x61...0x66: digit - 0x61 + 10
        default: nil
        }
    }
}
