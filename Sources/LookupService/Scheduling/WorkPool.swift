// A bounded pool of threads with a bounded waiting line (service.md 7): block queries first, everything that waits too long
// is told so at once instead of being computed too late.

import Dispatch
import Synchronization

/// How urgent work is; lower ranks first.
enum WorkRank: Int, Sendable, CaseIterable {
    /// Queries for a block list: the phone holds back its ringing.
    case block
    /// Other queries.
    case query
    /// Everything else: checking uploads.
    case upkeep
}

/// A piece of work. Exactly one of `run` and `refuse` is called, once.
final class WorkItem: Sendable {
    let rank: WorkRank
    let run: @Sendable () -> Void
    /// Called when the work will not be done: it waited too long, or had to make room.
    let refuse: @Sendable () -> Void
    private let isTaken = Atomic<Bool>(false)

    init(rank: WorkRank, run: @escaping @Sendable () -> Void, refuse: @escaping @Sendable () -> Void) {
        self.rank = rank
        self.run = run
        self.refuse = refuse
    }

    /// True for the one caller that may go on with it.
    func take() -> Bool { isTaken.compareExchange(expected: false, desired: true, ordering: .acquiringAndReleasing).exchanged }

    var isUntaken: Bool { !isTaken.load(ordering: .acquiring) }
}

/// Threads that do work, and the line before them.
final class WorkPool: Sendable {
    private struct State {
        var idle: [Int]
        var lines: [[WorkItem]] = Array(repeating: [], count: WorkRank.allCases.count)

        /// Takes the next piece of work out of the line.
        mutating func next() -> WorkItem? {
            for rank in lines.indices {
                while let item = lines[rank].first {
                    lines[rank].removeFirst()
                    if item.take() { return item }
                }
            }
            return nil
        }

        /// Forgets what was refused while it waited.
        mutating func sweep() {
            for rank in lines.indices { lines[rank].removeAll { !$0.isUntaken } }
        }

        func waiting(_ ranks: [WorkRank]) -> Int { ranks.reduce(0) { $0 + lines[$1.rawValue].count } }
    }

    private let state: Mutex<State>
    // A serial queue of its own has a thread of its own when it has work, whatever else blocks in the process.
    private let workers: [DispatchQueue]
    private let clock: DispatchQueue
    private let waitingQueries: Int
    private let waitingUpkeep: Int
    private let waitingTime: Duration

    /// A pool.
    ///
    /// - Parameters:
    ///   - waitingQueries: how many queries (block and other) may wait.
    ///   - waitingUpkeep: how much other work may wait.
    ///   - waitingTime: after which a query that waits is refused; other work waits until its own deadline.
    init(name: String, threads: Int, waitingQueries: Int, waitingUpkeep: Int, waitingTime: Duration) {
        workers = (0..<max(1, threads)).map { DispatchQueue(label: "\(name)-\($0)") }
        clock = DispatchQueue(label: "\(name)-clock")
        state = Mutex(State(idle: Array(0..<max(1, threads))))
        self.waitingQueries = waitingQueries
        self.waitingUpkeep = waitingUpkeep
        self.waitingTime = waitingTime
    }

    /// Threads without work at this moment.
    var idleThreads: Int { state.withLock { $0.idle.count } }

    /// Work in the line at this moment.
    var waitingCount: Int { state.withLock { $0.waiting(WorkRank.allCases) } }

    /// Starts the work, or puts it into the line; false, with neither `run` nor `refuse` called, when the line is full.
    func submit(_ item: WorkItem) -> Bool {
        enum Place {
            case worker(Int)
            case line(displaced: WorkItem?)
            case full
        }
        let place = state.withLock { state -> Place in
            if let worker = state.idle.popLast() { return item.take() ? .worker(worker) : .full }
            state.sweep()
            var displaced: WorkItem?
            if item.rank == .upkeep {
                if state.waiting([.upkeep]) >= waitingUpkeep { return .full }
            } else if state.waiting([.block, .query]) >= waitingQueries {
                // A block query takes the place of the query that came last.
                let others = WorkRank.query.rawValue
                guard item.rank == .block, let last = state.lines[others].popLast() else { return .full }
                displaced = last
            }
            state.lines[item.rank.rawValue].append(item)
            return .line(displaced: displaced)
        }
        switch place {
        case .worker(let worker): start(item, on: worker)
        case .line(let displaced):
            if let displaced, displaced.take() { displaced.refuse() }
            if item.rank != .upkeep { refuse(item, after: waitingTime) }
        case .full: return false
        }
        return true
    }

    /// Runs work on threads that have none and are not waited for, at most `most` of them; gives how many.
    func lend(_ most: Int, _ work: @escaping @Sendable () -> Void) -> Int {
        let borrowed = state.withLock { state -> [Int] in
            let count = min(most, state.idle.count)
            let borrowed = Array(state.idle.suffix(count))
            state.idle.removeLast(count)
            return borrowed
        }
        for worker in borrowed {
            workers[worker].async {
                work()
                self.goOn(worker)
            }
        }
        return borrowed.count
    }

    private func refuse(_ item: WorkItem, after time: Duration) {
        clock.asyncAfter(deadline: .now() + .nanoseconds(time.nanoseconds)) { [weak item] in
            guard let item, item.take() else { return }
            item.refuse()
        }
    }

    private func start(_ item: WorkItem, on worker: Int) {
        workers[worker].async {
            item.run()
            self.goOn(worker)
        }
    }

    /// Does what waits, then becomes idle.
    private func goOn(_ worker: Int) {
        while true {
            let item = state.withLock { state -> WorkItem? in
                if let item = state.next() { return item }
                state.idle.append(worker)
                return nil
            }
            guard let item else { return }
            item.run()
        }
    }
}

extension Duration {
    /// Whole nanoseconds, at most those of about 292 years.
    var nanoseconds: Int {
        let parts = components
        let (seconds, overflow) = Int(parts.seconds).multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, second) = seconds.addingReportingOverflow(Int(parts.attoseconds / 1_000_000_000))
        return overflow || second ? .max : sum
    }
}
