// The gateway's keys on disk: the first one, rotation by schedule or by hand, destruction (service.md 3.2). Used by the running server
// and by `veilring keys`, under one lock.

import Cryptography
import FoundationEssentials
import ObliviousHTTP
import StateStore

/// The gateway's keys in their folder, beside the issuer's.
public struct GatewayKeyFolder: Sendable {
    /// A key as `veilring keys list` shows it.
    public struct Listing: Sendable, Equatable {
        /// The id of the wire, 0 to 255.
        public var id: UInt8
        /// Where it is in its life.
        public var phase: GatewayKeyPhase
        /// Its times.
        public var times: GatewayKeyTimes
    }

    let folder: KeyFolder
    let rules: GatewayRotationRules
    let isScheduled: Bool

    /// A folder, which need not exist yet.
    public init(path: String, rules: GatewayRotationRules, isScheduled: Bool) {
        folder = KeyFolder(path: path)
        self.rules = rules
        self.isScheduled = isScheduled
    }

    /// All keys with their phases.
    public func list(at now: Int64) throws(IssuerKeyError) -> [Listing] {
        let schedule = schedule(of: try stored())
        return schedule.keys.sorted { ($0.times.created, $0.id) < ($1.times.created, $1.id) }.compactMap { key in
            schedule.phase(of: key.id, at: now).map { Listing(id: key.id, phase: $0, times: key.times) }
        }
    }

    /// What a gateway would publish now, the key to use first in front.
    ///
    /// - Throws: `IssuerKeyError` for a key that cannot be used.
    public func published(aeads: [HPKEAEAD], at now: Int64) throws(IssuerKeyError) -> [KeyConfiguration] {
        let records = try stored()
        var keys: [KeyConfiguration] = []
        for id in schedule(of: records).listed(at: now) {
            guard let record = records.first(where: { $0.gatewayID == id }) else { continue }
            keys.append(try record.gatewayKey(aeads: aeads).configuration)
        }
        return keys
    }

    /// Makes the first key, and the next one where its time has come; destroys what is expired.
    func maintain(at now: Int64) throws(IssuerKeyError) {
        try folder.lockedForKeys { () throws(IssuerKeyError) in
            let schedule = schedule(of: try stored())
            let due = schedule.nextRotation(now: now)
            let isMissing = schedule.currentKey(at: now) == nil
            if isMissing || isScheduled && due.createAt <= now {
                _ = try rotate(schedule, switchingAt: isMissing ? nil : due.switchTime, at: now)
            }
            let expired = Set(self.schedule(of: try stored()).expired(at: now))
            for record in try stored() where expired.contains(record.gatewayID) && now >= record.verifyUntil ?? .max {
                try folder.removeKey(record.name)
            }
        }
    }

    /// Makes the next key now.
    ///
    /// - Returns: its id, and when phones are told to use it.
    public func rotate(at now: Int64) throws(IssuerKeyError) -> (id: UInt8, begins: Int64) {
        try folder.lockedForKeys { () throws(IssuerKeyError) -> (id: UInt8, begins: Int64) in
            try rotate(schedule(of: try stored()), switchingAt: nil, at: now)
        }
    }

    private func rotate(
        _ schedule: GatewayKeySchedule, switchingAt time: Int64?, at now: Int64
    ) throws(IssuerKeyError) -> (id: UInt8, begins: Int64) {
        var generator = SystemRandomNumberGenerator()
        guard let id = schedule.newID(at: now, using: &generator) else {
            throw .cannotMake(reason: "there are \(GatewayKeySchedule.liveLimit) live gateway keys")
        }
        let plan = schedule.rotation(switchingAt: time, now: now)
        let record: StoredKey
        do throws(CryptographyError) {
            record = try StoredKey(X25519PrivateKey.generate(), id: id, times: plan.newKey)
        } catch {
            throw .cannotMake(reason: "\(error)")
        }
        try folder.saveKey(record)
        for old in try stored() {
            guard let times = plan.changed[old.gatewayID], old.name != record.name else { continue }
            try folder.saveKey(old.with(times))
        }
        return (id, plan.switchTime)
    }

    /// The records of gateway keys.
    func stored() throws(IssuerKeyError) -> [StoredKey] { try folder.loadKeys().filter { $0.kind == .gateway } }

    func schedule(of stored: [StoredKey]) -> GatewayKeySchedule {
        GatewayKeySchedule(
            keys: stored.map { ScheduledGatewayKey(id: $0.gatewayID, times: GatewayKeyTimes($0)) }, rules: rules)
    }
}

extension StoredKey {
    /// A gateway key. Its name is the id of the wire and a hash of its public key; the private key is 32 bytes in base64.
    fileprivate init(_ key: X25519PrivateKey, id: UInt8, times: GatewayKeyTimes) throws(CryptographyError) {
        let hash = SHA256.hash(key.publicKey).prefix(15)
        let name = ([id] + hash).hexadecimal
        let secret = Data(try key.rawBytes().exposed).base64EncodedString()
        self.init(kind: .gateway, name: name, created: times.created, privateKey: secret)
        self = with(times)
    }

    /// The id of the wire.
    var gatewayID: UInt8 { UInt8(name.prefix(2), radix: 16) ?? 0 }

    /// The private key of the record.
    func gatewayKey(aeads: [HPKEAEAD]) throws(IssuerKeyError) -> GatewayKey {
        do {
            guard let bytes = Data(base64Encoded: privateKey) else { throw KeyConfigurationError.badPublicKey(length: 0) }
            return try GatewayKey(
                id: gatewayID, privateKey: X25519PrivateKey(rawBytes: SecretBytes(copying: [UInt8](bytes))), aeads: aeads)
        } catch {
            throw .unreadable(name: String(name.prefix(8)), reason: "the private key is not 32 bytes in base64")
        }
    }

    func with(_ times: GatewayKeyTimes) -> StoredKey {
        var record = self
        record.created = times.created
        record.notBefore = times.listedFrom
        record.issueUntil = times.succeededAt
        record.leavesDirectory = times.leavesListAt
        record.verifyUntil = times.opensUntil
        return record
    }
}

extension GatewayKeyTimes {
    /// The times of a record.
    init(_ record: StoredKey) {
        self.init(
            created: record.created, listedFrom: record.notBefore, succeededAt: record.issueUntil,
            leavesListAt: record.leavesDirectory, opensUntil: record.verifyUntil)
    }
}
