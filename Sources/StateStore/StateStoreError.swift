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
    /// A value for a store is malformed; the text names the field and the rule.
    case invalidValue(String)
    /// So many calls wait for the disk that no more are taken; nothing of this one was stored.
    case waitingLineFull(limit: Int)
    /// The store holds as many spent tokens as it may; the new one was not stored.
    case tooManyTokens(limit: Int)
    /// The spent tokens of this key were dropped, by this process or another; none of its tokens is accepted any more.
    case dropped(path: String)
    /// The file was removed or replaced while the store had it open; nothing of the call was stored.
    case moved(path: String)
    /// A credential already belongs to another user; `index` counts the users of the call from 0.
    case credentialTaken(index: Int)
    /// There is no user with this id.
    case noSuchUser
    /// A file of ours breaks its format; the text says how, without quoting it.
    case malformed(path: String, reason: String)
    /// A file is longer than allowed (bytes).
    case fileTooLarge(path: String, limit: Int)
    /// A folder holds, or would hold, more files than allowed.
    case tooManyFiles(path: String, limit: Int)
    /// The store has been closed.
    case closed
    /// Any other error of SQLite, with its extended code and that code's meaning.
    case database(code: Int32, meaning: String)

    /// One line for a person.
    public var description: String {
        switch self {
        case .invalidRecord(let reason): "evaluation key refused: \(reason)"
        case .invalidLimits(let reason): "limits of the store: \(reason)"
        case .tooManyKeys(let count, let limit):
            "evaluation keys refused: \(count) for one identifier, at most \(limit) allowed"
        case .tooLarge(let bytes, let limit): "evaluation key refused: \(bytes) bytes, at most \(limit) allowed"
        case .cannotOpen(let path, let reason): "store \(path) cannot be opened: \(reason)"
        case .openToOthers(let path, let mode):
            "\(path) is open to other users (mode \(String(mode, radix: 8))): take their permissions away (chmod 600; a folder: chmod 700)"
        case .foreignDatabase(let path): "\(path) is a SQLite database, but not a store of this kind: name another file"
        case .newerSchema(let path, let found, let known):
            "\(path) has format version \(found), this program knows up to \(known): use the newer program"
        case .corrupt(let path): "store \(path) is damaged: restore it, or move it away to begin with an empty one"
        case .diskFull(let path): "store \(path): the disk is full"
        case .readOnly(let path): "store \(path): the file cannot be written"
        case .busy(let path): "store \(path): another process holds it"
        case .invalidValue(let reason): "refused: \(reason)"
        case .waitingLineFull(let limit): "\(limit) calls already wait for the disk"
        case .tooManyTokens(let limit): "no more than \(limit) spent tokens are held"
        case .dropped(let path): "the spent tokens in \(path) were dropped with their key: its tokens are not accepted any more"
        case .moved(let path):
            "\(path) was removed or replaced while in use: put it back, or restart to begin with what is there"
        case .credentialTaken(let index): "user \(index + 1) of the call has a credential that belongs to another user"
        case .noSuchUser: "there is no such user"
        case .malformed(let path, let reason): "\(path): \(reason)"
        case .fileTooLarge(let path, let limit): "\(path) is longer than \(limit) bytes"
        case .tooManyFiles(let path, let limit): "\(path): more than \(limit) keys"
        case .closed: "the store is closed"
        case .database(let code, let meaning): "store: SQLite error \(code) (\(meaning))"
        }
    }
}
