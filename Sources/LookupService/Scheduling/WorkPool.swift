// A bounded pool of threads with a bounded waiting line (service.md 7): what cannot be done in time is refused at once instead of
// being computed too late. Order and bounds of the line are in WaitingLine.swift.

import Dispatch
import Synchronization

/// Threads that do work, and the line before them.
final class WorkPool: Sendable {
    /// What a pool is told when it is made.
    struct Settings: Sendable {
        var name: String
        var threads: Int
        /// Steps by which the threads give way to others.
        var niceness = 0
        var rules: LineRules
        /// After which a query that waits is refused; other work waits until its own deadline.
        var waitingTime: Duration
    }

    /// How a pool does at one moment, for metrics.
    struct Figures: Sendable {
        var threads: Int
        var idleThreads: Int
        /// By rank.
        var waiting: [WorkRank: Int]
        /// Seconds until the line would be done.
        var predictedSeconds: Double
        /// How long the piece of work that runs longest has been running.
        var longestRun: Duration
        /// Since the start.
        var refusals: [WorkRefusal.Reason: Int]
    }

    private struct State {
        var idle: [Int]
        var line: WaitingLine
        /// Of each thread: since when it works, and until when by prediction.
        var runs: [(began: ContinuousClock.Instant, ends: ContinuousClock.Instant)?]
        var refusals: [WorkRefusal.Reason: Int] = [:]

        mutating func begin(_ worker: Int, seconds: Double) {
            let now = ContinuousClock.now
            runs[worker] = (now, now.advanced(by: .seconds(min(seconds, 3600))))
        }

        /// Seconds of work that the threads have left.
        var running: Double {
            let now = ContinuousClock.now
            return runs.reduce(0) { $0 + ($1.map { max(0, (now.duration(to: $0.ends)).seconds) } ?? 0) }
        }

        mutating func refusal(_ reason: WorkRefusal.Reason) -> WorkRefusal {
            refusals[reason, default: 0] += 1
            let seconds = min(line.predictedSeconds(running: running), 30)
            let base = max(1, Int(seconds.rounded(.up)))
            // Spread, so that devices refused together do not come back together.
            return WorkRefusal(reason: reason, retryAfter: base + Int.random(in: 0...max(2, base)))
        }
    }

    private let state: Mutex<State>
    // Threads of our own: those of Dispatch serve everything in turn, and a thread once made nice stays so.
    private let workers: [WorkThread]
    private let clock: DispatchQueue
    private let waitingTime: Duration

    /// A pool.
    init(_ settings: Settings) {
        let threads = max(1, settings.threads)
        workers = (0..<threads).map { WorkThread(name: "\(settings.name)-\($0)", niceness: settings.niceness) }
        clock = DispatchQueue(label: "\(settings.name)-clock")
        state = Mutex(
            State(
                idle: Array(0..<threads), line: WaitingLine(rules: settings.rules, threads: threads),
                runs: Array(repeating: nil, count: threads)))
        waitingTime = settings.waitingTime
    }

    deinit { for worker in workers { worker.end() } }

    /// Threads without work at this moment.
    var idleThreads: Int { state.withLock { $0.idle.count } }

    /// Work in the line at this moment.
    var waitingCount: Int { state.withLock { state in WorkRank.allCases.reduce(0) { $0 + state.line.count($1) } } }

    /// How the pool does.
    var figures: Figures {
        let now = ContinuousClock.now
        return state.withLock { state in
            Figures(
                threads: workers.count, idleThreads: state.idle.count,
                waiting: Dictionary(uniqueKeysWithValues: WorkRank.allCases.map { ($0, state.line.count($0)) }),
                predictedSeconds: state.line.predictedSeconds(running: state.running),
                longestRun: state.runs.compactMap { $0.map { $0.began.duration(to: now) } }.max() ?? .zero,
                refusals: state.refusals)
        }
    }

