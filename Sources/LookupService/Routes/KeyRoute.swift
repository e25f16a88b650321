// POST /key: evaluation keys are checked against a hosted configuration, then stored durably, then acknowledged
// (service.md 1.10). The decoded form that checking gives is kept for the device's first query.

import KeywordPIR
import LookupMessages
import StateStore

extension LookupService {
    /// Checks form and identifiers at once, the keys themselves on a computing thread, and stores on a clerk's.
    func takeKeys(_ call: ServiceCall, snapshot: ServiceSnapshot, user: String) throws(ServiceFailure) {
        let message = try Self.decode(EvaluationKeys.self, call.request.body)
        guard (1...options.keysPerRequest).contains(message.keys.count) else { throw .invalidRequest }
        var uploads: [KeyUpload] = []
        for key in message.keys {
            guard let metadata = key.metadata, let evaluationKey = key.evaluationKey,
                let engine = snapshot.keyEngines[Array(metadata.identifier)]
            else { throw .invalidRequest }
            uploads.append(
                KeyUpload(
                    hash: Array(metadata.identifier), timestamp: metadata.timestamp, key: evaluationKey, engine: engine))
        }
        let waiting = metrics.begin(.queue)
        let checking = WorkItem(rank: .upkeep) { [self, uploads] in
            waiting.end()
            guard !call.isPointless else { return call.refuse(.abandoned) }
            do throws(ServiceFailure) {
                var checked: [CheckedKey] = []
                let timer = metrics.begin(.decode)
                for upload in uploads { checked.append(try upload.checked(user: user, by: self)) }
                timer.end()
                keep(checked, for: call)
            } catch {
                call.refuse(error)
            }
        } refuse: {
            call.refuse($0)
        }
        enqueue(checking, on: computing, for: call, within: options.keyTime)
    }

    /// Stores what was checked, and acknowledges it when it is durable.
    private func keep(_ checked: [CheckedKey], for call: ServiceCall) {
        let storing = WorkItem(rank: .upkeep) { [self] in
            let moment = decodedKeys.moment
            let now = secondsSince1970()
            do throws(StateStoreError) {
                try store.store(checked.map(\.record), at: Int64(now))
                for one in checked {
                    decodedKeys.replace(DecodedKeyName(one.record), by: one.decoded?.key, at: now, since: moment)
                }
                call.succeed([])
            } catch {
                switch error {
                case .invalidRecord, .tooManyKeys, .tooLarge: call.refuse(.invalidRequest)
                default:
                    noteStore(error)
                    call.refuse(.storeUnavailable)
                }
            }
        } refuse: {
            call.refuse($0)
        }
        if let refusal = clerks.submit(storing) { call.refuse(refusal) }
    }
}

extension DecodedKeyName {
    /// The name under which the decoded form of a stored key is cached.
    init(_ record: EvaluationKeyRecord) {
        self.init(
            userIdentifier: record.userIdentifier, configurationHash: record.configurationHash, timestamp: record.timestamp)
    }
}

/// A key that may be stored.
private struct CheckedKey: Sendable {
    var record: EvaluationKeyRecord
    /// What checking it gave, for the first query; nil if too many uploads wait.
    var decoded: UploadedKey?
}

/// One key of an upload with the engine of the configuration that it names.
private struct KeyUpload: Sendable {
    var hash: [UInt8]
    var timestamp: UInt64
    var key: SerializedEvaluationKey
    var engine: PIREngine

    /// The record to store, if the key is what the configuration asks for.
    func checked(user: String, by service: LookupService) throws(ServiceFailure) -> CheckedKey {
        let decoded: DecodedEvaluationKey
        do {
            decoded = try engine.decodeEvaluationKey(key)
        } catch {
            throw .invalidRequest
        }
        service.keyDecodings.add(1, ordering: .relaxed)
        // Elements that no query uses are not worth their bytes in the store.
        var needed = key
        let elements = Set(engine.parameters.galoisElements.map { UInt64(clamping: $0) })
        needed.galoisKey?.keySwitchKeys = key.galoisKey?.keySwitchKeys.filter { elements.contains($0.key) } ?? [:]
        if !engine.parameters.evaluationKeyConfig.hasRelinKey { needed.relinKey = nil }
        let bytes = needed.encoded()
        guard !bytes.isEmpty else { throw .invalidRequest }
        return CheckedKey(
            record: EvaluationKeyRecord(userIdentifier: user, configurationHash: hash, timestamp: timestamp, key: bytes),
            decoded: UploadedKey(decoded, for: service.decodedKeys))
    }
}
