// POST /config: configurations and key status, in the order asked (service.md 1.9).

import LookupMessages
import Protobuf
import StateStore

extension LookupService {
    /// Checks the request, then waits for the store on a clerk's thread.
    func takeConfig(_ call: ServiceCall, snapshot: ServiceSnapshot, user: String) throws(ServiceFailure) {
        let request = try Self.decode(ConfigRequest.self, call.request.body)
        guard request.usecases.count <= options.useCasesPerRequest,
            request.usecases.allSatisfy({ $0.utf8.count <= options.useCaseNameBytes })
        else { throw .invalidRequest }
        guard request.existingConfigIds.isEmpty || request.existingConfigIds.count == request.usecases.count else {
            throw .invalidExistingIDs
        }
        let wanted = try Self.wanted(request, snapshot: snapshot, names: names(for: call))
        let system = ClientSystem(userAgent: call.request.fields["user-agent"])
        // Checked for all before the store is asked: the answer is whole or not at all.
        for item in wanted where !system.understandsNewestForm && !item.isHeldByDevice && item.useCase.wire.older == nil {
            throw .notSupported
        }
        let waiting = metrics.begin(.queue)
        let work = WorkItem(rank: .upkeep) { [self] in
            waiting.end()
            guard !call.isPointless else { return call.refuse(.abandoned) }
            do throws(StateStoreError) {
                call.succeed(try configAnswer(wanted, newest: system.understandsNewestForm, user: user))
            } catch {
                noteStore(error)
                call.refuse(.storeUnavailable)
            }
        } refuse: {
            call.refuse($0)
        }
        enqueue(work, on: clerks, for: call, within: options.configTime)
    }

    /// A use case asked for, once, in the order of the request.
    struct WantedConfiguration: Sendable {
        /// The name that it was asked for by.
        var name: String
        var useCase: ServedUseCase
        /// The device named the id that is current.
        var isHeldByDevice: Bool
    }

    /// Pairs names and ids by position; a name that comes again is not answered again. No name means all that the tier may see.
    static func wanted(
        _ request: ConfigRequest, snapshot: ServiceSnapshot, names: UseCaseNames = .all
    ) throws(ServiceFailure) -> [WantedConfiguration] {
        if request.usecases.isEmpty { return configurations(of: names, in: snapshot) }
        var seen: Set<String> = []
        var wanted: [WantedConfiguration] = []
        for (index, name) in request.usecases.enumerated() {
            guard let useCase = names.hosted(name).flatMap({ snapshot.current[$0] }) else { throw .unknownUseCaseInConfig }
            guard seen.insert(name).inserted else { continue }
            let held = request.existingConfigIds.isEmpty ? [] : request.existingConfigIds[index]
            wanted.append(
                WantedConfiguration(
                    name: name, useCase: useCase, isHeldByDevice: held.elementsEqual(useCase.parameters.configurationID)))
        }
        return wanted
    }

    /// Every configuration that there is under these names, by name.
    static func configurations(of names: UseCaseNames, in snapshot: ServiceSnapshot) -> [WantedConfiguration] {
        names.pairs(of: snapshot.current.keys.sorted()).compactMap { asked, hosted in
            snapshot.current[hosted].map { WantedConfiguration(name: asked, useCase: $0, isHeldByDevice: false) }
        }
    }

    /// The names under which the payer of a request finds use cases.
    func names(for call: ServiceCall) -> UseCaseNames { call.tier.flatMap { privacyPass?.tiers[$0] } ?? .all }

    /// The serialised `ConfigResponse`, put together from the bytes that were made when the version was loaded.
    private func configAnswer(
        _ wanted: [WantedConfiguration], newest: Bool, user: String
    ) throws(StateStoreError) -> [UInt8] {
        var writer = ProtobufWriter()
        let reuse = Config(reuseExistingConfig: true).encoded()
        for item in wanted.sorted(by: { $0.name < $1.name }) {
            let wire = item.useCase.wire
            let config = item.isHeldByDevice ? reuse : newest ? wire.newest : wire.older ?? wire.newest
            writer.delimited(field: 1) { entry in
                entry.string(item.name, field: 1)
                entry.presentBytes(config[...], field: 2)
            }
        }
        for item in wanted {
            let hash = item.useCase.parameters.evaluationKeyConfigHash
            let timestamp = try store.newestTimestamp(userIdentifier: user, configurationHash: hash) ?? 0
            writer.delimited(field: 2) { status in
                status.uint64(timestamp, field: 1)
                status.presentBytes(item.useCase.wire.keyConfig[...], field: 2)
            }
        }
        return writer.output
    }

    /// Decodes a body; whatever is wrong with it is one answer.
    static func decode<M: ProtobufMessage>(_ type: M.Type, _ body: [UInt8]) throws(ServiceFailure) -> M {
        do throws(ProtobufError) {
            return try M(decoding: body)
        } catch {
            throw .malformedMessage
        }
    }

    /// Puts work into a line, after the request's token was spent; answers for it when the line does not take it, and when its
    /// time is over before it has answered itself. A token is not spent for work that the line has no room for.
    func enqueue(_ work: WorkItem, on pool: WorkPool, for call: ServiceCall, within time: Duration) {
        if let refusal = pool.refusal(for: work) { return call.refuse(refusal) }
        deadlines.expire(call, at: call.request.receivedAt.advanced(by: time))
        call.spend {
            if let refusal = pool.submit(work) { call.refuse(refusal) }
        }
    }

    /// Logs an error of the store: its text holds paths, codes and numbers only.
    func noteStore(_ error: StateStoreError) { log.note(.storeFailed(reason: "\(error)")) }
}
