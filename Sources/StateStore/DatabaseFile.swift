// A database file of a store: its permissions, its pragmas, its schema and version. Formats are versioned (service.md 9); the
// file is private to its owner (service.md 8.5).

import Glibc

/// What tells one kind of our database files from another.
struct DatabaseFormat: Sendable {
    /// Four letters that tell our files from other SQLite databases.
    var applicationIdentifier: Int64
    /// The schema that this program writes.
    var schemaVersion: Int64
    /// The statements that make it.
    var schema: [String]
    /// The longest blob or text; a damaged file cannot make a reader allocate more.
    var largestValueBytes: Int32
    /// Bytes of a page, a power of two from 512.
    var pageBytes = 4_096
    /// Memory for pages, for each connection.
    var cacheKiB = 2_000
    /// Pages in the log at which a commit copies it into the database.
    var checkpointPages = 1_000
    /// Whether what is deleted is overwritten with zeros.
    var erasesDeleted = false
    /// Whether an empty file is not a new store but one that lost its content.
    var emptyIsDamaged = false
}

/// Prepares the file and opens connections to it.
struct DatabaseFile {
    /// What the file holds.
    let format: DatabaseFormat
    /// Where the file is.
    let path: String
    /// How long a call waits for another process.
    let busyMilliseconds: Int32

    /// Makes the folder (0700) and the file (0600) where absent; refuses a folder that other users can enter, and narrows the
    /// file's mode where it is wider. SQLite gives its log and index files the mode of the database.
    func preparePermissions() throws(StateStoreError) {
        let folder = PrivateFolder(path: PrivateFolder.holding(path))
        try folder.make(for: path)
        try makeFile()
    }

    /// Makes the file where absent, and narrows the mode of a wider one.
    private func makeFile() throws(StateStoreError) {
        // The log first: whoever makes the database links it before its log exists.
        let hasLog = Self.isThere(path + "-wal")
        var status = stat()
        // An existing file is not opened here: closing it would drop the locks of this process's other connections to it.
        if lstat(path, &status) == 0 {
            guard status.st_mode & S_IFMT == S_IFREG else { throw .cannotOpen(path: path, reason: "it is not a regular file") }
            // SQLite reads a last page that is cut as if zeros followed. (With a log it may be a page that a crash cut, and the log
            // has it whole.)
            guard hasLog || !format.emptyIsDamaged || Int(status.st_size) % format.pageBytes == 0 else {
                throw .corrupt(path: path)
            }
            if status.st_mode & 0o177 != 0, chmod(path, 0o600) != 0 {
                throw .openToOthers(path: path, mode: status.st_mode & 0o7777)
            }
            return
        }
        guard errno == ENOENT else { throw PrivateFolder.failure(of: path) }
        // SQLite would play the log of a lost database into the new one.
        guard !hasLog else { throw .cannotOpen(path: path, reason: "its log (\(path)-wal) is there without it") }
        try makeWhole()
    }

    /// Makes a complete database under another name and then links it: no process ever sees half of one, so that an empty file
    /// can be told from a new one.
    private func makeWhole() throws(StateStoreError) {
        let draft = DatabaseFile(
            format: format, path: "\(path).new-\(getpid())-\(UInt64.random(in: 0...UInt64.max))",
            busyMilliseconds: busyMilliseconds)
        let descriptor = Glibc.open(draft.path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            if errno == ENOENT || errno == ENOTDIR || errno == EISDIR {
                throw .cannotOpen(path: path, reason: String(cString: strerror(errno)))
            }
            throw PrivateFolder.failure(of: path)
        }
        Glibc.close(descriptor)
        defer {
            for suffix in ["", "-wal", "-shm"] { unlink(draft.path + suffix) }
        }
        try draft.fill()
        // Another process may have been first; its file is as good.
        guard link(draft.path, path) == 0 || errno == EEXIST else { throw PrivateFolder.failure(of: path) }
        PrivateFolder(path: PrivateFolder.holding(path)).synchronise()
    }

    /// Makes the schema in an empty file. The connection closes on return, and puts everything into the one file.
    private func fill() throws(StateStoreError) {
        _ = try openWriter(isDraft: true)
    }

    /// The connection that writes: log ahead, every commit waits for the disk.
    ///
    /// - Parameter isDraft: whether the file may be empty although the format does not allow that.
    func openWriter(isDraft: Bool = false) throws(StateStoreError) -> SQLiteConnection {
        let connection = try open()
        // Before anything is changed: is it ours, and not newer than we are?
        let isNew = try connection.snapshot { () throws(StateStoreError) in try check(connection) }
        if isNew {
            guard isDraft || !format.emptyIsDamaged else { throw .corrupt(path: path) }
            try connection.run("PRAGMA page_size = \(format.pageBytes)")
        }
        try connection.run("PRAGMA journal_mode = WAL") { (row) throws(StateStoreError) in
            // SQLite does not fail where shared memory is missing (network file systems), it keeps the old mode.
            guard try row.text(0) == "wal" else {
                throw .cannotOpen(path: path, reason: "its file system does not support SQLite's write-ahead log")
            }
        }
        try connection.run("PRAGMA synchronous = FULL")
        try connection.run("PRAGMA journal_size_limit = 67108864")
        try connection.run("PRAGMA wal_autocheckpoint = \(format.checkpointPages)")
        if format.erasesDeleted { try connection.run("PRAGMA secure_delete = ON") }
        if isNew {
            try connection.transaction { () throws(StateStoreError) in
                // Another process may have been first; the check is repeated under the write lock.
                guard try check(connection) else { return }
                for statement in format.schema {
                    try connection.run(statement)
                }
                try connection.run("PRAGMA application_id = \(format.applicationIdentifier)")
                try connection.run("PRAGMA user_version = \(format.schemaVersion)")
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

    /// A connection that only looks: no file is made or changed, and an empty one is an error.
    func openToLook() throws(StateStoreError) -> SQLiteConnection {
        // Without a log nobody writes, and SQLite need not make the files by which processes agree.
        let connection = try open(isLooking: true, isAlone: !Self.isThere(path + "-wal"))
        guard try !connection.snapshot({ () throws(StateStoreError) in try check(connection) }) else {
            throw .corrupt(path: path)
        }
        return connection
    }

    private func open(isLooking: Bool = false, isAlone: Bool = false) throws(StateStoreError) -> SQLiteConnection {
        let connection = try SQLiteConnection(
            path: path, busyMilliseconds: busyMilliseconds, maxValueBytes: format.largestValueBytes, isLooking: isLooking,
            isAlone: isAlone)
        // The file is hostile input: no functions from its schema, and cells are checked before they are used.
        try connection.run("PRAGMA trusted_schema = OFF")
        try connection.run("PRAGMA cell_size_check = ON")
        try connection.run("PRAGMA cache_size = -\(format.cacheKiB)")
        return connection
    }

    /// - Returns: true for an empty file.
    private func check(_ connection: SQLiteConnection) throws(StateStoreError) -> Bool {
        let version = try connection.integer("PRAGMA user_version") ?? 0
        let application = try connection.integer("PRAGMA application_id") ?? 0
        let objects = try connection.integer("SELECT count(*) FROM sqlite_schema") ?? 0
        if version == 0, application == 0, objects == 0 { return true }
        guard application == format.applicationIdentifier else { throw .foreignDatabase(path: path) }
        guard version <= format.schemaVersion else {
            throw .newerSchema(path: path, found: version, known: format.schemaVersion)
        }
        guard version >= 1 else { throw .corrupt(path: path) }
        return false
    }

    private static func isThere(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }
}
