// Where the time of an answer goes: filled while the engine answers, if somebody asks. Nothing is measured otherwise.

import Synchronization

/// Time that the phases of answers took, summed over all threads and answers that it was handed to.
public final class PhaseTimes: Sendable {
    /// Phases of an answer (spec keyword-pir.md 7).
    public enum Phase: Int, Sendable, CaseIterable {
        /// From the query's ciphertexts to one selection for each row and column.
        case expand
        /// Selections of the rows against the plaintexts of the shard.
        case firstDimension
        /// What the first dimension left against the selections of the columns, and the switch to one modulus.
        case secondDimension
    }

    private let nanoseconds = Mutex([Int64](repeating: 0, count: Phase.allCases.count))

    /// Nothing measured yet.
    public init() {}

    /// Nanoseconds of a phase since they were last taken; counting starts over.
    public func take(_ phase: Phase) -> Int64 {
        nanoseconds.withLock { list in
            defer { list[phase.rawValue] = 0 }
            return list[phase.rawValue]
        }
    }

    fileprivate func add(_ time: Duration, to phase: Phase) {
        let (seconds, attoseconds) = time.components
        nanoseconds.withLock { $0[phase.rawValue] += seconds * 1_000_000_000 + attoseconds / 1_000_000_000 }
    }
}

extension Optional<PhaseTimes> {
    /// Does the work; looks at the clock only where there is somebody to tell.
    @inline(__always)
    func measure<Result>(_ phase: PhaseTimes.Phase, _ work: () throws -> Result) rethrows -> Result {
        guard let self else { return try work() }
        let start = ContinuousClock.now
        defer { self.add(ContinuousClock.now - start, to: phase) }
        return try work()
    }
}
