// A small safe face on one SQLite connection: statements by text, values in and out, typed errors. The only file that touches
// SQLite's pointers.

import CSQLite

/// A value bound to a statement.
enum SQLiteValue {
    case null
    case integer(Int64)
    case real(Double)
    case text(String)
    case blob([UInt8])

    /// Null for nil.
    init(_ number: Int64?) {
        self = number.map(SQLiteValue.integer) ?? .null
    }

    /// Null for nil.
    init(_ text: String?) {
        self = text.map(SQLiteValue.text) ?? .null
    }
}

/// The columns of the current row, valid only inside the closure that receives it. Types are checked, for the file may be damaged.
struct SQLiteRow {
    fileprivate let statement: OpaquePointer
    fileprivate let path: String

    /// An integer column.
    func integer(_ column: Int32) throws(StateStoreError) -> Int64 {
        guard sqlite3_column_type(statement, column) == SQLITE_INTEGER else { throw .corrupt(path: path) }
        return sqlite3_column_int64(statement, column)
    }

    /// An integer column that may be null.
    func optionalInteger(_ column: Int32) throws(StateStoreError) -> Int64? {
        sqlite3_column_type(statement, column) == SQLITE_NULL ? nil : try integer(column)
    }

    /// A floating-point column.
    func real(_ column: Int32) throws(StateStoreError) -> Double {
        guard sqlite3_column_type(statement, column) == SQLITE_FLOAT else { throw .corrupt(path: path) }
        return sqlite3_column_double(statement, column)
    }

    /// A blob column. Its length is bounded by the connection's `SQLITE_LIMIT_LENGTH`.
    func blob(_ column: Int32) throws(StateStoreError) -> [UInt8] {
        guard sqlite3_column_type(statement, column) == SQLITE_BLOB else { throw .corrupt(path: path) }
        // SQLite wants the pointer first, the length second; a null pointer with a length is lack of memory.
        let start = sqlite3_column_blob(statement, column)
        let count = Int(sqlite3_column_bytes(statement, column))
        guard count > 0 else { return [] }
        guard let start else { throw .database(code: SQLITE_NOMEM, meaning: "out of memory") }
        return [UInt8](UnsafeRawBufferPointer(start: start, count: count))
    }

    /// A text column.
    func text(_ column: Int32) throws(StateStoreError) -> String {
        guard sqlite3_column_type(statement, column) == SQLITE_TEXT, let start = sqlite3_column_text(statement, column) else {
            throw .corrupt(path: path)
        }
        return String(cString: start)
    }

    /// A text column that may be null.
    func optionalText(_ column: Int32) throws(StateStoreError) -> String? {
        sqlite3_column_type(statement, column) == SQLITE_NULL ? nil : try text(column)
    }
}

/// One connection. Not `Sendable`: its owner keeps it in a `Mutex`.
final class SQLiteConnection {
    private let handle: OpaquePointer
    private let path: String
    private var statements: [String: OpaquePointer] = [:]

