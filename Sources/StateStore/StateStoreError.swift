// What can go wrong in a store. The texts may be logged: they hold paths, codes and numbers, never a part of a record
// (service.md 8.1).

/// An error of a store. `description` says what was expected, what came and, where a person can mend it, how.
public enum StateStoreError: Error, Sendable, Equatable, CustomStringConvertible {
    /// A field of a record is malformed; the text names the field and the rule.
    case invalidRecord(String)
    /// The limits contradict each other; the text says which.
    case invalidLimits(String)
    /// One upload holds more keys of one user than a user may have.
    case tooManyKeys(count: Int, limit: Int)
    /// A key, or one upload, is longer than allowed (bytes).
    case tooLarge(bytes: Int, limit: Int)
    /// The file or its folder cannot be made or opened; `reason` is the system's or SQLite's.
    case cannotOpen(path: String, reason: String)
    /// The folder (or the file, where its mode cannot be changed) lets other users in; `mode` is its permission bits.
    case openToOthers(path: String, mode: UInt32)
    /// The file is a database, but not one of these.
    case foreignDatabase(path: String)
    /// The file was written by a newer version of this program.
    case newerSchema(path: String, found: Int64, known: Int64)
    /// The file is damaged or no database at all.
    case corrupt(path: String)
    /// No space is left; nothing of the call was stored.
    case diskFull(path: String)
    /// The file cannot be written; nothing of the call was stored.
    case readOnly(path: String)
    /// Another process held the file for longer than the waiting time; nothing of the call was stored.
    case busy(path: String)
    /// The store has been closed.
    case closed
    /// Any other error of SQLite, with its extended code and that code's meaning.
    case database(code: Int32, meaning: String)

    /// One line for a person.
    public var description: String {
        switch self {
        case .invalidRecord(let reason): "evaluation key refused: \(reason)"
        case .invalidLimits(let reason): "limits of the key store: \(reason)"
        case .tooManyKeys(let count, let limit):
            "evaluation keys refused: \(count) for one identifier, at most \(limit) allowed"
        case .tooLarge(let bytes, let limit): "evaluation key refused: \(bytes) bytes, at most \(limit) allowed"
        case .cannotOpen(let path, let reason): "key store \(path) cannot be opened: \(reason)"
        case .openToOthers(let path, let mode):
            "\(path), which holds the key store, is open to other users (mode \(String(mode, radix: 8))): take their permissions away (a folder: chmod 700)"
        case .foreignDatabase(let path): "\(path) is a SQLite database, but not a key store: name another file"
        case .newerSchema(let path, let found, let known):
            "key store \(path) has schema version \(found), this program knows up to \(known): use the newer program"
        case .corrupt(let path):
            "key store \(path) is damaged: restore it, or move it away and let the devices upload their keys again"
        case .diskFull(let path): "key store \(path): the disk is full"
        case .readOnly(let path): "key store \(path): the file cannot be written"
        case .busy(let path): "key store \(path): another process holds it"
        case .closed: "the key store is closed"
        case .database(let code, let meaning): "key store: SQLite error \(code) (\(meaning))"
        }
    }
}
