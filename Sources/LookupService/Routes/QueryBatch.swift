// A batch of queries on the computing threads: keys and queries are decoded and checked for all, then computed, several at
// once where threads are free (service.md 1.11).
//
// Queries of one batch that ask the same large shard are answered together, which reads the shard once for them. That delays
// nobody: the answers of a batch leave together anyhow, and a thread takes no more than its even part of what is left.
// Queries of different requests are not put together: with two the shard's bytes come once instead of twice, which is worth
// some 6 % of both, but the first of them would wait for the second, and take nearly twice as long.

import HTTPCore
import KeywordPIR
import LookupMessages
import StateStore
import Synchronization

/// A query that can be computed.
private struct ReadyQuery: Sendable {
    var engine: PIREngine
    var query: DecodedQuery
    var key: DecodedEvaluationKey
    var contents: ShardContents
}

/// One `/queries` request on its way through the computing threads.
final class QueryBatch: Sendable {
    private struct Progress {
        /// Queries that nobody has taken yet.
        var untaken: [Int]
        var left: Int
        var answers: [PIRResponse?]
        var hasFailed = false
    }

    private let call: ServiceCall
    private let queries: [AcceptedQuery]
    private let user: String
    private let service: LookupService
    private let progress: Mutex<Progress>

    init(call: ServiceCall, queries: [AcceptedQuery], user: String, service: LookupService) {
        self.call = call
        self.queries = queries
        self.user = user
        self.service = service
        progress = Mutex(
            Progress(untaken: Array(queries.indices), left: queries.count, answers: Array(repeating: nil, count: queries.count))
        )
    }

    /// Seconds that threads will be busy with it.
    var predictedSeconds: Double {
        queries.reduce(0) { $0 + service.forecast.seconds($1.useCase, shard: Int(clamping: $1.request.shardIndex)) }
    }

    /// Checks all, then computes all; answers when the last is done. Runs on a computing thread.
    func run() {
        guard !call.isPointless else { return call.refuse(.abandoned) }
        do throws(ServiceFailure) {
            let timer = service.metrics.begin(.decode)
            let ready = try prepare()
            timer.end()
            let left = predictedSeconds / Double(max(1, min(ready.count, 1 + service.computing.idleThreads)))
            if ready.count > 1 {
                // The batch waits for its slowest part, so threads without work help; they go back to the line afterwards.
                // How many come to help is known only when they are asked, and they may begin at once: those that were idle.
                let workers = 1 + min(service.computing.idleThreads, ready.count - 1)
                _ = service.computing.lend(ready.count - 1, seconds: left) {
                    self.compute(ready, workers: workers, threads: 1)
                }
                compute(ready, workers: workers, threads: 1)
            } else {
                compute(ready, workers: 1, threads: 1 + service.computing.idleThreads)
            }
        } catch {
            // Neither is the client's mistake, nor was anything computed: it may try again with the same token.
            if error == .evaluationKeyNotFound || error.status == 503 { call.giveBack() }
            call.refuse(error)
        }
    }

    // MARK: Checks

    private func prepare() throws(ServiceFailure) -> [ReadyQuery] {
        // One device's key serves most of a batch: it is found and decoded once.
        var found: [DecodedKeyName: DecodedEvaluationKey] = [:]
        var ready: [ReadyQuery] = []
        var isOutOfService = false
        for accepted in queries {
            guard !call.isPointless else { throw .abandoned }
            let request = accepted.request
            let useCase = accepted.useCase
            let key = try evaluationKey(for: accepted, found: &found)
            guard let shard = Int(exactly: request.shardIndex), shard < useCase.parameters.shards.count,
                let indices = request.query
            else { throw .invalidRequest }
            let query: DecodedQuery
            do {
                query = try useCase.engine.decodeQuery(indices, shard: shard)
            } catch {
                throw .invalidRequest
            }
            guard shard < useCase.shards.count, let contents = useCase.shards[shard].contents else {
                service.log.note(.queryForShardOutOfService(shard: shard, useCase: useCase.name))
                isOutOfService = true
                continue
            }
            ready.append(ReadyQuery(engine: useCase.engine, query: query, key: key, contents: contents))
        }
        if isOutOfService { throw .shardOutOfService }
        return ready
    }

    /// The key of a query: the one that it carries, else the stored one (service.md 1.10.1).
    private func evaluationKey(
        for accepted: AcceptedQuery, found: inout [DecodedKeyName: DecodedEvaluationKey]
    ) throws(ServiceFailure) -> DecodedEvaluationKey {
        let hash = accepted.useCase.parameters.evaluationKeyConfigHash
        let engine = accepted.useCase.engine
        if let carried = accepted.request.evaluationKey {
            guard let metadata = carried.metadata, let key = carried.evaluationKey, metadata.identifier.elementsEqual(hash)
            else { throw .invalidRequest }
            return try decode(key, by: engine, or: .invalidRequest)
        }
        guard let metadata = accepted.request.evaluationKeyMetadata, metadata.identifier.elementsEqual(hash) else {
            throw .evaluationKeyNotFound
        }
        let asked = DecodedKeyName(userIdentifier: user, configurationHash: hash, timestamp: metadata.timestamp)
        if let key = found[asked] { return key }
        let key = try storedKey(asked, engine: engine)
        found[asked] = key
        return key
    }