    /// Opens an existing file (which may be empty).
    ///
    /// - Parameters:
    ///   - busyMilliseconds: how long a call waits for another process.
    ///   - maxValueBytes: the longest blob or text that may be read or written.
    ///   - isLooking: nothing is written, not even a log; `isAlone` says that nobody else has the file open.
    init(
        path: String, busyMilliseconds: Int32, maxValueBytes: Int32, isLooking: Bool = false, isAlone: Bool = false
    ) throws(StateStoreError) {
        var opened: OpaquePointer?
        // NOMUTEX: the owner's Mutex already admits one thread at a time.
        let access = isLooking ? SQLITE_OPEN_READONLY | SQLITE_OPEN_URI : SQLITE_OPEN_READWRITE
        let flags = access | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
        let name = isLooking ? Self.uri(path, isImmutable: isAlone) : path
        let code = sqlite3_open_v2(name, &opened, flags, nil)
        guard code == SQLITE_OK, let opened else {
            sqlite3_close_v2(opened)
            throw Self.error(code, path: path)
        }
        // Where it may not write SQLite opens for reading instead, and says so only when asked.
        guard isLooking || sqlite3_db_readonly(opened, "main") == 0 else {
            sqlite3_close_v2(opened)
            throw .readOnly(path: path)
        }
        handle = opened
        self.path = path
        sqlite3_busy_timeout(handle, busyMilliseconds)
        sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, maxValueBytes)
    }

    deinit {
        for statement in statements.values {
            sqlite3_finalize(statement)
        }
        sqlite3_close_v2(handle)
    }

    /// The path as SQLite's kind of URI.
    private static func uri(_ path: String, isImmutable: Bool) -> String {
        var text = "file:"
        for byte in path.utf8 {
            let isPlain = byte > 0x20 && byte < 0x7F && ![0x23, 0x25, 0x3F].contains(byte)
            text += isPlain ? String(UnicodeScalar(byte)) : "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }
        return text + (isImmutable ? "?immutable=1" : "")
    }

    /// Runs one statement to its end, handing each row to `row`.
    func run(
        _ sql: String, _ values: [SQLiteValue] = [], row: (SQLiteRow) throws(StateStoreError) -> Void = { _ in }
    ) throws(StateStoreError) {
        let statement = try prepared(sql)
        // A statement that was not reset would keep its read transaction open, and the log file would grow without end.
        defer {
            sqlite3_reset(statement)
            sqlite3_clear_bindings(statement)
        }
        for (index, value) in values.enumerated() {
            try bind(value, at: Int32(index + 1), of: statement)
        }
        while true {
            let code = sqlite3_step(statement)
            switch code {
            case SQLITE_ROW: try row(SQLiteRow(statement: statement, path: path))
            case SQLITE_DONE: return
            default: throw Self.error(code, path: path)
            }
        }
    }

    /// The first column of the first row as an integer; nil without a row.
    func integer(_ sql: String, _ values: [SQLiteValue] = []) throws(StateStoreError) -> Int64? {
        var result: Int64?
        try run(sql, values) { (row) throws(StateStoreError) in
            if result == nil {
                result = try row.integer(0)
            }
        }
        return result
    }

    /// Runs `body` inside a transaction that is durable when this returns, or undone when it throws.
    func transaction<Result>(_ body: () throws(StateStoreError) -> Result) throws(StateStoreError) -> Result {
        try run("BEGIN IMMEDIATE")
        do {
            let result = try body()
            try run("COMMIT")
            return result
        } catch {
            // SQLite has already rolled back after some errors (a full disk); a second rollback would only hide the cause.
            if sqlite3_get_autocommit(handle) == 0 {
                try? run("ROLLBACK")
            }
            throw error
        }
    }

    /// Runs `body` so that all its statements see the same state of the file.
    func snapshot<Result>(_ body: () throws(StateStoreError) -> Result) throws(StateStoreError) -> Result {
        try run("BEGIN")
        defer {
            if sqlite3_get_autocommit(handle) == 0 {
                try? run("ROLLBACK")
            }
        }
        return try body()
    }

    /// The row id of the last insertion.
    var lastInsertedRow: Int64 {
        sqlite3_last_insert_rowid(handle)
    }

    /// How many rows the last statement that changes anything inserted, changed or deleted.
    var changes: Int {
        Int(sqlite3_changes(handle))
    }

    /// Whether the file that this connection has open has another name by now, or none.
    func hasMoved() throws(StateStoreError) -> Bool {
        var moved: Int32 = 0
        let code = sqlite3_file_control(handle, "main", SQLITE_FCNTL_HAS_MOVED, &moved)
        guard code == SQLITE_OK else { throw Self.error(code, path: path) }
        return moved != 0
    }

    private func prepared(_ sql: String) throws(StateStoreError) -> OpaquePointer {
        if let known = statements[sql] { return known }
        var statement: OpaquePointer?
        let code = sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
        guard code == SQLITE_OK, let statement else { throw Self.error(code, path: path) }
        statements[sql] = statement
        return statement
    }

    private func bind(_ value: SQLiteValue, at index: Int32, of statement: OpaquePointer) throws(StateStoreError) {
        // SQLITE_TRANSIENT, a macro that Swift does not import: SQLite copies the bytes before the call returns.
        let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
        let code: Int32
        switch value {
        case .null:
            code = sqlite3_bind_null(statement, index)
        case .real(let number):
            code = sqlite3_bind_double(statement, index, number)
        case .integer(let number):
            code = sqlite3_bind_int64(statement, index, number)
        case .text(let text):
            code = sqlite3_bind_text64(
                statement, index, text, UInt64(text.utf8.count), transient, UInt8(SQLITE_UTF8))
        case .blob(let bytes):
            code = bytes.withUnsafeBytes {
                sqlite3_bind_blob64(statement, index, $0.baseAddress, UInt64($0.count), transient)
            }
        }
        guard code == SQLITE_OK else { throw Self.error(code, path: path) }
    }

    /// SQLite's extended code as an error of ours. Only the code's fixed meaning is kept: SQLite's own message may quote data.
    static func error(_ code: Int32, path: String) -> StateStoreError {
        switch code & 0xFF {
        case SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_FORMAT, SQLITE_TOOBIG: .corrupt(path: path)
        case SQLITE_FULL: .diskFull(path: path)
        case SQLITE_READONLY, SQLITE_PERM: .readOnly(path: path)
        case SQLITE_BUSY, SQLITE_LOCKED: .busy(path: path)
        case SQLITE_CANTOPEN: .cannotOpen(path: path, reason: String(cString: sqlite3_errstr(code)))
        // A read that ends early: the file is shorter than it says.
        case SQLITE_IOERR where code == SQLITE_IOERR | (2 << 8): .corrupt(path: path)
        // The index of the log cannot grow; that is memory on the disk.
        case SQLITE_IOERR where code == SQLITE_IOERR | (19 << 8): .diskFull(path: path)
        default: .database(code: code, meaning: String(cString: sqlite3_errstr(code)))
        }
    }
}
