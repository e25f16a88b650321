// A piece of work in the waiting line: how urgent, for whom, how long, until when; and why it may be refused (service.md 7).

import HTTPCore
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

/// Whom work is done for, as far as fairness in the line needs it. Lives in memory only, as a number.
///
/// On a direct connection it is the address (IPv6: the /64), which a client cannot choose freely. Behind a gateway, and behind a
/// proxy whose address is exempt from limits per address, one address stands for everybody; there it is the user identifier,
/// hashed with the process's seed. A client could invent identifiers, so there fairness protects from greed, not from
/// malice; what bounds malice behind a gateway are tokens and the bounds on the whole line (service.md 8.4).
struct WorkClient: Sendable, Hashable {
    private let isUser: Bool
    private let number: UInt64

    private init(isUser: Bool, number: UInt64) {
        self.isUser = isUser
        self.number = number
    }

    /// Work of the process itself.
    static let none = WorkClient(isUser: false, number: 0)

    /// The client of a request.
    init(source: HTTPSource, user: String, shared: [AddressPrefix]) {
        if case .direct(let address) = source, !address.isLoopback, !shared.contains(where: { $0.contains(address) }) {
            self.init(isUser: false, number: address.countingKey)
        } else {
            // The standard hasher has a new seed in each process.
            var hasher = Hasher()
            hasher.combine(user)
            self.init(isUser: true, number: UInt64(bitPattern: Int64(hasher.finalize())))
        }
    }
}

/// Why work was not done.
struct WorkRefusal: Sendable, Equatable {
    /// The reason, for metrics.
    enum Reason: String, Sendable, CaseIterable {
        /// So much waits already.
        case lineFull
        /// This client has its share of the line while others wait.
        case clientShare
        /// The line before it would take too long.
        case predictedWait
        /// It could not be done before its deadline.
        case predictedDeadline
        /// It made room for more urgent work, or for a client that had less.
        case displaced
        /// It waited too long.
        case age
    }

    /// The reason.
    var reason: Reason
    /// Seconds after which the line will probably be done, at least 1.
    var retryAfter: Int
}

/// A piece of work. Exactly one of `run` and `refuse` is called, once, unless `WorkPool.submit` gives a refusal itself.
final class WorkItem: Sendable {
    let rank: WorkRank
    let client: WorkClient
    /// How long a thread will be busy with it, in seconds; 0: not worth counting.
    let seconds: Double
    /// When nobody is interested in the result any more.
    let deadline: ContinuousClock.Instant?
    let run: @Sendable () -> Void
    /// Called when the work will not be done: it waited too long, or had to make room.
    let refuse: @Sendable (WorkRefusal) -> Void
    private let isTaken = Atomic<Bool>(false)

    init(
        rank: WorkRank, client: WorkClient = .none, seconds: Double = 0, deadline: ContinuousClock.Instant? = nil,
        run: @escaping @Sendable () -> Void, refuse: @escaping @Sendable (WorkRefusal) -> Void
    ) {
        self.rank = rank
        self.client = client
        self.seconds = seconds.isFinite ? max(0, seconds) : 0
        self.deadline = deadline
        self.run = run
        self.refuse = refuse
    }

    /// True for the one caller that may go on with it.
    func take() -> Bool { isTaken.compareExchange(expected: false, desired: true, ordering: .acquiringAndReleasing).exchanged }

    var isUntaken: Bool { !isTaken.load(ordering: .acquiring) }
}
