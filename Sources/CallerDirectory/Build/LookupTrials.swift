// Real queries against the written files, before they are published: rows that are there, a keyword that is not, and what the
// messages and the noise come to (issue 2, item 5; keyword-pir.md 11.3, 14.6; field case F33).

import BFV
import KeywordPIR
import LookupMessages
import Protobuf

/// What the trials of a use case came to.
struct TrialOutcome: Sendable {
    var queries = 0
    var leastNoiseBudget: Double?
    var wire: WireSizes?
    var milliseconds: Double?
}

/// One real query: a keyword, and the value that must come, nil for a keyword that no row has.
struct TrialQuestion: Sendable, Equatable {
    let keyword: [UInt8]
    let value: [UInt8]?
}

/// What is asked of a use case, chosen from its rows, which may go before it is asked.
struct TrialQuestions {
    /// Shards that are asked where the operator says nothing.
    static let shardsByDefault = 3

    private let rows: ShardedRows
    private let plan: UseCasePlan

    /// - `built`: shards that were built rather than taken over.
    static func chosen(_ rows: ShardedRows, plan: UseCasePlan, built: [Int]) -> [TrialQuestion] {
        if plan.trialsPerShard == 0 { return [] }
        let choosing = TrialQuestions(rows: rows, plan: plan)
        var list: [TrialQuestion] = []
        for (shard, count) in choosing.choice(built) {
            for row in rows.sample(ofShard: shard, count: count) {
                list.append(
                    TrialQuestion(keyword: Array(rows.rows.keyword(at: row)), value: Array(rows.rows.value(at: row))))
            }
        }
        list.append(TrialQuestion(keyword: choosing.absentKeyword(), value: nil))
        return list
    }

    /// Shards to ask, with the number of rows: as the operator says, else one row in each of a few, the fullest among them.
    private func choice(_ built: [Int]) -> [(shard: Int, rows: Int)] {
        let filled = built.filter { rows.count(ofShard: $0) > 0 }
        if let trials = plan.trialsPerShard { return filled.map { ($0, trials) } }
        var among = filled
        if among.isEmpty { among = (0..<rows.shardCount).filter { rows.count(ofShard: $0) > 0 } }
        guard let first = among.first, let last = among.last else { return [] }
        let fullest = among.max { rows.count(ofShard: $0) < rows.count(ofShard: $1) } ?? first
        var list: [Int] = []
        for shard in [fullest, first, last] where !list.contains(shard) { list.append(shard) }
        return list.prefix(TrialQuestions.shardsByDefault).map { ($0, 1) }
    }

    /// A keyword that no row has, in the manner of numbers that no phone has.
    private func absentKeyword() -> [UInt8] {
        var hasher = KeywordHasher()
        var number = 0
        while true {
            let keyword = Array("+999000000\(number)".utf8)
            let hash = hasher.hash(keyword)
            let shard = plan.function.shard(ofHash: hash, shardCount: rows.shardCount)
            if !rows.holds(hash: hash, inShard: shard) { return keyword }
            number += 1
        }
    }
}

/// Real queries against a loaded use case.
struct LookupTrials {
    /// Noise that must be left, in bits (bfv.md 11.4).
    static let leastBudget = 1.0

    let useCase: LoadedUseCase
    let threads: Int
    private let client: PIRClient
    private let key: DecodedEvaluationKey
    private let keyMessage: SerializedEvaluationKey
    private var outcome = TrialOutcome()

    init(useCase: LoadedUseCase, threads: Int) throws {
        self.useCase = useCase
        self.threads = threads
        client = try PIRClient(parameters: useCase.parameters)
        keyMessage = try client.makeEvaluationKey()
        key = try useCase.engine.decodeEvaluationKey(keyMessage)
    }

    /// Asks all questions.
    mutating func run(_ questions: [TrialQuestion]) throws -> TrialOutcome {
        for question in questions { try ask(question.keyword, expecting: question.value) }
        return outcome
    }

    private mutating func ask(_ keyword: [UInt8], expecting value: [UInt8]?) throws {
        let query = try client.makeQuery(keyword)
        func failed(_ reason: String) -> DirectoryError {
            DirectoryError(
                .check, "use case \(useCase.name), shard \(query.shard): a real query failed, \(reason); nothing was published")
        }
        // Else a build would take the memory of every shard that it asks.
        defer { useCase.shards[query.shard].forgetPages() }
        var response = PIRResponse()
        var found: [UInt8]?
        let clock = ContinuousClock()
        do {
            let decoded = try useCase.engine.decodeQuery(query.indices, shard: query.shard)
            let start = clock.now
            response.replies = try useCase.engine.answer(
                decoded, key: key, shard: useCase.shards[query.shard].contents, threads: threads)
            let time = (clock.now - start) / .milliseconds(1)
            outcome.milliseconds = min(outcome.milliseconds ?? time, time)
            let budget = try client.noiseBudget(of: response)
            // Without any plaintext a reply has no noise at all, which says nothing.
            if budget.isFinite { outcome.leastNoiseBudget = min(outcome.leastNoiseBudget ?? budget, budget) }
            guard budget >= LookupTrials.leastBudget else {
                throw failed("too little noise budget is left: use another parameter set or one dimension")
            }
            found = try client.value(of: query, in: response)
        } catch let error as DirectoryError {
            throw error
        } catch {
            throw failed(DirectoryError(.check, "", error).description)
        }
        guard found == value else {
            throw failed(value == nil ? "a keyword that is not there was found" : "a row gave another value, or none")
        }
        outcome.queries += 1
        if outcome.wire == nil { outcome.wire = wireSizes(query, response) }
    }

    /// Sizes of the messages around these, encoded as a phone and a server do.
    private func wireSizes(_ query: PIRQuery, _ response: PIRResponse) -> WireSizes {
        let parameters = useCase.parameters
        let metadata = EvaluationKeyMetadata(
            timestamp: 1_800_000_000, identifier: parameters.evaluationKeyConfigHash[...])
        var request = PIRRequest()
        request.shardIndex = UInt32(query.shard)
        request.query = query.indices
        request.evaluationKeyMetadata = metadata
        request.configurationHash = parameters.configurationID[...]
        let requests = Requests(requests: [Request(usecase: useCase.name, kind: .pir(request))])
        let responses = Responses(responses: [Response(kind: .pir(response))])
        let keys = EvaluationKeys(keys: [EvaluationKey(metadata: metadata, evaluationKey: keyMessage)])
        var config = Config()
        config.kind = .pir(parameters.pirConfig)
        config.configId = parameters.configurationID[...]
        var configuration = ConfigResponse()
        configuration.configs = [useCase.name: config]
        configuration.keyInfo = [KeyStatus(timestamp: 0, keyConfig: parameters.evaluationKeyConfig)]
        return WireSizes(
            configuration: configuration.encoded().count, evaluationKey: keys.encoded().count,
            query: requests.encoded().count, response: responses.encoded().count)
    }
}
