// The line before the computing threads (service.md 7, 8.4): bounds by count and by predicted time, ranks, and within a rank
// one client after the other. A value without clock and threads; WorkPool keeps it under its lock.

/// Bounds and order of a waiting line.
struct LineRules: Sendable {
    /// Queries (block and other) that may wait.
    var queries: Int
    /// Other work that may wait.
    var upkeep: Int
    /// Predicted seconds of waiting beyond which a query is refused.
    var predictedWait = Double.infinity
    /// Part of `queries` that one client may hold while others wait.
    var clientShare = 1.0
    /// Block queries in a row after which another query gets its turn; after four times as many queries, upkeep gets one.
    var blocksInARow = 8

    /// Queries that one client may hold while others wait.
    var queriesPerClient: Int { max(1, Int(Double(queries) * clientShare)) }
}

/// Work of one rank: clients take turns, each with its own work in the order in which it came.
private struct Lane: Sendable {
    private var turns: [WorkClient] = []
    private var waiting: [WorkClient: [WorkItem]] = [:]
    private(set) var count = 0

    func count(of client: WorkClient) -> Int { waiting[client]?.count ?? 0 }

    var countByClient: [WorkClient: Int] { waiting.mapValues(\.count) }

    var seconds: Double { waiting.values.reduce(0) { $0 + $1.reduce(0) { $0 + $1.seconds } } }

    /// Seconds of work that will be done before the next item of the client: its own, and of each other client as many items as
    /// it has itself, and one more.
    func seconds(before client: WorkClient) -> Double {
        let rounds = count(of: client) + 1
        return waiting.reduce(0) { sum, entry in
            let items = entry.key == client ? entry.value[...] : entry.value.prefix(rounds)
            return sum + items.reduce(0) { $0 + $1.seconds }
        }
    }

    mutating func append(_ item: WorkItem) {
        if waiting[item.client] == nil { turns.append(item.client) }
        waiting[item.client, default: []].append(item)
        count += 1
    }

    /// The next item of the client whose turn it is, untaken or not.
    mutating func popFirst() -> WorkItem? {
        guard let client = turns.first, var items = waiting[client], !items.isEmpty else { return nil }
        turns.removeFirst()
        let item = items.removeFirst()
        count -= 1
        if items.isEmpty {
            waiting[client] = nil
        } else {
            waiting[client] = items
            turns.append(client)
        }
        return item
    }

    /// The newest item of a client; nil client: of the one that waits for most.
    mutating func popLast(of wanted: WorkClient? = nil) -> WorkItem? {
        let most = turns.max { count(of: $0) < count(of: $1) }
        guard let client = wanted ?? most, var items = waiting[client], let item = items.popLast() else { return nil }
        count -= 1
        waiting[client] = items.isEmpty ? nil : items
        if items.isEmpty { turns.removeAll { $0 == client } }
        return item
    }

    /// Forgets what was refused while it waited.
    mutating func sweep() {
        for (client, items) in waiting where !items.allSatisfy(\.isUntaken) {
            let left = items.filter(\.isUntaken)
            waiting[client] = left.isEmpty ? nil : left
            count -= items.count - left.count
            if left.isEmpty { turns.removeAll { $0 == client } }
        }
    }
}

/// What waits, and who comes next.
struct WaitingLine: Sendable {
    /// What became of an item that came.
    enum Placement: Sendable {
        /// It waits; another one may have made room for it.
        case waits(displaced: WorkItem?)
        /// It does not wait.
        case refused(WorkRefusal.Reason)
    }

    private let rules: LineRules
    private let threads: Double
    private var lanes = Array(repeating: Lane(), count: WorkRank.allCases.count)
    private var blocksInARow = 0
    private var queriesInARow = 0

    init(rules: LineRules, threads: Int) {
        self.rules = rules
        self.threads = Double(max(1, threads))
    }

    private subscript(rank: WorkRank) -> Lane {
        get { lanes[rank.rawValue] }
        set { lanes[rank.rawValue] = newValue }
    }

    /// How much work of a rank waits.
    func count(_ rank: WorkRank) -> Int { self[rank].count }

    /// Seconds until everything that waits is done, when threads are busy for `running` seconds more.
    func predictedSeconds(running: Double) -> Double { (running + lanes.reduce(0) { $0 + $1.seconds }) / threads }

    /// Puts an item into the line, if the rules let it.
    ///
    /// - Parameters:
    ///   - running: seconds of work that the threads have left.
    ///   - left: seconds until the item's deadline; nil: none.
    mutating func add(_ item: WorkItem, running: Double, left: Double?) -> Placement {
        for rank in lanes.indices { lanes[rank].sweep() }
        if item.rank == .upkeep {
            guard self[.upkeep].count < rules.upkeep else { return .refused(.lineFull) }
            self[.upkeep].append(item)
            return .waits(displaced: nil)
        }
        let total = self[.block].count + self[.query].count
        let own = self[.block].count(of: item.client) + self[.query].count(of: item.client)
        if own < total, own >= rules.queriesPerClient { return .refused(.clientShare) }
        let wait = predictedWait(of: item, running: running)
        if wait > rules.predictedWait { return .refused(.predictedWait) }
        if let left, wait + item.seconds > left { return .refused(.predictedDeadline) }
        var displaced: WorkItem?
        if total >= rules.queries {
            displaced = makeRoom(for: item, own: own)
            if displaced == nil { return .refused(.lineFull) }
        }
        self[item.rank].append(item)
        return .waits(displaced: displaced)
    }

    /// Seconds until a thread would begin with the item. Takes the few queries that come between block queries as nothing.
    private func predictedWait(of item: WorkItem, running: Double) -> Double {
        let urgent = item.rank == .block ? 0 : self[.block].seconds
        return (running + urgent + self[item.rank].seconds(before: item.client)) / threads
    }

    /// Takes the newest work of the client that has most, if it has at least two more than the one that comes; else a block
    /// query takes the place of another query.
    private mutating func makeRoom(for item: WorkItem, own: Int) -> WorkItem? {
        let open: [WorkRank] = item.rank == .block ? [.query, .block] : [.query]
        for rank in open {
            let richest = self[rank].countByClient.max { held($0.key) < held($1.key) }?.key
            guard let richest, richest != item.client, held(richest) > own + 1 else { continue }
            return self[rank].popLast(of: richest)
        }
        return item.rank == .block ? self[.query].popLast() : nil
    }

    private func held(_ client: WorkClient) -> Int { self[.block].count(of: client) + self[.query].count(of: client) }

    /// Takes the next piece of work out of the line.
    mutating func next() -> WorkItem? {
        while let rank = nextRank() {
            guard let item = self[rank].popFirst() else { return nil }
            if item.take() { return item }
        }
        return nil
    }

    private mutating func nextRank() -> WorkRank? {
        let (blocks, queries) = (self[.block].count > 0, self[.query].count > 0)
        if self[.upkeep].count > 0 {
            if !blocks && !queries || queriesInARow >= 4 * rules.blocksInARow {
                queriesInARow = 0
                return .upkeep
            }
            queriesInARow += 1
        }
        if blocks, !queries || blocksInARow < rules.blocksInARow {
            blocksInARow = queries ? blocksInARow + 1 : 0
            return .block
        }
        blocksInARow = 0
        return queries ? .query : nil
    }
}
