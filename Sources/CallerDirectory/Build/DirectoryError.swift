// What building, publishing and loading a directory can do wrong (issue 2, items 5 and 6).

import KeywordPIR

/// Why a build or a load failed, in words for the operator. Texts name files, use cases and shards, never numbers or names of
/// callers; those of kind `.source` and `.rejectedRows` may quote what came and are for the operator's terminal only.
public struct DirectoryError: Error, Sendable, Equatable, CustomStringConvertible {
    /// What a caller may want to tell apart.
    public enum Kind: Sendable, Equatable {
        /// A source cannot be used.
        case source
        /// More rows were rejected than allowed.
        case rejectedRows
        /// The settings cannot be followed.
        case plan
        /// Rows do not fit, or two cannot be told apart.
        case table
        /// A shard file is damaged or belongs elsewhere.
        case shardFile
        /// A manifest is damaged or of another version.
        case manifest
        /// A check before publishing failed.
        case check
        /// Another build is running.
        case busy
        /// The system refused something.
        case fileSystem
        /// Nothing has been built yet, or no such version.
        case noVersion
        /// The build was stopped on purpose.
        case interrupted
    }

    /// What went wrong.
    public let kind: Kind
    /// In words.
    public let description: String

    init(_ kind: Kind, _ description: String) {
        self.kind = kind
        self.description = description
    }

    /// `error` as one of this type, with what was being done before it.
    init(_ kind: Kind, _ doing: String, _ error: any Error) {
        if let known = error as? DirectoryError {
            self = DirectoryError(known.kind, doing.isEmpty ? known.description : "\(doing): \(known.description)")
            return
        }
        let reason = DirectoryError.words(error)
        self.init(kind, doing.isEmpty ? reason : "\(doing): \(reason)")
    }

    private static func words(_ error: any Error) -> String {
        switch error as? PIRError {
        case .invalid(let rule): return rule
        case .valueTooLong(let bytes, let limit):
            return "a value of \(bytes) bytes does not fit a bucket, which takes \(limit); maxSerializedBucketSize must be "
                + "at least \(bytes + 11)"
        case .tableTooSmall(let rows, let buckets):
            return "\(rows) rows do not fit \(buckets) buckets; raise fixedSize.bucketCount or maxSerializedBucketSize, "
                + "or use more shards"
        case .duplicateHash: return "two keywords have the same 64-bit hash, so a phone could not tell them apart"
        case .unreadableReply: return "the reply holds no buckets (no noise budget left, or damaged data)"
        case nil: return "\(error)"
        }
    }
}
