// The files of the spent tokens: one database for each issuer key, so that a key's tokens go as a whole and their space comes back
// at once (service.md 2.6, 2.8). Beside them lie the marks of dropped keys.
//
// What holds when several processes share the folder: a dropped key first gets a lasting mark, `<key>.dropped`, and only then are
// its files removed. A group is written under SQLite's write lock, and looks for the mark under that lock. Two processes that write
// the same files exclude each other by the lock. A process that opens files made after the removal of others sees the mark, which
// is older than the removal, and writes nothing. So no token is accepted from two sets of files, whoever drops what and when.

import Glibc

/// The open files of one store. Not `Sendable`: its owner keeps it in a `Mutex`.
struct SpentTokenFolder {
    /// Keys that a store deals with at a time: twice the keys that may be live (service.md 2.6).
    static let mostKeys = 128

    let folder: PrivateFolder
    let busyMilliseconds: Int32
    /// Tokens of all keys that may be held in memory.
    let tokenLimit: Int
    private var open: [String: SpentTokenFile] = [:]
    /// Keys whose file went away while it was open, or is damaged or not ours: refused for the life of the store. A file that
    /// appears in its place may not know what is spent, and reading a large one for every token would stop all the others.
    private var refused: [String: StateStoreError] = [:]

    /// Makes the folder where absent.
    init(path: String, tokenLimit: Int, busyMilliseconds: Int32) throws(StateStoreError) {
        folder = PrivateFolder(path: path)
        self.tokenLimit = tokenLimit
        self.busyMilliseconds = busyMilliseconds
        try folder.make(for: path)
    }

    /// Writes the marks of one key in one transaction.
    ///
    /// - Returns: for each whether it is new; all are durable.
    mutating func insert(_ marks: [SpentMark], of key: String) throws(StateStoreError) -> [Bool] {
        let file = try file(of: key)
        do {
            return try file.insert(marks, limit: limit(for: key)) { () throws(StateStoreError) in
                // Is this still the file of a key that counts?
                guard try !folder.contains("\(key).dropped") else { throw .dropped(path: path(of: key)) }
                guard try !file.connection.hasMoved() else { throw .moved(path: path(of: key)) }
            }
        } catch {
            // The space of a file that another process dropped comes back when the last one closes it.
            if case .dropped = error { open[key] = nil }
            throw note(error, of: key)
        }
    }

    /// Drops all keys but these, and reads the files of these, so that no token has to wait for that.
    mutating func keep(only keys: Set<String>) throws(StateStoreError) {
        let present = try SpentTokenFiles(of: folder)
        var hasNewMark = false
        for key in present.keys.subtracting(present.dropped).subtracting(keys) {
            hasNewMark = try folder.create("\(key).dropped") || hasNewMark
        }
        // The marks are on the disk before the first file goes.
        if hasNewMark { folder.synchronise() }
        for key in present.keys where present.dropped.contains(key) || !keys.contains(key) {
            open[key] = nil
            refused[key] = nil
            for name in Self.files(of: key) { try folder.remove(name) }
        }
        for name in present.drafts { try folder.remove(name) }
        folder.synchronise()
        for key in present.keys.intersection(keys).subtracting(present.dropped) { _ = try file(of: key) }
    }

    /// Tokens of all keys, and bytes of all files.
    mutating func statistics() throws(StateStoreError) -> SpentTokenStatistics {
        let present = try SpentTokenFiles(of: folder)
        var result = SpentTokenStatistics(tokens: 0, bytes: present.bytes)
        for key in present.keys.subtracting(present.dropped) {
            let file = try file(of: key)
            do {
                try file.readOn(limit: limit(for: key))
            } catch {
                throw note(error, of: key)
            }
            result.tokens += file.count
        }
        return result
    }

    /// Closes all files.
    mutating func close() {
        self.open = [:]
    }

    /// The open file of a key.
    mutating func file(of key: String) throws(StateStoreError) -> SpentTokenFile {
        if let error = refused[key] { throw error }
        if let file = open[key] { return file }
        guard try !folder.contains("\(key).dropped") else { throw .dropped(path: path(of: key)) }
        guard open.count < Self.mostKeys else { throw .tooManyFiles(path: folder.path, limit: Self.mostKeys) }
        do {
            let file = try SpentTokenFile(path: path(of: key), busyMilliseconds: busyMilliseconds, limit: limit(for: key))
            open[key] = file
            return file
        } catch {
            throw note(error, of: key)
        }
    }

    /// Remembers an error that time does not mend.
    private mutating func note(_ error: StateStoreError, of key: String) -> StateStoreError {
        switch error {
        case .moved, .corrupt, .foreignDatabase, .newerSchema:
            refused[key] = error
            open[key] = nil
        default: break
        }
        return error
    }

    /// Tokens that a key may have beside those of the others.
    private func limit(for key: String) -> Int {
        tokenLimit - open.reduce(0) { $1.key == key ? $0 : $0 + $1.value.count }
    }

    private func path(of key: String) -> String { folder.entry("\(key).sqlite") }

    /// The database before its log, so that a log never meets a new database.
    private static func files(of key: String) -> [String] {
        ["\(key).sqlite", "\(key).sqlite-wal", "\(key).sqlite-shm"]
    }
}

/// What lies in the folder.
private struct SpentTokenFiles {
    /// Keys with a file of any kind.
    var keys: Set<String> = []
    /// Keys with the mark of a dropped one.
    var dropped: Set<String> = []
    /// What a process left that ended while it made a database.
    var drafts: [String] = []
    /// Bytes on the disk.
    var bytes = 0

    init(of folder: PrivateFolder) throws(StateStoreError) {
        for name in try folder.entries() {
            guard let dot = name.firstIndex(of: "."), SpentTokenRules.isKeyName(name[..<dot]) else { continue }
            let key = String(name[..<dot])
            var status = stat()
            // Another process may have removed it by now.
            guard lstat(folder.entry(name), &status) == 0 else { continue }
            switch name[dot...] {
            case ".sqlite", ".sqlite-wal", ".sqlite-shm":
                keys.insert(key)
                bytes += Int(status.st_blocks) * 512
            case ".dropped":
                dropped.insert(key)
            case let end where end.hasPrefix(".sqlite.new-"):
                // One that is an hour old is not being made.
                if status.st_mtim.tv_sec < time(nil) - 3_600 { drafts.append(name) }
            default: break
            }
        }
    }
}
