// A directory ready for queries: manifest, parameters, engines and mapped shards of the current version and of the older ones
// that are still answered (issue 2, items 5 and 6). `build` runs the very same load before it publishes.

import Cryptography
import Dispatch
import KeywordPIR
import Synchronization

/// A use case of one version.
public struct LoadedUseCase: Sendable {
    /// The name that devices ask for.
    public let name: String
    /// What its rows are.
    public let kind: UseCaseKind
    /// Client-visible parameters with their identifiers.
    public let parameters: UseCaseParameters
    /// Answers its queries; shared by use cases with equal parameters.
    public let engine: PIREngine
    /// Its shards, in order.
    public let shards: [MappedShard]
    /// Rows in all shards.
    public let rowCount: Int
    /// Least noise budget that the build measured, in bits.
    public let leastNoiseBudget: Double?
}

/// One version of a directory.
public struct LoadedVersion: Sendable {
    /// Its name.
    public let name: String
    /// Seconds since 1970 when it was built.
    public let created: Int64
    /// Its use cases, in the order of the configuration.
    public let useCases: [LoadedUseCase]
}

/// A shard whose payload is not what was written.
public struct BadShard: Sendable, Equatable {
    /// Version that it belongs to.
    public let version: String
    /// Its use case.
    public let useCase: String
    /// Its index.
    public let shard: Int
    /// The bad blocks of 1 MiB, or none if the file could not be opened again.
    public let blocks: [Int]
}

/// Everything that a server answers from.
public struct LoadedDatabase: Sendable {
    /// Which version to load.
    public enum Version: Sendable, Equatable {
        /// The one that was published last.
        case current
        /// The one of this name.
        case named(String)
    }

    /// The version that new configurations are made from.
    public let current: LoadedVersion
    /// Older versions, newest first, of which some use case has a configuration that no newer version has.
    public let retained: [LoadedVersion]
    /// Older versions that could not be loaded, and why. The current one loads or the load fails.
    public let problems: [String]

    /// Loads a version: manifest hash, parameters, and header, index and size of every shard are checked; payloads are not
    /// read (`verifyPayloads` does it later).
    ///
    /// - `data`: the data folder.
    /// - `reusing`: an earlier load whose engines are used again for equal parameters.
    ///
    /// Throws `DirectoryError`: `.noVersion` if nothing has been built, `.manifest` or `.shardFile` for what is damaged.
    public static func load(
        data: String, version: Version = .current, reusing earlier: LoadedDatabase? = nil
    ) throws -> LoadedDatabase {
        let versions = DirectoryVersions(data: data)
        let name: String
        switch version {
        case .named(let given): name = given
        case .current:
            guard let found = try versions.current() else {
                throw DirectoryError(.noVersion, "\(data): nothing has been built yet; run `veilring build` first")
            }
            name = found
        }
        guard let number = BuildManifest.number(ofVersion: name), DiskFolder.exists(versions.folder(of: name)) else {
            throw DirectoryError(.noVersion, "\(data): there is no version \(name)")
        }
        var engines = EngineCache(earlier)
        let current = try LoadedVersion.load(folder: versions.folder(of: name), name: name, engines: &engines)
        var seen = Set(current.useCases.map(\.identity))
        var retained: [LoadedVersion] = []
        var problems: [String] = []
        for old in versions.names.reversed() where (BuildManifest.number(ofVersion: old) ?? 0) < number {
            do {
                // Most builds keep their configuration: the manifest alone says so.
                let manifest = try BuildManifest.read(folder: versions.folder(of: old), name: old)
                guard manifest.useCases.contains(where: { !seen.contains($0.name + " " + $0.configurationID) }) else {
                    continue
                }
                let loaded = try LoadedVersion.load(folder: versions.folder(of: old), name: old, engines: &engines)
                seen.formUnion(loaded.useCases.map(\.identity))
                retained.append(loaded)
            } catch {
                problems.append("version \(old) is not answered: \(DirectoryError(.manifest, "", error))")
            }
        }
        return LoadedDatabase(current: current, retained: retained, problems: problems)
    }

    /// The use case of this name in the current version.
    public func useCase(named name: String) -> LoadedUseCase? { current.useCases.first { $0.name == name } }

    /// The newest use case of this name with this configuration id; nil if it is not answered (any more).
    public func useCase(named name: String, configurationID: some Collection<UInt8>) -> LoadedUseCase? {
        for version in [current] + retained {
            if let found = version.useCases.first(where: {
                $0.name == name && $0.parameters.configurationID.elementsEqual(configurationID)
            }) {
                return found
            }
        }
        return nil
    }

