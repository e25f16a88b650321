// The engine of one use case in words of one width: queries and keys in, reply ciphertexts out (spec keyword-pir.md 7).

import BFV
import Dispatch
import LookupMessages
import RingMath
import Synchronization

/// Answers queries of one use case.
final class Lookup<Word: ResidueWord>: Sendable {
    let parameters: UseCaseParameters
    let context: BFVContext<Word>
    let tables: ExpansionTables<Word>
    private let spareWorkspaces = Mutex<[Workspaces]>([])

    /// One query's memory; handed from query to query, never shared.
    private struct Workspaces: @unchecked Sendable {
        let expansion: ExpansionWorkspace<Word>
        let selection: SelectionBuffer<Word>
        let columns: [ColumnWorkspace<Word>]
        let shape: ShardParameters
    }

    init(_ parameters: UseCaseParameters, context: BFVContext<Word>) throws {
        self.parameters = parameters
        self.context = context
        let deepest = parameters.shards.map { ceilLog2(min($0.expandedCount, parameters.set.degree)) }.max() ?? 0
        tables = try ExpansionTables(context, depth: deepest, elements: parameters.galoisElements)
    }

    /// Whether a shard's replies take a ciphertext product: two dimensions and more than one column.
    static func multiplies(_ shape: ShardParameters) -> Bool { shape.dimensions.count == 2 && shape.columns > 1 }

    func decodeKey(_ message: SerializedEvaluationKey) throws -> ServerKey<Word> {
        try ServerKey(
            message, context, elements: parameters.galoisElements,
            needsRelinearization: parameters.evaluationKeyConfig.hasRelinKey)
    }

    func decodeQuery(_ message: EncryptedIndices, shard: Int) throws -> [Ciphertext<Word>] {
        guard parameters.shards.indices.contains(shard) else { throw PIRError.invalid("shard index out of range") }
        let shape = parameters.shards[shard]
        guard message.numPirCalls == UInt64(shape.hashFunctionCount) else {
            throw PIRError.invalid("number of PIR calls must be the number of hash functions")
        }
        let expected = (shape.expandedCount + context.degree - 1) / context.degree
        guard message.ciphertexts.count == expected else {
            throw PIRError.invalid("query must have \(expected) ciphertexts")
        }
        return try message.ciphertexts.map { try context.readQueryCiphertext($0.bytes()) }
    }

    private func takeWorkspaces(_ shape: ShardParameters) -> Workspaces {
        let found = spareWorkspaces.withLock { list -> Workspaces? in
            guard let i = list.lastIndex(where: { $0.shape == shape }) else { return nil }
            return list.remove(at: i)
        }
        if let found { return found }
        let multiplies = Self.multiplies(shape)
        return Workspaces(
            expansion: ExpansionWorkspace(context, depth: ceilLog2(min(shape.expandedCount, context.degree))),
            selection: SelectionBuffer(context, shape: shape, tables: shape.hashFunctionCount, multiplies: multiplies),
            columns: (0..<shape.hashFunctionCount).map { _ in
                ColumnWorkspace(context, columns: multiplies ? shape.columns : 0)
            }, shape: shape)
    }

    /// Keeps the memory of a few queries for the next ones.
    private func giveBack(_ work: Workspaces) {
        spareWorkspaces.withLock { list in
            list.append(work)
            if list.count > 8 { list.removeFirst() }
        }
    }

    /// Replies, table after table, chunk after chunk, as ciphertexts at level 1.
    ///
    /// - `threads`: how many tables may be worked on at once.
    func answer(
        _ query: [Ciphertext<Word>], key: ServerKey<Word>, contents: ShardContents, threads: Int
    ) throws -> [[Ciphertext<Word>]] {
        let shape = contents.parameters
        guard contents.wordBytes == MemoryLayout<Word>.size else { throw PIRError.invalid("shard is of another word width") }
        let work = takeWorkspaces(shape)
        defer { giveBack(work) }
        let multiplies = Self.multiplies(shape)
        try Expansion(
            context: context, tables: tables, key: key, work: work.expansion,
            target: LeafTarget(shape: shape, selection: work.selection, multiplies: multiplies)
        ).run(query, outputs: shape.expandedCount)
        if multiplies, key.relinearization == nil { throw BFVError.missingRelinearizationKey }
        let evaluation = ColumnEvaluation(
            context: context, shape: shape, selection: work.selection, contents: contents,
            relinearization: multiplies ? key.relinearization : nil)
        let chunks = shape.chunks(parameters.set)
        let tableCount = shape.hashFunctionCount
        let replies = Mutex([[Ciphertext<Word>]](repeating: [], count: tableCount))
        // One column workspace for each table, so tables may run side by side.
        nonisolated(unsafe) let run = { (table: Int) in
            let list = (0..<chunks).map {
                evaluation.reply(table: table, chunk: $0, chunks: chunks, work.columns[table])
            }
            replies.withLock { $0[table] = list }
        }
        if threads > 1, tableCount > 1 {
            DispatchQueue.concurrentPerform(iterations: tableCount) { run($0) }
        } else {
            for table in 0..<tableCount { run(table) }
        }
        return replies.withLock { $0 }
    }
}
