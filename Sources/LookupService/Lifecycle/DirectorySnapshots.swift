// From the versions in a data folder to snapshots: loads, reuses engines, and reads the payloads in the background; a shard
// with a bad block is taken out of service (issue 2, items 5 and 6).

import CallerDirectory
import Dispatch
import Synchronization

/// Makes snapshots of a data folder, one after the other.
public final class DirectorySnapshots: Sendable {
    /// Whether a shard's payload is what was written.
    private final class Health: Sendable {
        let isBad = Atomic<Bool>(false)
    }

    /// A shard by what a finding about it says.
    private struct ShardName: Hashable, Sendable {
        var version: String
        var useCase: String
        var shard: Int
    }

    private let log: any LogWriter
    private let earlier = Mutex<LoadedDatabase?>(nil)
    private let generation = Atomic<Int>(0)
    private let checking = DispatchQueue(label: "payloads", qos: .utility)

    /// A maker of snapshots. `log` takes a line for each shard that goes out of service, and for each version that cannot
    /// be loaded.
    public init(log: any LogWriter) { self.log = log }

    /// Loads the current version and the retained ones, and begins to check their payloads.
    ///
    /// - Parameter expected: names of use cases that the configuration has; `/readyz` names those that the version lacks.
    /// - Throws: `DirectoryError`; what was loaded before stays as it was.
    public func load(data: String, expected: [String] = []) throws -> ServiceSnapshot {
        let database = try LoadedDatabase.load(data: data, reusing: earlier.withLock { $0 })
        earlier.withLock { $0 = database }
        for problem in database.problems { log.note(.versionUnusable(reason: problem)) }
        var health: [ShardName: Health] = [:]
        let current = served(database.current, &health)
        let retained = database.retained.flatMap { served($0, &health) }
        check(database, health)
        let missing = expected.filter { name in !current.contains { $0.name == name } }
        return ServiceSnapshot(
            version: database.current.name, current: current, retained: retained, created: Int(database.current.created),
            missing: missing)
    }

    private func served(_ version: LoadedVersion, _ health: inout [ShardName: Health]) -> [ServedUseCase] {
        version.useCases.map { useCase in
            var slots: [ShardSlot] = []
            for (index, shard) in useCase.shards.enumerated() {
                let state = Health()
                health[ShardName(version: version.name, useCase: useCase.name, shard: index)] = state
                slots.append(ShardSlot { state.isBad.load(ordering: .relaxed) ? nil : shard.contents })
            }
            let kind: ServedUseCase.Kind =
                switch useCase.kind {
                case .identity: .identity
                case .block: .block
                case .keyword: .keyword
                }
            return ServedUseCase(name: useCase.name, kind: kind, engine: useCase.engine, shards: slots)
        }
    }

    /// Reads all payloads once; a later load ends the check of this one.
    private func check(_ database: LoadedDatabase, _ health: [ShardName: Health]) {
        let own = generation.add(1, ordering: .acquiringAndReleasing).newValue
        checking.async { [weak self] in
            guard let self else { return }
            // Each block lives as long as this run, which the next load ends.
            database.verifyPayloads { [weak self] in
                self?.generation.load(ordering: .acquiring) != own
            } onBad: { bad in
                health[ShardName(version: bad.version, useCase: bad.useCase, shard: bad.shard)]?.isBad
                    .store(true, ordering: .relaxed)
                let place = bad.blocks.isEmpty ? "cannot be read" : "has bad blocks: \(Self.list(bad.blocks))"
                self.log.note(
                    .shardOutOfService(shard: bad.shard, useCase: bad.useCase, version: bad.version, place: place))
            }
        }
    }

    private static func list(_ blocks: [Int]) -> String {
        blocks.prefix(8).map(String.init).joined(separator: " ") + (blocks.count > 8 ? " and \(blocks.count - 8) more" : "")
    }
}
