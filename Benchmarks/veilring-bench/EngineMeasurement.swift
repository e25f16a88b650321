// The measurements on a shard that stands: one query after the other, many at once, allocations and single operations.

import CAllocationCount
import Foundation
import KeywordPIR
import LookupMessages
import Synchronization

/// Queries against one shard, and what they came to.
struct EngineMeasurement {
    private let benchmark: EngineBenchmark
    private let stage: EngineBenchmark.Stage
    private let phases = PhaseTimes()
    private var query = Sample()
    private var processor = Sample()
    private var expand = Sample()
    private var first = Sample()
    private var second = Sample()
    private var request = Sample()
    private var afterUpload = Sample()
    private var decodeKey = Sample()
    private(set) var sizes = EngineResult.Sizes(evaluationKey: 0, query: 0, response: 0)
    private(set) var checks = EngineResult.Checks(answers: 0, absent: 0)
    private(set) var leastNoiseBudget = Double.infinity

    init(benchmark: EngineBenchmark, stage: EngineBenchmark.Stage) {
        self.benchmark = benchmark
        self.stage = stage
    }

    /// What is asked: a row, or (one time in four) the keyword of none.
    struct Question {
        var row: Int
        var isAbsent: Bool
        var query: PIRQuery
        var bytes: [UInt8]
    }

    /// The question with this number; rows are taken all over the shard.
    func question(_ number: Int) throws -> Question {
        let isAbsent = number % 4 == 3
        let row = isAbsent ? benchmark.options.rows + number : number * 7919 % benchmark.options.rows
        let query = try stage.client.makeQuery(benchmark.data.keyword(row))
        return Question(row: row, isAbsent: isAbsent, query: query, bytes: query.indices.encoded())
    }

    /// Compares an answer with what is in the shard. Throws `BenchError.wrongAnswer`.
    mutating func check(_ encoded: [UInt8], of question: Question) throws {
        var response = try PIRResponse(decoding: encoded)
        benchmark.damage?(&response)
        let expected = question.isAbsent ? nil : benchmark.data.value(question.row)
        let isRight: Bool
        do {
            isRight = try stage.client.value(of: question.query, in: response) == expected
        } catch {
            isRight = false
        }
        guard isRight else { throw BenchError.wrongAnswer(row: question.row, isAbsent: question.isAbsent) }
        let budget = try stage.client.noiseBudget(of: response)
        // A reply without any plaintext has no noise, which says nothing.
        if budget.isFinite { leastNoiseBudget = min(leastNoiseBudget, budget) }
        checks.answers += 1
        if question.isAbsent { checks.absent += 1 }
    }

    // MARK: One after the other

    /// Two queries that do not count, then those that do; every tenth again as the first one after an upload.
    mutating func run() throws {
        let threads = benchmark.options.threads
        for number in 0..<(benchmark.options.repeats + 2) {
            let question = try question(number)
            let isWarm = number >= 2
            try ask(question, threads: threads, counts: isWarm)
            if isWarm, (number - 2) % 10 == 0 { try askAfterUpload(question, threads: threads) }
        }
        sizes.evaluationKey = stage.keyBytes.count
    }

    private mutating func ask(_ question: Question, threads: Int, counts: Bool) throws {
        var computing = 0.0
        var processorTime = 0.0
        var encoded: [UInt8] = []
        for phase in PhaseTimes.Phase.allCases { _ = phases.take(phase) }
        let whole = try milliseconds {
            let decoded = try stage.engine.decodeQuery(EncryptedIndices(decoding: question.bytes), shard: 0)
            var response = PIRResponse()
            let before = Machine.cpuSeconds
            computing = try milliseconds {
                response.replies = try stage.engine.answer(
                    decoded, key: stage.key, shard: stage.contents, threads: threads, phases: phases)
            }
            processorTime = Machine.cpuSeconds - before
            encoded = response.encoded()
        }
        try check(encoded, of: question)
        guard counts else { return }
        sizes.query = question.bytes.count
        sizes.response = encoded.count
        request.append(whole)
        query.append(computing)
        processor.append(processorTime * 1000)
        expand.append(Double(phases.take(.expand)) / 1e6)
        first.append(Double(phases.take(.firstDimension)) / 1e6)
        second.append(Double(phases.take(.secondDimension)) / 1e6)
    }

    private mutating func askAfterUpload(_ question: Question, threads: Int) throws {
        var encoded: [UInt8] = []
        let whole = try milliseconds {
            var key = stage.key
            decodeKey.append(
                try milliseconds {
                    key = try stage.engine.decodeEvaluationKey(SerializedEvaluationKey(decoding: stage.keyBytes))
                })
            let decoded = try stage.engine.decodeQuery(EncryptedIndices(decoding: question.bytes), shard: 0)
            let replies = try stage.engine.answer(decoded, key: key, shard: stage.contents, threads: threads)
            encoded = PIRResponse(replies: replies).encoded()
        }
        try check(encoded, of: question)
        afterUpload.append(whole)
    }

