// The server's engine for one use case, whatever the width of its words (spec keyword-pir.md 7, 13.1).

import BFV
import LookupMessages
import RingMath

/// An evaluation key that has been checked and made ready.
public struct DecodedEvaluationKey: Sendable {
    enum Width: Sendable {
        case narrow(ServerKey<UInt32>)
        case wide(ServerKey<UInt64>)
    }
    let width: Width

    /// Memory that it takes.
    public var byteCount: Int {
        switch width {
        case .narrow(let key): key.byteCount
        case .wide(let key): key.byteCount
        }
    }
}

/// A query that has been checked and read.
public struct DecodedQuery: Sendable {
    enum Width: Sendable {
        case narrow([Ciphertext<UInt32>])
        case wide([Ciphertext<UInt64>])
    }
    let width: Width
    /// The shard that it asks.
    public let shard: Int
}

/// Answers the queries of one use case. Immutable and shared by all threads.
public final class PIREngine: Sendable {
    enum Width: Sendable {
        case narrow(Lookup<UInt32>)
        case wide(Lookup<UInt64>)
    }

    /// The build of the hot loops that runs on this processor: `avx2` or `portable`.
    public static var kernels: String { KernelChoice.current.rawValue }

    /// What the engine was made for.
    public let parameters: UseCaseParameters
    let width: Width

    /// Throws `PIRError` or `RingError` if the parameters cannot be worked with.
    public init(parameters: UseCaseParameters) throws {
        self.parameters = parameters
        if parameters.set.fits32Bits {
            width = .narrow(try Lookup(parameters, context: try BFVContext(parameters.set)))
        } else {
            width = .wide(try Lookup(parameters, context: try BFVContext(parameters.set)))
        }
    }

    /// Checks a key against the published configuration and prepares it.
    ///
    /// Throws `FormatError` or `BFVError` for anything that bfv.md 13 lists. Valid elements that were not asked for are
    /// dropped.
    public func decodeEvaluationKey(_ message: SerializedEvaluationKey) throws -> DecodedEvaluationKey {
        switch width {
        case .narrow(let lookup): DecodedEvaluationKey(width: .narrow(try lookup.decodeKey(message)))
        case .wide(let lookup): DecodedEvaluationKey(width: .wide(try lookup.decodeKey(message)))
        }
    }

    /// Checks a query against the shape of the shard and reads it.
    ///
    /// Throws `PIRError.invalid`, `FormatError` or `BFVError`.
    public func decodeQuery(_ message: EncryptedIndices, shard: Int) throws -> DecodedQuery {
        switch width {
        case .narrow(let lookup):
            DecodedQuery(width: .narrow(try lookup.decodeQuery(message, shard: shard)), shard: shard)
        case .wide(let lookup):
            DecodedQuery(width: .wide(try lookup.decodeQuery(message, shard: shard)), shard: shard)
        }
    }

    /// Works out the replies of a query: one for each table, one ciphertext for each chunk (keyword-pir.md 7.2).
    ///
    /// - `threads`: how many threads may be used.
    /// - `phases`: told where the time went, summed over the threads.
    ///
    /// Throws `PIRError.invalid` if query, key or shard belong to another engine.
    public func answer(
        _ query: DecodedQuery, key: DecodedEvaluationKey, shard: ShardContents, threads: Int, phases: PhaseTimes? = nil
    ) throws -> [SerializedCiphertextVec] {
        guard parameters.shards.indices.contains(query.shard), parameters.shards[query.shard] == shard.parameters else {
            throw PIRError.invalid("shard does not belong to the query")
        }
        switch (width, query.width, key.width) {
        case (.narrow(let lookup), .narrow(let query), .narrow(let key)):
            return Self.messages(
                try lookup.answer(query, key: key, contents: shard, threads: threads, phases: phases), lookup.context)
        case (.wide(let lookup), .wide(let query), .wide(let key)):
            return Self.messages(
                try lookup.answer(query, key: key, contents: shard, threads: threads, phases: phases), lookup.context)
        default:
            throw PIRError.invalid("query or key was read by another engine")
        }
    }

    /// Queries that share a scan at most.
    public static let mostTogether = 4

    /// How many queries of a shard are worth answering together: 1 … `mostTogether`.
    ///
    /// All their selections are held at the same time; together they take at most half the shard's own bytes. So there are
    /// several only for shards that are far larger than what a query holds, and than the caches. Measured with 5,000 rows of
    /// 3,000 bytes (328 MB): two together take 93 to 95 %, four 86 to 91 % of the time that they take one after the other.
    public func worthTogether(_ shard: ShardContents) -> Int {
        let one =
            switch width {
            case .narrow(let lookup): lookup.workspaceBytes(shard.parameters)
            case .wide(let lookup): lookup.workspaceBytes(shard.parameters)
            }
        return min(max(shard.byteCount / 2 / max(one, 1), 1), Self.mostTogether)
    }

    /// Works out the replies to several queries of the same shard on one thread, reading the shard once for all of them.
    ///
    /// None is done before the last. Memory grows with their number; see `worthTogether`.
    ///
    /// Throws what `answer` throws, for all of them.
    public func answerTogether(
        _ queries: [(query: DecodedQuery, key: DecodedEvaluationKey)], shard: ShardContents
    ) throws -> [[SerializedCiphertextVec]] {
        let foreign = PIRError.invalid("query or key was read by another engine")
        for (query, _) in queries {
            guard parameters.shards.indices.contains(query.shard), parameters.shards[query.shard] == shard.parameters else {
                throw PIRError.invalid("shard does not belong to the query")
            }
        }
        switch width {
        case .narrow(let lookup):
            let read = try queries.map { item in
                guard case (.narrow(let query), .narrow(let key)) = (item.query.width, item.key.width) else { throw foreign }
                return (query: query, key: key)
            }
            return try lookup.answerTogether(read, contents: shard).map { Self.messages($0, lookup.context) }
        case .wide(let lookup):
            let read = try queries.map { item in
                guard case (.wide(let query), .wide(let key)) = (item.query.width, item.key.width) else { throw foreign }
                return (query: query, key: key)
            }
            return try lookup.answerTogether(read, contents: shard).map { Self.messages($0, lookup.context) }
        }
    }

    private static func messages<Word: ResidueWord>(
        _ replies: [[Ciphertext<Word>]], _ context: BFVContext<Word>
    ) -> [SerializedCiphertextVec] {
        replies.map { chunks in
            SerializedCiphertextVec(ciphertexts: chunks.map { SerializedCiphertext(context.replyBytes(of: $0)) })
        }
    }
}
