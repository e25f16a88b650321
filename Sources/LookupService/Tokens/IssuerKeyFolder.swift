// Changes of the issuer's keys on disk: the first key of a tier, rotation by schedule or by hand, removal (service.md 2.6). Used by
// the running server and by `veilring keys`, under one lock, so that both may act at once.

import Cryptography
import PrivacyPass
import StateStore

/// The issuer's keys in their folder.
public struct IssuerKeyFolder: Sendable {
    /// A key as `veilring keys list` shows it.
    public struct Listing: Sendable, Equatable {
        /// The id in hexadecimal.
        public var name: String
        /// For whom it signs.
        public var tier: String
        /// Where it is in its life.
        public var phase: IssuerKeyPhase
        /// Its times.
        public var times: IssuerKeyTimes
    }

    /// Folder, passphrase, and the rules of rotation.
    let folder: KeyFolder
    let passphrase: [UInt8]?
    let rules: RotationRules
    let defaultTier: String
    let isDefaultForAll: Bool
    /// Whether keys are rotated by schedule.
    let isScheduled: Bool

    /// A folder, which need not exist yet.
    public init(
        path: String, passphrase: [UInt8]?, rules: RotationRules, defaultTier: String, isDefaultForAll: Bool, isScheduled: Bool
    ) {
        folder = KeyFolder(path: path)
        self.passphrase = passphrase
        self.rules = rules
        self.defaultTier = defaultTier
        self.isDefaultForAll = isDefaultForAll
        self.isScheduled = isScheduled
    }

    /// All keys, ready for use.
    func load(known: IssuerKeyring? = nil) throws(IssuerKeyError) -> IssuerKeyring {
        let stored = try stored()
        return try IssuerKeyring(
            stored, schedule: schedule(of: stored), passphrase: passphrase, defaultTier: defaultTier, known: known)
    }

    /// Opens every private key.
    ///
    /// - Returns: how many there are.
    /// - Throws: `IssuerKeyError` for the first that cannot be used, or whose passphrase is another.
    public func openAll() throws(IssuerKeyError) -> Int { try load().all.count }

    /// All keys with their phases.
    public func list(at now: Int64) throws(IssuerKeyError) -> [Listing] {
        let keys = try stored()
        let schedule = self.schedule(of: keys)
        return schedule.keys.sorted { ($0.times.created, $0.id) < ($1.times.created, $1.id) }.compactMap { key in
            schedule.phase(of: key.id, at: now).map { Listing(name: key.id, tier: key.tier, phase: $0, times: key.times) }
        }
    }

    /// Gives tiers without a key their first one, and makes and announces the next key where its time has come; forgets expired
    /// keys.
    ///
    /// - Returns: the names of new keys.
    @discardableResult
    public func maintain(tiers: [String], at now: Int64) throws(IssuerKeyError) -> [String] {
        try locked { () throws(IssuerKeyError) -> [String] in
            var made: [String] = []
            for tier in tiers {
                let schedule = self.schedule(of: try stored())
                let isMissing = schedule.currentKey(forTier: tier, at: now).map { $0.tier != tier } ?? true
                let due = schedule.nextRotation(ofTier: tier, now: now)
                if isMissing {
                    // Signs at once, also where another key is announced: that one helps nobody before its turn.
                    made.append(try add(tier, schedule, IssuerKeyTimes(created: now), at: now))
                } else if isScheduled, due.announceAt <= now {
                    made.append(try rotate(tier, schedule, switchingAt: due.switchTime, at: now))
                }
            }
            try forgetExpired(at: now)
            return made
        }
    }

    /// Makes the next key of a tier now, to be used as soon as no phone can have an older directory.
    ///
    /// - Returns: the new key's name, and when its turn begins.
    public func rotate(tier: String, at now: Int64) throws(IssuerKeyError) -> (name: String, begins: Int64) {
        try locked { () throws(IssuerKeyError) -> (name: String, begins: Int64) in
            let schedule = self.schedule(of: try stored())
            let plan = schedule.rotation(ofTier: tier, now: now)
            return (try rotate(tier, schedule, switchingAt: nil, at: now), plan.switchTime)
        }
    }

    /// Ends a key at once: nothing is signed with it, and its tokens are worthless. `prefix`: how its id begins.
    ///
    /// - Returns: its whole name.
    public func remove(prefix: String, at now: Int64) throws(IssuerKeyError) -> String {
        try locked { () throws(IssuerKeyError) -> String in
            let found = try stored().filter { $0.kind == .issuer && $0.name.hasPrefix(prefix) }
            guard found.count == 1, let record = found.first, !prefix.isEmpty else { throw .noSuchKey(prefix) }
            try save(record.with(IssuerKeyTimes(record).removed(at: now)))
            return record.name
        }
    }

