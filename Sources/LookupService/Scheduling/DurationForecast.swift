// How long a query will take: the cost model's estimate for its shard, times how much longer than estimated the use case's
// queries took lately on this machine. The model knows differences between shards, measuring knows the machine and its load.

import Synchronization

/// Predicts how long threads are busy with queries, by use case.
final class DurationForecast: Sendable {
    /// Weight of the newest measurement.
    private static let weight = 0.125
    /// Names come from the data, but a bound costs nothing.
    private static let namesAtMost = 4096

    private struct Ratios {
        var byName: [String: Double] = [:]
        var all: Double?
    }

    private let ratios = Mutex(Ratios())

    /// Seconds that a query of a shard will take; an unknown shard takes none.
    func seconds(_ useCase: ServedUseCase, shard: Int) -> Double {
        guard useCase.estimatedSeconds.indices.contains(shard) else { return 0 }
        return useCase.estimatedSeconds[shard] * ratio(useCase.name)
    }

    /// Measured: queries that the model estimates at `estimated` seconds together took threads `measured` seconds.
    func record(_ name: String, estimated: Double, measured: Double) {
        guard estimated > 0, measured > 0, measured.isFinite else { return }
        let newest = min(measured / estimated, 1e6)
        ratios.withLock { ratios in
            ratios.all = Self.mean(ratios.all, newest)
            if ratios.byName[name] != nil || ratios.byName.count < Self.namesAtMost {
                ratios.byName[name] = Self.mean(ratios.byName[name], newest)
            }
        }
    }

    private func ratio(_ name: String) -> Double { ratios.withLock { $0.byName[name] ?? $0.all ?? 1 } }

    private static func mean(_ old: Double?, _ new: Double) -> Double {
        guard let old else { return new }
        return old + weight * (new - old)
    }
}
