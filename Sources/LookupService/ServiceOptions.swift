// Every bound and time of the service in one place, with the defaults of service.md 7.

import Glibc
import HTTPCore

/// Bounds and times of the service. Sizes are in bytes.
public struct ServiceOptions: Sendable {
    /// Body of `/config`; 413 above.
    public var configBody = 64 * 1024
    /// Body of `/key`; 413 above.
    public var keyBody = 12 << 20
    /// Body of `/queries`, which may carry evaluation keys; 413 above.
    public var queriesBody = 12 << 20
    /// Body of `/issue`, whose requests have 259 bytes; 413 above, 422 for another size.
    public var issueBody = 1024
    /// Answer of `/queries`, which the front takes up to this size; 400 above.
    public var answerBody = 16 << 20
    /// Names in one `/config`; 400 above.
    public var useCasesPerRequest = 64
    /// Bytes of a name in `/config`; 400 above.
    public var useCaseNameBytes = 256
    /// Keys in one `/key`; 400 above.
    public var keysPerRequest = 8
    /// Requests in one `/queries`; 400 above.
    public var queriesPerRequest = 64
    /// Threads that compute.
    public var computeThreads = max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
    /// Steps by which they give way to other threads (nice).
    public var computeNiceness = 5
    /// Batches of queries that wait for a thread; nil: 4 for each thread. 503 above.
    public var waitingQueries: Int?
    /// Uploads that wait to be checked, and requests that wait for the store; 503 above.
    public var waitingClerical = 256
    /// Age in the waiting line after which a query is not computed any more; 503.
    public var waitingTime: Duration = .seconds(1)
    /// Predicted waiting time beyond which a query is refused at once; nil: `waitingTime`. 503.
    public var waitingWork: Duration?
    /// Part of the waiting line that one client may hold while others wait, 0 … 1; 503 above.
    public var clientShare = 0.5
    /// Block queries in a row after which another query gets its turn.
    public var blockQueriesInARow = 8
    /// Networks whose addresses stand for many clients (proxies): there clients are told apart by their user identifiers.
    public var sharedAddresses: [AddressPrefix] = []
    /// The names under which roles are played; nil: every role under any name.
    public var hosts: RoleHosts?
    /// From the last byte of a `/queries` request to its answer; 503.
    public var queriesTime: Duration = .seconds(5)
    /// From the last byte of a `/config` request to its answer; 503.
    public var configTime: Duration = .seconds(5)
    /// From the last byte of a request to the issuer to its answer; 503.
    public var issueTime: Duration = .seconds(5)
    /// Threads that sign blindly; nil: half of `computeThreads`, at least one.
    public var signingThreads: Int?
    /// Whether `GET /config` is answered without a token (service.md 1.11.1).
    public var servesPublicConfig = true
    /// Seconds for which its answer may be cached.
    public var publicConfigMaxAge = 300
    /// From the last byte of a `/key` request to its answer; 503.
    public var keyTime: Duration = .seconds(30)
    /// Decoded evaluation keys kept for the next query.
    public var decodedKeyBytes = 256 << 20
    /// Whether a query whose timestamp matches no stored key is refused instead of answered with the newest key
    /// (service.md 1.10.1).
    public var requiresMatchingTimestamp = false

    /// The defaults.
    public init() {}

    var lineRules: LineRules {
        LineRules(
            queries: waitingQueries ?? 4 * computeThreads, upkeep: waitingClerical,
            predictedWait: (waitingWork ?? waitingTime).seconds, clientShare: min(max(clientShare, 0), 1),
            blocksInARow: max(1, blockQueriesInARow))
    }
}
