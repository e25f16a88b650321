// Process-wide amounts: connections by address, and bytes of buffered request bodies (service.md 7).

import HTTPCore
import Synchronization

/// Counts connections, in all and by address.
final class ConnectionCensus: Sendable {
    private struct Counts {
        var total = 0
        var byAddress: [UInt64: Int] = [:]
    }

    private let limits: HTTPLimits
    private let counts = Mutex(Counts())

    init(limits: HTTPLimits) { self.limits = limits }

    var isFull: Bool { counts.withLock { $0.total >= limits.connections } }

    /// Counts a connection in; false if its address has too many. `key` nil is not limited.
    func admit(_ key: UInt64?) -> Bool {
        counts.withLock { counts in
            if let key {
                let present = counts.byAddress[key, default: 0]
                if present >= limits.connectionsPerAddress { return false }
                counts.byAddress[key] = present + 1
            }
            counts.total += 1
            return true
        }
    }

    func leave(_ key: UInt64?) {
        counts.withLock { counts in
            counts.total -= 1
            guard let key, let present = counts.byAddress[key] else { return }
            counts.byAddress[key] = present > 1 ? present - 1 : nil
        }
    }
}

/// The budget of buffered request bodies. A lease grows with what has arrived: were it as large as the length that a peer
/// announces, a few dozen peers that send nothing could keep everybody else out. It gives its bytes back when the last holder
/// lets it go: the connection while the body arrives, then the reply, so that bodies in use by handlers of vanished peers
/// still count.
final class BodyBudget: Sendable {
    private let left: Mutex<Int>
    private let bytes: Int

    init(bytes: Int) {
        self.bytes = bytes
        left = Mutex(bytes)
    }

    /// Bytes in use.
    var held: Int { bytes - left.withLock { $0 } }

    final class Lease: Sendable {
        private let held: Mutex<Int>
        private let budget: BodyBudget

        fileprivate init(bytes: Int, budget: BodyBudget) {
            held = Mutex(bytes)
            self.budget = budget
        }

        /// Makes the lease one of at least `bytes`; false, with nothing changed, if so much is not left.
        func grow(to bytes: Int) -> Bool {
            held.withLock { held in
                guard bytes > held else { return true }
                guard budget.take(bytes - held) else { return false }
                held = bytes
                return true
            }
        }

        deinit {
            let bytes = held.withLock { $0 }
            budget.left.withLock { $0 += bytes }
        }
    }

    func reserve(_ bytes: Int) -> Lease? { take(bytes) ? Lease(bytes: bytes, budget: self) : nil }

    private func take(_ bytes: Int) -> Bool {
        left.withLock { left in
            guard bytes >= 0, bytes <= left else { return false }
            left -= bytes
            return true
        }
    }
}