    private func storedKey(_ asked: DecodedKeyName, engine: PIREngine) throws(ServiceFailure) -> DecodedEvaluationKey {
        let now = secondsSince1970()
        // The timestamp 0 asks for the newest, which only the store knows.
        if asked.timestamp != 0, let key = service.decodedKeys.key(asked, at: now) { return key }
        let moment = service.decodedKeys.moment
        let match: EvaluationKeyMatch?
        do throws(StateStoreError) {
            match = try service.store.key(
                userIdentifier: asked.userIdentifier, configurationHash: asked.configurationHash,
                timestamp: asked.timestamp, at: Int64(now))
        } catch {
            service.noteStore(error)
            throw .storeUnavailable
        }
        guard let match else { throw .evaluationKeyNotFound }
        if !match.matchedTimestamp {
            service.unmatchedTimestamps.add(1, ordering: .relaxed)
            if service.options.requiresMatchingTimestamp { throw .evaluationKeyNotFound }
        }
        let name = DecodedKeyName(match.record)
        if name != asked, let key = service.decodedKeys.key(name, at: now) { return key }
        let message: SerializedEvaluationKey
        do {
            message = try SerializedEvaluationKey(decoding: match.record.key)
        } catch {
            throw .evaluationKeyNotFound
        }
        // It was checked when it came; one that does not fit any more is as good as none, and the device uploads another.
        let key = try decode(message, by: engine, or: .evaluationKeyNotFound)
        service.decodedKeys.keep(key, as: name, at: now, since: moment)
        return key
    }

    private func decode(
        _ message: SerializedEvaluationKey, by engine: PIREngine, or failure: ServiceFailure
    ) throws(ServiceFailure) -> DecodedEvaluationKey {
        service.keyDecodings.add(1, ordering: .relaxed)
        do {
            return try engine.decodeEvaluationKey(message)
        } catch {
            throw failure
        }
    }

    // MARK: Work

    /// Computes queries that nobody else computes, until none is left.
    private func compute(_ ready: [ReadyQuery], workers: Int, threads: Int) {
        while let group = take(ready, workers: workers) {
            guard !call.isPointless else { return fail(.abandoned) }
            if group.count > 1 { service.sharedScans.add(group.count, ordering: .relaxed) }
            let began = ContinuousClock.now
            do {
                let timer = service.metrics.begin(.compute)
                let answers = try Self.answer(group.map { ready[$0] }, threads: threads)
                timer.end()
                for (index, replies) in zip(group, answers) {
                    finish(index, PIRResponse(replies: replies))
                }
                learn(group, seconds: began.duration(to: .now).seconds * Double(threads))
            } catch {
                // Everything that a client can get wrong was checked before: this is about our own data.
                service.log.note(.computationFailed(useCase: queries[group[0]].useCase.name, reason: "\(error)"))
                return fail(.internalError)
            }
        }
    }

    /// Lets the forecast know how long queries took. Those of one group are of one use case.
    private func learn(_ group: [Int], seconds: Double) {
        guard let first = group.first else { return }
        let useCase = queries[first].useCase
        let estimated = group.reduce(0) { sum, index in
            let shard = Int(clamping: queries[index].request.shardIndex)
            return sum + (useCase.estimatedSeconds.indices.contains(shard) ? useCase.estimatedSeconds[shard] : 0)
        }
        service.forecast.record(useCase.name, estimated: estimated, measured: seconds)
    }

    /// The next query, with others of the same shard if it is large; nil if none is left.
    private func take(_ ready: [ReadyQuery], workers: Int) -> [Int]? {
        progress.withLock { progress in
            guard let first = progress.untaken.first, !progress.hasFailed else { return nil }
            let contents = ready[first].contents
            let part = (progress.untaken.count + workers - 1) / workers
            let most = min(part, ready[first].engine.worthTogether(contents))
            let group = Array(
                progress.untaken.lazy.filter { ready[$0].contents === contents && ready[$0].engine === ready[first].engine }
                    .prefix(most))
            progress.untaken.removeAll { group.contains($0) }
            return group
        }
    }

    private static func answer(_ group: [ReadyQuery], threads: Int) throws -> [[SerializedCiphertextVec]] {
        guard group.count > 1 else {
            return try group.map { try $0.engine.answer($0.query, key: $0.key, shard: $0.contents, threads: threads) }
        }
        return try group[0].engine.answerTogether(group.map { ($0.query, $0.key) }, shard: group[0].contents)
    }

    private func fail(_ failure: ServiceFailure) {
        progress.withLock { $0.hasFailed = true }
        call.refuse(failure)
    }

    private func finish(_ index: Int, _ answer: PIRResponse) {
        let complete = progress.withLock { progress -> [PIRResponse?]? in
            progress.answers[index] = answer
            progress.left -= 1
            return progress.left == 0 && !progress.hasFailed ? progress.answers : nil
        }
        guard let complete else { return }
        let responses = complete.map { Response(kind: $0.map { .pir($0) }) }
        let timer = service.metrics.begin(.encode)
        let body = Responses(responses: responses).encoded()
        timer.end()
        // A batch that asks for more than an answer may hold is the client's mistake, not ours.
        guard body.count <= service.options.answerBody else { return call.refuse(.invalidRequest) }
        call.succeed(body)
    }
}
