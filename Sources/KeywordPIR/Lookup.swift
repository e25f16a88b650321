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
        /// For a second thread, once one was there to help.
        var helper: ExpansionWorkspace<Word>?
        let selection: SelectionBuffer<Word>
        var columns: [ColumnWorkspace<Word>]
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

    /// Bytes of the memory that one query takes on one thread, but for the tree's.
    func workspaceBytes(_ shape: ShardParameters) -> Int {
        let products = Self.multiplies(shape) ? context.products?.rows ?? 0 : 0
        let words =
            shape.hashFunctionCount * (context.levels * shape.rows + products * shape.columns) + products * shape.columns
        return words * 2 * context.degree * MemoryLayout<Word>.size
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
            columns: [], shape: shape)
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
    /// - `threads`: how many tables and chunks may be worked on at once.
    /// - `phases`: told where the time went.
    func answer(
        _ query: [Ciphertext<Word>], key: ServerKey<Word>, contents: ShardContents, threads: Int, phases: PhaseTimes? = nil
    ) throws -> [[Ciphertext<Word>]] {
        let shape = contents.parameters
        guard contents.wordBytes == MemoryLayout<Word>.size else { throw PIRError.invalid("shard is of another word width") }
        var work = takeWorkspaces(shape)
        defer { giveBack(work) }
        let multiplies = Self.multiplies(shape)
        if threads > 1, work.helper == nil {
            work.helper = ExpansionWorkspace(context, depth: ceilLog2(min(shape.expandedCount, context.degree)))
        }
        let expansion = Expansion(
            context: context, tables: tables, key: key, work: work.expansion,
            target: LeafTarget(shape: shape, selection: work.selection, multiplies: multiplies))
        try phases.measure(.expand) {
            try expansion.run(query, outputs: shape.expandedCount, helper: threads > 1 ? work.helper : nil)
        }
        if multiplies, key.relinearization == nil { throw BFVError.missingRelinearizationKey }
        let evaluation = ColumnEvaluation(context: context, shape: shape, contents: contents, phases: phases)
        let selection = work.selection
        let chunks = shape.chunks(parameters.set)
        let jobs = shape.hashFunctionCount * chunks
        let workers = min(max(threads, 1), jobs)
        while work.columns.count < workers {
            work.columns.append(ColumnWorkspace(context, columns: multiplies ? shape.columns : 0))
        }
        let replies = try run(jobs, on: work.columns.prefix(workers)) { job, columns in
            evaluation.replies(
                table: job / chunks, chunk: job % chunks, chunks: chunks,
                [
                    ColumnQuery(
                        selection: selection, relinearization: multiplies ? key.relinearization : nil, work: columns)
                ])[0]
        }
        return stride(from: 0, to: jobs, by: chunks).map { Array(replies[$0..<($0 + chunks)]) }
    }

    /// Replies to several queries of the same shard, on one thread: the shard is read once for all of them.
    func answerTogether(
        _ queries: [(query: [Ciphertext<Word>], key: ServerKey<Word>)], contents: ShardContents
    ) throws -> [[[Ciphertext<Word>]]] {
        let shape = contents.parameters
        guard contents.wordBytes == MemoryLayout<Word>.size else { throw PIRError.invalid("shard is of another word width") }
        let multiplies = Self.multiplies(shape)
        var taken: [Workspaces] = []
        defer { for work in taken { giveBack(work) } }
        for (query, key) in queries {
            if multiplies, key.relinearization == nil { throw BFVError.missingRelinearizationKey }
            var work = takeWorkspaces(shape)
            if work.columns.isEmpty { work.columns.append(ColumnWorkspace(context, columns: multiplies ? shape.columns : 0)) }
            taken.append(work)
            try Expansion(
                context: context, tables: tables, key: key, work: work.expansion,
                target: LeafTarget(shape: shape, selection: work.selection, multiplies: multiplies)
            ).run(query, outputs: shape.expandedCount)
        }
        let evaluation = ColumnEvaluation(context: context, shape: shape, contents: contents)
        let members = zip(queries, taken).map { query, work in
            ColumnQuery(
                selection: work.selection, relinearization: multiplies ? query.key.relinearization : nil,
                work: work.columns[0])
        }
        let chunks = shape.chunks(parameters.set)
        var replies = [[[Ciphertext<Word>]]](
            repeating: Array(repeating: [], count: shape.hashFunctionCount), count: queries.count)
        for table in 0..<shape.hashFunctionCount {
            for chunk in 0..<chunks {
                let parts = evaluation.replies(table: table, chunk: chunk, chunks: chunks, members)
                for (i, part) in parts.enumerated() { replies[i][table].append(part) }
            }
        }
        return replies
    }

    /// Results of jobs in order; each worker has a workspace of its own and takes the next job when it is done with one.
    private func run(
        _ jobs: Int, on columns: ArraySlice<ColumnWorkspace<Word>>,
        _ body: @escaping (Int, ColumnWorkspace<Word>) -> Ciphertext<Word>
    ) throws -> [Ciphertext<Word>] {
        if columns.count == 1, let only = columns.first { return (0..<jobs).map { body($0, only) } }
        let results = Mutex([Ciphertext<Word>?](repeating: nil, count: jobs))
        let next = Atomic<Int>(0)
        // A workspace is touched by one worker only.
        nonisolated(unsafe) let work = { (worker: Int) in
            while true {
                let job = next.add(1, ordering: .relaxed).oldValue
                guard job < jobs else { return }
                let reply = body(job, columns[columns.startIndex + worker])
                results.withLock { $0[job] = reply }
            }
        }
        DispatchQueue.concurrentPerform(iterations: columns.count) { work($0) }
        let all = results.withLock { $0.compactMap { $0 } }
        guard all.count == jobs else { throw PIRError.invalid("a table was not worked on") }
        return all
    }
}
