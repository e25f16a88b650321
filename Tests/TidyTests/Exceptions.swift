// The exceptions from the rules of the house, each with its reason. An exception that is not needed any more fails the tests.

/// A file or a folder (ending in `/`) that may do what others may not.
struct Exception: Sendable {
    var path: String
    var reason: String

    /// Whether the rule is waived for the file.
    func covers(_ file: SourceFile) -> Bool {
        path.hasSuffix("/") ? file.path.hasPrefix(path) : file.path == path
    }
}

enum Exceptions {
    /// Files that are tables, and may be longer than 500 lines.
    static let longFiles: [Exception] = []

    /// Functions, as `file:function`, that may be longer than 80 lines.
    static let longFunctions: [Exception] = []

    /// Files that may hold a call that stops the process.
    static let bannedCalls: [Exception] = [
        Exception(path: "Fuzzing/veilring-fuzz/main.swift", reason: "libFuzzer keeps the inputs that stop the process")
    ]

    /// Rooms and files that may use unsafe pointers, or vouch for what the compiler cannot check.
    static let unsafe: [Exception] = [
        Exception(path: "Sources/RingKernels/", reason: "the hot loops, over buffers whose bounds RingMath checks"),
        Exception(path: "Sources/RingMath/", reason: "aligned polynomial buffers, handed to the kernels"),
        Exception(path: "Sources/BFV/Kernels/", reason: "loops over polynomial buffers"),
        Exception(path: "Sources/KeywordPIR/Kernels/", reason: "the query's arena and the plaintexts of a mapped shard"),
        Exception(path: "Sources/KeywordPIR/KeywordHash.swift", reason: "hashes nine bytes on the stack, millions of times"),
        Exception(path: "Sources/KeywordPIR/Lookup.swift", reason: "one arena for each table, handed to worker threads"),
        Exception(path: "Sources/Cryptography/", reason: "bridge to libcrypto; keys are erased in place"),
        Exception(path: "Sources/StateStore/SQLiteConnection.swift", reason: "bridge to SQLite"),
        Exception(path: "Sources/HTTPCore/ByteTransport.swift", reason: "bridge to sockets"),
        Exception(path: "Sources/HTTPCore/TLS/", reason: "bridge to libssl"),
        Exception(path: "Sources/HTTPCore/HTTP2/HTTP2Bridge.swift", reason: "bridge to nghttp2"),
        Exception(
            path: "Sources/CallerDirectory/Numbers/LibraryPhoneNumberNormalizer.swift", reason: "bridge to libphonenumber"),
        Exception(path: "Sources/CallerDirectory/Sources/ChunkedFile.swift", reason: "read(2) into an array, without copying"),
        Exception(path: "Sources/CallerDirectory/Identities/IconFolder.swift", reason: "readdir(3) names are C arrays"),
        Exception(
            path: "Sources/CallerDirectory/Identities/KeywordDatabaseReading.swift",
            reason: "Hasher takes bytes as a raw buffer"),
        Exception(path: "Sources/CallerDirectory/Shards/", reason: "shard files are mapped, and written from raw columns"),
        Exception(path: "Fuzzing/veilring-fuzz/main.swift", reason: "bridge to libFuzzer"),
        Exception(path: "Sources/HTTPClient/HTTP2ClientConnection.swift", reason: "used under the client's lock only"),
        Exception(path: "Sources/HTTPServer/LoopMailbox.swift", reason: "a closure crosses pthread_create(3)"),
        Exception(
            path: "Sources/LookupService/Scheduling/WorkThread.swift", reason: "a thread's inbox crosses pthread_create(3)"),
    ]
}
