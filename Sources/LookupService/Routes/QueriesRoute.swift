// POST /queries: a batch is checked as a whole before any of it is computed (service.md 1.10.1, 1.11). What needs no heavy
// work is checked here, the rest on a computing thread (QueryBatch.swift).

import LookupMessages

extension LookupService {
    /// Checks kind, use case, `shard_id` and configuration id of every request, then puts the batch into the line.
    func takeQueries(_ call: ServiceCall, snapshot: ServiceSnapshot, user: String) throws(ServiceFailure) {
        let message = try Self.decode(Requests.self, call.request.body)
        guard (1...options.queriesPerRequest).contains(message.requests.count) else { throw .invalidRequest }
        var queries: [AcceptedQuery] = []
        let names = names(for: call)
        for request in message.requests {
            // OPRF belongs to symmetric use cases, of which there are none.
            guard case .pir(let query) = request.kind else { throw .invalidRequest }
            guard let name = names.hosted(request.usecase), let versions = snapshot.answering[name] else {
                metrics.queries.add(to: ServiceMetrics.unknownUseCase)
                throw .unknownUseCaseInQuery
            }
            metrics.queries.add(to: name)
            guard query.shardId == nil else { throw .notSupported }
            guard let useCase = versions[Array(query.configurationHash)] else { throw .configurationGone }
            queries.append(AcceptedQuery(useCase: useCase, request: query))
        }
        let isUrgent = queries.allSatisfy { $0.useCase.kind == .block }
        let batch = QueryBatch(call: call, queries: queries, user: user, service: self)
        let client = WorkClient(source: call.request.source, user: user, shared: options.sharedAddresses)
        let waiting = metrics.begin(.queue)
        let work = WorkItem(
            rank: isUrgent ? .block : .query, client: client, seconds: batch.predictedSeconds,
            deadline: call.request.receivedAt.advanced(by: options.queriesTime)
        ) {
            waiting.end()
            batch.run()
        } refuse: {
            call.refuse($0)
        }
        enqueue(work, on: computing, for: call, within: options.queriesTime)
    }
}

/// A request of a batch with the version that it names.
struct AcceptedQuery: Sendable {
    var useCase: ServedUseCase
    var request: PIRRequest
}