    /// Why the line would not take the work at this moment; nil: it would.
    func refusal(for item: WorkItem) -> WorkRefusal? {
        state.withLock { state in
            guard state.idle.isEmpty else { return nil }
            let left = item.deadline.map { ContinuousClock.now.duration(to: $0).seconds }
            // Tried on a copy, which shares all lanes that the trial does not touch.
            var line = state.line
            guard case .refused(let reason) = line.add(item, running: state.running, left: left) else { return nil }
            return state.refusal(reason)
        }
    }

    /// Starts the work, or puts it into the line. Gives a refusal, with neither `run` nor `refuse` called, when the line cannot
    /// take it; nil when it was taken.
    @discardableResult func submit(_ item: WorkItem) -> WorkRefusal? {
        enum Place {
            case worker(Int)
            case line(displaced: WorkItem?, WorkRefusal?)
            case refused(WorkRefusal)
        }
        let place = state.withLock { state -> Place in
            if let worker = state.idle.popLast() {
                guard item.take() else {
                    state.idle.append(worker)
                    return .line(displaced: nil, nil)
                }
                state.begin(worker, seconds: item.seconds)
                return .worker(worker)
            }
            let left = item.deadline.map { ContinuousClock.now.duration(to: $0).seconds }
            switch state.line.add(item, running: state.running, left: left) {
            case .waits(let displaced): return .line(displaced: displaced, displaced.map { _ in state.refusal(.displaced) })
            case .refused(let reason): return .refused(state.refusal(reason))
            }
        }
        switch place {
        case .worker(let worker): start(item, on: worker)
        case .line(let displaced, let refusal):
            if let displaced, let refusal, displaced.take() { displaced.refuse(refusal) }
            if item.rank != .upkeep { refuse(item, after: waitingTime) }
        case .refused(let refusal): return refusal
        }
        return nil
    }

    /// Runs work on threads that have none and are not waited for, at most `most` of them; gives how many. `seconds`: how long
    /// each of them will be busy.
    func lend(_ most: Int, seconds: Double = 0, _ work: @escaping @Sendable () -> Void) -> Int {
        let borrowed = state.withLock { state -> [Int] in
            let count = min(most, state.idle.count)
            let borrowed = Array(state.idle.suffix(count))
            state.idle.removeLast(count)
            for worker in borrowed { state.begin(worker, seconds: seconds) }
            return borrowed
        }
        for worker in borrowed {
            workers[worker].run {
                work()
                self.goOn(worker)
            }
        }
        return borrowed.count
    }

    private func refuse(_ item: WorkItem, after time: Duration) {
        clock.asyncAfter(deadline: .now() + .nanoseconds(time.nanoseconds)) { [weak self, weak item] in
            guard let self, let item, item.take() else { return }
            item.refuse(state.withLock { $0.refusal(.age) })
        }
    }

    private func start(_ item: WorkItem, on worker: Int) {
        workers[worker].run {
            item.run()
            self.goOn(worker)
        }
    }

    /// Does the work here, in the place of a thread that has none, which is not woken; false, and nothing done, if there is none.
    func runHere(_ work: () -> Void) -> Bool {
        let place = state.withLock { state -> Int? in
            guard let worker = state.idle.popLast() else { return nil }
            state.begin(worker, seconds: 0)
            return worker
        }
        guard let worker = place else { return false }
        work()
        // What came meanwhile is the thread's.
        if let item = next(for: worker) { start(item, on: worker) }
        return true
    }

    /// Does what waits, then becomes idle.
    private func goOn(_ worker: Int) {
        while let item = next(for: worker) { item.run() }
    }

    /// What a thread that has finished is to do; nil: it is idle now.
    private func next(for worker: Int) -> WorkItem? {
        state.withLock { state in
            if let item = state.line.next() {
                state.begin(worker, seconds: item.seconds)
                return item
            }
            state.runs[worker] = nil
            state.idle.append(worker)
            return nil
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

    /// Seconds with their fraction.
    var seconds: Double { Double(components.seconds) + Double(components.attoseconds) * 1e-18 }
}