    var queryResult: EngineResult.Query {
        let times = EngineResult.Times(query)
        return EngineResult.Query(
            medianMs: times.medianMs, p99Ms: times.p99Ms, cpuMedianMs: processor.median,
            phases: EngineResult.Phases(
                expand: EngineResult.Times(expand), firstDimension: EngineResult.Times(first),
                secondDimension: EngineResult.Times(second)))
    }

    var requestResult: EngineResult.Request {
        let times = EngineResult.Times(request)
        return EngineResult.Request(
            medianMs: times.medianMs, p99Ms: times.p99Ms, firstMs: afterUpload.median, decodeKeyMs: decodeKey.median)
    }

    // MARK: Many at once

    /// Requests with one thread each, as many at once as there are threads, for about two seconds and not more than the
    /// repeats that were asked for.
    mutating func throughput(threads: Int) throws -> EngineResult.Throughput {
        let inTwoSeconds = Int(2000 / max(request.median, 0.001) * Double(benchmark.options.threads))
        let each = max(min(benchmark.options.repeats, inTwoSeconds) / threads, 2)
        let questions = try (0..<(min(each * threads, 8))).map { try question($0) }
        let outcomes = Mutex([Result<[UInt8], any Error>?](repeating: nil, count: questions.count))
        let failures = Mutex(0)
        let stage = stage
        let time = milliseconds {
            DispatchQueue.concurrentPerform(iterations: threads) { thread in
                for i in 0..<each {
                    let number = (thread * each + i) % questions.count
                    let outcome = Result {
                        let decoded = try stage.engine.decodeQuery(
                            EncryptedIndices(decoding: questions[number].bytes), shard: 0)
                        return PIRResponse(
                            replies: try stage.engine.answer(decoded, key: stage.key, shard: stage.contents, threads: 1)
                        ).encoded()
                    }
                    // The same question has the same answer: one of them is decrypted, the others must equal it.
                    let isSame = outcomes.withLock { list in
                        guard let known = list[number] else {
                            list[number] = outcome
                            return true
                        }
                        return (try? known.get()) == (try? outcome.get())
                    }
                    if !isSame { failures.withLock { $0 += 1 } }
                }
            }
        }
        for (number, outcome) in outcomes.withLock({ $0 }).enumerated() {
            if let outcome { try check(try outcome.get(), of: questions[number]) }
        }
        guard failures.withLock({ $0 }) == 0 else { throw BenchError.failed("the same query got different answers") }
        let perSecond = Double(each * threads) / time * 1000
        let raw = Double(benchmark.options.rows * benchmark.options.valueBytes)
        return EngineResult.Throughput(threads: threads, queriesPerSecond: perSecond, rawGBPerSecond: perSecond * raw / 1e9)
    }

    // MARK: Allocations

    /// Allocations of a request on one thread, and the bytes that they ask for, when the engine's memory is there from the
    /// queries before: means of four. Nil where they cannot be counted.
    mutating func allocations() throws -> (count: Double, bytes: Double)? {
        guard callocationcount_works() == 1 else { return nil }
        let rounds = 4
        var count: UInt64 = 0
        var bytes: UInt64 = 0
        for number in 0...rounds {
            let question = try question(number)
            let before = (callocationcount_allocations(), callocationcount_bytes())
            let decoded = try stage.engine.decodeQuery(EncryptedIndices(decoding: question.bytes), shard: 0)
            let replies = try stage.engine.answer(decoded, key: stage.key, shard: stage.contents, threads: 1)
            let encoded = PIRResponse(replies: replies).encoded()
            let after = (callocationcount_allocations(), callocationcount_bytes())
            try check(encoded, of: question)
            // The first one may still have had to make the memory.
            guard number > 0 else { continue }
            count += after.0 - before.0
            bytes += after.1 - before.1
        }
        return (Double(count) / Double(rounds), Double(bytes) / Double(rounds))
    }

    // MARK: Operations

    /// Nanoseconds of single operations: medians of batches.
    func operations() throws -> EngineResult.Operations {
        let operations = try EngineOperations(stage.engine, key: stage.key)
        let present = stage.contents.layout.columns.reduce(0) { $0 + $1.rows.count }
        return EngineResult.Operations(
            forwardNTT: time(of: 50) { operations.forwardTransform() },
            inverseNTT: time(of: 50) { operations.inverseTransform() },
            keySwitch: operations.keySwitch() ? time(of: 4) { _ = operations.keySwitch() } : nil,
            // As it runs in the first dimension: all of that phase, for each plaintext that is there.
            plainMultiplyAccumulate: first.median * 1e6 / Double(max(present, 1)),
            multiplyRelinearize: operations.multiplyAndRelinearize()
                ? time(of: 2) { _ = operations.multiplyAndRelinearize() } : nil)
    }

    private func time(of batch: Int, _ work: () -> Void) -> Double {
        var sample = Sample()
        for _ in 0..<31 { sample.append(milliseconds { for _ in 0..<batch { work() } } * 1e6 / Double(batch)) }
        return sample.median
    }
}
