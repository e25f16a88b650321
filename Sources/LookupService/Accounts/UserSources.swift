// All sources of users of a deployment, in the order in which they are asked: the configuration, a file, the database, signatures,
// another server. The file is read again when it changes.

import CallerDirectory
import HTTPCore
import StateStore
import Synchronization

/// The sources of users.
final class UserSources: Sendable {
    private struct State: Sendable {
        var access: AccessSettings
        var stamp: FileStamp?
        /// Tiers that the file names.
        var fileTiers: [String]
        var sources: [any UserSource]
    }

    private let database: SQLiteUserStore
    private let secret: AccountSecret
    private let now: @Sendable () -> Int64
    private let state: Mutex<State>

    /// Opens the database under the state folder, and reads the file if there is one.
    init(
        access: AccessSettings, state folder: String, secret: AccountSecret, now: @escaping @Sendable () -> Int64
    ) throws {
        database = try SQLiteUserStore(path: folder + "/users.sqlite")
        self.secret = secret
        self.now = now
        state = Mutex(State(access: access, fileTiers: [], sources: []))
        try reload(access)
    }

    /// The sources in force.
    var all: [any UserSource] { state.withLock { $0.sources } }

    /// Every tier that somebody names, the default tier first.
    var tierNames: [String] {
        state.withLock { state in
            var names = state.access.tierNames
            for name in state.fileTiers where !names.contains(name) { names.append(name) }
            return names
        }
    }

    /// Puts other settings in force, or throws and leaves those that are.
    func reload(_ access: AccessSettings) throws {
        let stamp = access.sources.file.flatMap { FileStamp(path: $0) }
        let groups = try access.sources.file.map { try VeilringConfiguration.loadUsers(path: $0) } ?? []
        let fileTiers = groups.map(\.tier)
        var sources: [any UserSource] = [
            try ListedUsers(access.users, secret: secret), try ListedUsers(groups, secret: secret),
            StoredUsers(store: database, secret: secret, now: now),
        ]
        if let file = access.sources.signingSecret {
            sources.append(
                try SignedUsers(
                    key: try SecretFile.shared(file), secret: secret, tiers: Set(access.tierNames + fileTiers), now: now))
        }
        if let endpoint = access.sources.endpoint {
            sources.append(try EndpointUsers(endpoint, secret: secret, now: now))
        }
        let fresh = State(access: access, stamp: stamp, fileTiers: fileTiers, sources: sources)
        state.withLock { $0 = fresh }
    }

    /// Reads the file again if it has changed.
    ///
    /// - Returns: whether it had.
    func refresh() throws -> Bool {
        let (access, stamp) = state.withLock { ($0.access, $0.stamp) }
        guard let file = access.sources.file, FileStamp(path: file) != stamp else { return false }
        try reload(access)
        return true
    }

    func close() { database.close() }
}
