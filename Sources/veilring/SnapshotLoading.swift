// From the versions that `build` published to what the service answers from. Payloads are checked in the background after a
// load; a shard with a bad block goes out of service (503) and a log line says so.

import CallerDirectory
import Dispatch
import LookupService
import Synchronization

/// The data of one server process, over all its reloads.
final class ServedData: Sendable {
    private let loaded = Mutex<LoadedDatabase?>(nil)
    private let generation = Atomic<Int>(0)
    private let checks = DispatchQueue(label: "payload checks", qos: .background)
    private let note: @Sendable (String) -> Void

    /// - `note`: takes lines for the log.
    init(note: @escaping @Sendable (String) -> Void) { self.note = note }

    /// Loads the newest version under the data folder, beside whatever is in force.
    func load(_ configuration: VeilringConfiguration) throws -> ServiceSnapshot {
        let earlier = loaded.withLock { $0 }
        let database = try LoadedDatabase.load(data: configuration.data, reusing: earlier)
        for problem in database.problems { note(problem) }
        let broken = BrokenShards()
        let snapshot = ServiceSnapshot(
            version: database.current.name,
            current: database.current.useCases.map { Self.served($0, database.current.name, broken) },
            retained: database.retained.flatMap { version in
                version.useCases.map { Self.served($0, version.name, broken) }
            })
        loaded.withLock { $0 = database }
        verify(database, broken)
        return snapshot
    }

    private static func served(
        _ useCase: CallerDirectory.LoadedUseCase, _ version: String, _ broken: BrokenShards
    ) -> ServedUseCase {
        let kind: ServedUseCase.Kind =
            switch useCase.kind {
            case .identity: .identity
            case .block: .block
            case .keyword: .keyword
            }
        return ServedUseCase(
            name: useCase.name, kind: kind, engine: useCase.engine,
            shards: useCase.shards.enumerated().map { index, shard in
                let place = ShardPlace(version: version, useCase: useCase.name, shard: index)
                return ShardSlot { broken.contains(place) ? nil : shard.contents }
            })
    }

    /// Reads all payloads once, until a newer load takes over.
    private func verify(_ database: LoadedDatabase, _ broken: BrokenShards) {
        let mine = generation.add(1, ordering: .relaxed).newValue
        let note = note
        checks.async { [self] in
            database.verifyPayloads(shouldStop: { [self] in generation.load(ordering: .relaxed) != mine }) { bad in
                broken.insert(ShardPlace(version: bad.version, useCase: bad.useCase, shard: bad.shard))
                note(
                    "shard out of service: use case \(bad.useCase), shard \(bad.shard), version \(bad.version):"
                        + " \(max(bad.blocks.count, 1)) bad blocks; build again to mend it")
            }
        }
    }
}

/// One shard of one version.
private struct ShardPlace: Hashable, Sendable {
    let version: String
    let useCase: String
    let shard: Int
}

/// Shards whose payload failed its check.
private final class BrokenShards: Sendable {
    private let places = Mutex<Set<ShardPlace>>([])
    func insert(_ place: ShardPlace) { places.withLock { _ = $0.insert(place) } }
    func contains(_ place: ShardPlace) -> Bool { places.withLock { $0.contains(place) } }
}