    /// Checks the payloads of all versions, the current one first. Takes long: for the background.
    ///
    /// - `shouldStop`: asked often; true ends the check early.
    /// - `onBad`: called for each bad shard as soon as it is found.
    public func verifyPayloads(shouldStop: @Sendable () -> Bool = { false }, onBad: (BadShard) -> Void) {
        for version in [current] + retained {
            for useCase in version.useCases {
                for (index, shard) in useCase.shards.enumerated() {
                    if shouldStop() { return }
                    let blocks = try? shard.verifyPayload(shouldStop: shouldStop)
                    guard blocks?.isEmpty != true else { continue }
                    // A version that a build retired meanwhile has lost its name, not its mapping: it goes on answering.
                    if blocks == nil, !DiskFolder.exists(shard.path) { continue }
                    onBad(BadShard(version: version.name, useCase: useCase.name, shard: index, blocks: blocks ?? []))
                }
            }
        }
    }
}

extension LoadedUseCase {
    fileprivate var identity: String { name + " " + parameters.configurationID.hexadecimal }
}

/// Engines by parameters: making one takes longer than anything else in a load.
struct EngineCache {
    private var engines: [PIREngine] = []

    init(_ earlier: LoadedDatabase? = nil) {
        guard let earlier else { return }
        for version in [earlier.current] + earlier.retained {
            for useCase in version.useCases { keep(useCase.engine) }
        }
    }

    private mutating func keep(_ engine: PIREngine) {
        if !engines.contains(where: { $0 === engine }) { engines.append(engine) }
    }

    mutating func engine(for parameters: UseCaseParameters) throws -> PIREngine {
        if let known = engines.first(where: {
            $0.parameters.configurationID == parameters.configurationID && $0.parameters == parameters
        }) {
            return known
        }
        let made = try PIREngine(parameters: parameters)
        engines.append(made)
        return made
    }
}

extension LoadedVersion {
    /// Loads the version in a folder; `name` nil while it has none.
    static func load(folder: String, name: String?, engines: inout EngineCache) throws -> LoadedVersion {
        let manifest = try BuildManifest.read(folder: folder, name: name)
        let useCases = try manifest.useCases.map { record in
            do {
                return try LoadedUseCase.load(record, folder: folder, engines: &engines)
            } catch {
                throw DirectoryError(.manifest, "use case \(record.name)", error)
            }
        }
        return LoadedVersion(name: name ?? "", created: manifest.created, useCases: useCases)
    }
}

extension LoadedUseCase {
    static func load(
        _ record: BuildManifest.UseCaseRecord, folder: String, engines: inout EngineCache
    ) throws -> LoadedUseCase {
        guard let kind = UseCaseKind(rawValue: record.kind) else { throw DirectoryError(.manifest, "unknown kind") }
        let parameters = try record.parameters()
        let shards = try open(record, parameters, folder: folder)
        return LoadedUseCase(
            name: record.name, kind: kind, parameters: parameters, engine: try engines.engine(for: parameters),
            shards: shards, rowCount: record.rows, leastNoiseBudget: record.leastNoiseBudget)
    }

    /// Opens all shards, some at once where there are many.
    private static func open(
        _ record: BuildManifest.UseCaseRecord, _ parameters: UseCaseParameters, folder: String
    ) throws -> [MappedShard] {
        @Sendable func one(_ index: Int) throws -> MappedShard {
            let shard = record.shards[index]
            guard let digest = shard.digest.hexBytes else { throw DirectoryError(.manifest, "shard \(index) has no digest") }
            let expectation = ShardExpectation(
                set: parameters.set, parameters: parameters.shards[index], rows: shard.rows, bytes: shard.bytes, digest: digest)
            return try MappedShard.open(
                path: BuildManifest.shardPath(folder: folder, useCase: record.name, shard: index), expecting: expectation)
        }
        return try ParallelWork.map(record.shards.count, threads: 4, one)
    }
}

/// Work on many items by a few threads.
enum ParallelWork {
    /// Results in order, or the error of the item with the lowest index that failed; the rest is not begun after an error.
    static func map<Result: Sendable>(
        _ count: Int, threads: Int, _ body: @Sendable (Int) throws -> Result
    ) throws -> [Result] {
        if threads <= 1 || count <= 1 { return try (0..<count).map(body) }
        let next = Mutex(0)
        let results = Mutex([Result?](repeating: nil, count: count))
        let failure = Mutex<(index: Int, error: any Error)?>(nil)
        DispatchQueue.concurrentPerform(iterations: min(threads, count)) { _ in
            while true {
                let index = next.withLock { value in
                    defer { value += 1 }
                    return value
                }
                guard index < count, failure.withLock({ $0 == nil }) else { return }
                do {
                    let result = try body(index)
                    results.withLock { $0[index] = result }
                } catch {
                    failure.withLock { known in
                        if (known?.index ?? .max) > index { known = (index, error) }
                    }
                }
            }
        }
        if let failed = failure.withLock({ $0 }) { throw failed.error }
        return results.withLock { $0.compactMap { $0 } }
    }
}