    private func rotate(
        _ tier: String, _ schedule: KeySchedule<String>, switchingAt time: Int64?, at now: Int64
    ) throws(IssuerKeyError) -> String {
        let plan = schedule.rotation(ofTier: tier, switchingAt: time, now: now)
        // The new key first: a crash in between leaves a key too many in use, not one too few.
        let name = try add(tier, schedule, plan.newKey, at: now)
        for old in try stored() {
            guard let times = plan.changed[old.name] else { continue }
            try save(old.with(times))
        }
        return name
    }

    /// Makes and stores a key with these times.
    private func add(
        _ tier: String, _ schedule: KeySchedule<String>, _ times: IssuerKeyTimes, at now: Int64
    ) throws(IssuerKeyError) -> String {
        let (key, pem) = try make(schedule, at: now)
        let record = StoredKey(
            kind: .issuer, name: key.publicKey.id.bytes.hexadecimal, tier: tier, created: now, privateKey: pem)
        try save(record.with(times))
        return record.name
    }

    /// A key whose truncated id no live key has (service.md 2.6).
    private func make(_ schedule: KeySchedule<String>, at now: Int64) throws(IssuerKeyError) -> (TokenIssuerKey, String) {
        // With 63 others the chance of a taken byte is a quarter; a hundred in a row do not happen.
        for _ in 0..<100 {
            do {
                let key = try RSAPrivateKey.generate()
                let issuer = try TokenIssuerKey(key)
                guard schedule.hasRoom(forTruncatedID: issuer.publicKey.id.truncated, at: now) else { continue }
                return (issuer, try key.pem(passphrase: passphrase))
            } catch {
                throw .cannotMake(reason: "\(error)")
            }
        }
        throw .cannotMake(reason: "there are \(KeySchedule<String>.liveLimit) live keys, or none of 100 had an id of its own")
    }

    private func forgetExpired(at now: Int64) throws(IssuerKeyError) {
        let expired = schedule(of: try stored()).expired(at: now)
        for name in expired { try folder.removeKey(name) }
    }

    /// What the times of the keys say; no private key is opened for that.
    func schedule(of stored: [StoredKey]) -> KeySchedule<String> {
        KeySchedule(
            keys: stored.filter { $0.kind == .issuer }.map { record in
                ScheduledKey(
                    id: record.name, truncatedID: UInt8(record.name.suffix(2), radix: 16) ?? 0,
                    tier: record.tier ?? defaultTier, times: IssuerKeyTimes(record))
            }, defaultTier: defaultTier, isDefaultForAll: isDefaultForAll, rules: rules)
    }

    private func stored() throws(IssuerKeyError) -> [StoredKey] { try folder.loadKeys() }

    private func save(_ record: StoredKey) throws(IssuerKeyError) { try folder.saveKey(record) }

    private func locked<Outcome>(
        _ body: () throws(IssuerKeyError) -> Outcome
    ) throws(IssuerKeyError) -> Outcome { try folder.lockedForKeys(body) }
}

extension KeyFolder {
    /// All keys; errors as those of keys.
    func loadKeys() throws(IssuerKeyError) -> [StoredKey] {
        do throws(StateStoreError) {
            return try load()
        } catch {
            throw .folder(error)
        }
    }

    func saveKey(_ record: StoredKey) throws(IssuerKeyError) {
        do throws(StateStoreError) {
            try save(record)
        } catch {
            throw .folder(error)
        }
    }

    func removeKey(_ name: String) throws(IssuerKeyError) {
        do throws(StateStoreError) {
            try remove(name: name)
        } catch {
            throw .folder(error)
        }
    }

    func stampOfKeys() throws(IssuerKeyError) -> KeyFolderStamp {
        do throws(StateStoreError) {
            return try stamp()
        } catch {
            throw .folder(error)
        }
    }

    func lockedForKeys<Outcome>(
        _ body: () throws(IssuerKeyError) -> Outcome
    ) throws(IssuerKeyError) -> Outcome {
        do {
            return try locked { try body() }
        } catch let error as IssuerKeyError {
            throw error
        } catch let error as StateStoreError {
            throw .folder(error)
        } catch {
            throw .cannotMake(reason: "the folder could not be locked")
        }
    }
}
