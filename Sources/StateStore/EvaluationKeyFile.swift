// The database file of the evaluation keys: its permissions, its pragmas, its schema and version. Formats are versioned
// (service.md 9); the file is private to its owner (service.md 8.5).

import Glibc

/// Prepares the file and opens connections to it.
struct EvaluationKeyFile {
    /// "VEKS": tells our files from other SQLite databases.
    static let applicationIdentifier: Int64 = 0x5645_4B53
    /// The schema that this program writes.
    static let schemaVersion: Int64 = 1

    /// Two tables, so that a change of the time of last use does not rewrite a key of a megabyte. `AUTOINCREMENT` because a row id
    /// that waits in memory for its time of last use must never name a later row. `timestamp` is the bit pattern of a UInt64.
    private static let schema = [
        """
        CREATE TABLE evaluation_key (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            user_identifier TEXT NOT NULL,
            configuration_hash BLOB NOT NULL,
            timestamp INTEGER NOT NULL,
            bytes INTEGER NOT NULL,
            last_used INTEGER NOT NULL,
            use_order INTEGER NOT NULL,
            UNIQUE (user_identifier, configuration_hash, timestamp)
        ) STRICT
        """,
        "CREATE INDEX evaluation_key_by_use ON evaluation_key (use_order, id, bytes)",
        "CREATE INDEX evaluation_key_by_age ON evaluation_key (last_used)",
        "CREATE TABLE evaluation_key_content (id INTEGER PRIMARY KEY, content BLOB NOT NULL) STRICT",
    ]

    /// Where the file is.
    let path: String
    /// How long a call waits for another process.
    let busyMilliseconds: Int32

    /// Makes the folder (0700) and the file (0600) where absent; refuses a folder that other users can enter, and narrows the
    /// file's mode where it is wider. SQLite gives its log and index files the mode of the database.
    func preparePermissions() throws(StateStoreError) {
        let folder = Self.folder(of: path)
        if mkdir(folder, 0o700) == 0 {
            Self.synchronise(folder: Self.folder(of: folder))
        } else if errno != EEXIST {
            throw .cannotOpen(path: path, reason: "its folder cannot be made: \(String(cString: strerror(errno)))")
        }
        var status = stat()
        guard stat(folder, &status) == 0 else {
            throw .cannotOpen(path: path, reason: "its folder cannot be read: \(String(cString: strerror(errno)))")
        }
        guard status.st_mode & S_IFMT == S_IFDIR else { throw .cannotOpen(path: path, reason: "its folder is not a folder") }
        guard status.st_mode & 0o077 == 0 else { throw .openToOthers(path: folder, mode: status.st_mode & 0o7777) }

        // An existing file is not opened here: closing it would drop the locks of this process's other connections to it.
        if lstat(path, &status) == 0 {
            guard status.st_mode & S_IFMT == S_IFREG else { throw .cannotOpen(path: path, reason: "it is not a regular file") }
            if status.st_mode & 0o177 != 0, chmod(path, 0o600) != 0 {
                throw .openToOthers(path: path, mode: status.st_mode & 0o7777)
            }
            return
        }
        let descriptor = Glibc.open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            if errno == EROFS || errno == EACCES { throw .readOnly(path: path) }
            if errno == ENOSPC { throw .diskFull(path: path) }
            // Another process may have made it in between.
            if errno == EEXIST { return }
            throw .cannotOpen(path: path, reason: String(cString: strerror(errno)))
        }
        Glibc.close(descriptor)
        Self.synchronise(folder: folder)
    }

    /// The connection that writes: log ahead, every commit waits for the disk.
    func openWriter() throws(StateStoreError) -> SQLiteConnection {
        let connection = try open()
        // Before anything is changed: is it ours, and not newer than we are?
        let isNew = try check(connection)
        try connection.run("PRAGMA journal_mode = WAL") { (row) throws(StateStoreError) in
            // SQLite does not fail where shared memory is missing (network file systems), it keeps the old mode.
            guard try row.text(0) == "wal" else {
                throw .cannotOpen(path: path, reason: "its file system does not support SQLite's write-ahead log")
            }
        }
        try connection.run("PRAGMA synchronous = FULL")
        try connection.run("PRAGMA journal_size_limit = 67108864")
        if isNew {
            try connection.transaction { () throws(StateStoreError) in
                // Another process may have been first; the check is repeated under the write lock.
                guard try check(connection) else { return }
                for statement in Self.schema {
                    try connection.run(statement)
                }
                try connection.run("PRAGMA application_id = \(Self.applicationIdentifier)")
                try connection.run("PRAGMA user_version = \(Self.schemaVersion)")
            }
        }
        return connection
    }

    /// The connection that reads, beside the writer: a query does not wait for an upload to reach the disk.
    func openReader() throws(StateStoreError) -> SQLiteConnection {
        let connection = try open()
        try connection.run("PRAGMA query_only = ON")
        return connection
    }

    private func open() throws(StateStoreError) -> SQLiteConnection {
        let connection = try SQLiteConnection(
            path: path, busyMilliseconds: busyMilliseconds, maxValueBytes: Int32(EvaluationKeyLimits.largestKeyBytes) + 65_536)
        // The file is hostile input: no functions from its schema, and cells are checked before they are used.
        try connection.run("PRAGMA trusted_schema = OFF")
        try connection.run("PRAGMA cell_size_check = ON")
        return connection
    }

    /// - Returns: true for an empty file.
    private func check(_ connection: SQLiteConnection) throws(StateStoreError) -> Bool {
        let version = try connection.integer("PRAGMA user_version") ?? 0
        let application = try connection.integer("PRAGMA application_id") ?? 0
        let objects = try connection.integer("SELECT count(*) FROM sqlite_schema") ?? 0
        if version == 0, application == 0, objects == 0 { return true }
        guard application == Self.applicationIdentifier else { throw .foreignDatabase(path: path) }
        guard version <= Self.schemaVersion else {
            throw .newerSchema(path: path, found: version, known: Self.schemaVersion)
        }
        guard version >= 1 else { throw .corrupt(path: path) }
        return false
    }

    private static func folder(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// Makes a new entry of a folder durable; where the system refuses (a folder one may not read), it is left to the system.
    private static func synchronise(folder: String) {
        let descriptor = Glibc.open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        fsync(descriptor)
        Glibc.close(descriptor)
    }
}
