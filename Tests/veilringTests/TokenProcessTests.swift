// Tokens against the program as a process: phones in Python and in Go that share no code with ours, hostile requests, a killed
// server, a rotation under load. Skipped where the program, Python's `cryptography` or the foreign phone is missing.

import Foundation
import Testing

/// Programs that these tests start.
private enum Phones {
    struct Failure: Error { let status: Int32, text: String }

    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// The program beside the test bundle.
    static let program: String? = {
        [CommandLine.arguments.first ?? "", Bundle.main.executablePath ?? ""]
            .map { URL(filePath: $0).deletingLastPathComponent().path() + "veilring" }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }()

    /// A phone on Cloudflare's library, which scripts/setup builds where it can.
    static let foreign: String? = {
        let path = root.appending(path: ".build/foreign-phone").path
        return FileManager.default.isExecutableFile(atPath: path) ? path : nil
    }()

    static let hasPython: Bool = (try? python(["probe"])) != nil

    private static func pythonCommand(_ arguments: [String]) -> [String] {
        let own = root.appending(path: ".build/oracle-venv/bin/python3").path
        let python = FileManager.default.isExecutableFile(atPath: own) ? own : "python3"
        return [python, root.appending(path: "Tests/Oracles/token_phone.py").path] + arguments
    }

    static func python(_ arguments: [String]) throws -> Data { try Running(pythonCommand(arguments)).end() }

    static func startPython(_ arguments: [String]) throws -> Running { try Running(pythonCommand(arguments)) }

    /// A program whose output goes to files, so that there is nothing to deadlock on.
    struct Running {
        let process = Process()
        private let folder = FileManager.default.temporaryDirectory.appending(path: "veilring-phone-\(UUID().uuidString)")

        init(_ command: [String]) throws {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            process.executableURL = URL(filePath: "/usr/bin/env")
            process.arguments = command
            for name in ["output", "errors"] { try Data().write(to: folder.appending(path: name)) }
            process.standardOutput = try FileHandle(forWritingTo: folder.appending(path: "output"))
            process.standardError = try FileHandle(forWritingTo: folder.appending(path: "errors"))
            try process.run()
        }

        /// Waits for it; what it wrote to standard output. Throws what it wrote to standard error if it failed.
        func end() throws -> Data {
            defer { try? FileManager.default.removeItem(at: folder) }
            process.waitUntilExit()
            guard process.terminationReason == .exit, process.terminationStatus == 0 else {
                let text = (try? String(contentsOf: folder.appending(path: "errors"), encoding: .utf8)) ?? ""
                throw Failure(status: process.terminationStatus, text: String(text.suffix(500)))
            }
            return try Data(contentsOf: folder.appending(path: "output"))
        }
    }
}

/// A server with users, its folder, and its process.
private final class TokenServer {
    struct NotSeen: Error { let text: String, log: String }

    let folder = FileManager.default.temporaryDirectory.path + "/veilring-tokens-\(UUID().uuidString)"
    private let program: String
    private var process: Process?
    private(set) var url = ""

    /// Builds and starts. AAAA may have many tokens, BBBB three.
    init() throws {
        program = try #require(Phones.program)
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try Data("number,name\n+14085551212,Johnny\n".utf8).write(to: URL(filePath: folder + "/callers.csv"))
        let text = """
            { data: "var", region: "US", listen: "127.0.0.1:0", admin: "off",
              users: [{ tier: "tier1", tokens: ["AAAA"] }, { tier: "small", tokens: ["BBBB"] }],
              tiers: { tier1: { burst: 100000, tokensPerHour: 100000 }, small: { burst: 3, tokensPerHour: 1 } },
              tokens: { directoryMaxAgeSeconds: 0 },
              useCases: { "net.example.test.identity": { kind: "identity", source: "callers.csv" } } }
            """
        try Data(text.utf8).write(to: URL(filePath: folder + "/veilring.json5"))
        _ = try run(["build"])
        try start()
    }

    /// Another subcommand on the same configuration.
    func run(_ words: [String]) throws -> Data {
        try Phones.Running([program] + words + ["--config", folder + "/veilring.json5"]).end()
    }

    func start() throws {
        let process = Process()
        process.executableURL = URL(filePath: program)
        process.arguments = ["serve", "--config", folder + "/veilring.json5"]
        try Data().write(to: URL(filePath: folder + "/log"))
        process.standardError = try FileHandle(forWritingTo: URL(filePath: folder + "/log"))
        try process.run()
        self.process = process
        let log = try poll("ready: listening on") {
            (try? String(contentsOfFile: folder + "/log", encoding: .utf8)).flatMap {
                $0.contains("ready: listening on") ? $0 : nil
            }
        }
        url = "http://" + (try #require(log.firstMatch(of: /ready: listening on ([0-9.:]+),/)?.1))
    }

    /// As a power cut ends it: no handler runs.
    func killAtOnce() {
        guard let process else { return }
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        self.process = nil
    }

    deinit { end() }

    func end() {
        killAtOnce()
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// Asks again and again until there is something.
    func poll<Value>(_ text: String, _ ask: () throws -> Value?) throws -> Value {
        let end = ContinuousClock.now.advanced(by: .seconds(60))
        while ContinuousClock.now < end {
            if let value = try ask() { return value }
            usleep(5000)
        }
        throw NotSeen(text: text, log: (try? String(contentsOfFile: folder + "/log", encoding: .utf8)) ?? "")
    }

    func phone<Answer: Decodable>(_ command: String, _ options: [String] = []) throws -> Answer {
        try JSONDecoder().decode(Answer.self, from: Phones.python([command, url] + options))
    }

    /// When one of the files behind the counters of quotas was last written.
    var countersWritten: Date? {
        ["quotas.sqlite", "quotas.sqlite-wal"].compactMap {
            let attributes = try? FileManager.default.attributesOfItem(atPath: folder + "/var/state/" + $0)
            return attributes?[.modificationDate] as? Date
        }.max()
    }
}

@Suite("Tokens over a process", .serialized, .enabled(if: Phones.program != nil, "the program is not beside the tests"))
struct TokenProcessTests {
    private struct Obtained: Decodable { let keys: Int, tokens: Int, distinct: Int, spent: [[Int]] }
    private struct Spent: Decodable { let statuses: [Int], messages: [String?] }
    private struct Drained: Decodable { let issued: Int, status: Int, message: String?, retryAfter: String }
    private static let pythonIsMissing: Comment = "Python's `cryptography` is not here (scripts/setup installs it)"

    @Test("issue, spend, spend again, kill -9, start, spend again", .enabled(if: Phones.hasPython, pythonIsMissing))
    func survivesAKill() throws {
        let server = try TokenServer()
        defer { server.end() }
        let file = server.folder + "/tokens.json"
        let first: Obtained = try server.phone("obtain", ["--count", "6", "--spend", "2", "--save", file])
        // The kill follows the answers at once: a spend that was answered is on the disk.
        server.killAtOnce()
        #expect(first.tokens == 6 && first.distinct == 6 && first.keys == 2)
        #expect(first.spent == [[200, 401], [200, 401]])

        try server.start()
        let second: Spent = try server.phone("spend", ["--tokens", file])
        #expect(second.statuses == [401, 401, 200, 200, 200, 200])
        #expect(second.messages.prefix(2).allSatisfy { $0 == "Token did not pass verification" })
        server.killAtOnce()
        try server.start()
        let third: Spent = try server.phone("spend", ["--tokens", file])
        #expect(third.statuses == [401, 401, 401, 401, 401, 401])
        let fourth: Obtained = try server.phone("obtain", ["--count", "2"])
        #expect(fourth.keys == 2 && fourth.spent == [[200, 401]])
    }

    @Test("a used up quota stays used up after kill -9", .enabled(if: Phones.hasPython, pythonIsMissing))
    func quotaSurvivesAKill() throws {
        let server = try TokenServer()
        defer { server.end() }
        let first: Drained = try server.phone("drain", ["--user", "BBBB"])
        let exhausted = Date()
        #expect(first.issued == 3 && first.status == 429 && first.message == "Too many requests")
        #expect((Int(first.retryAfter) ?? 0) > 0)
        // Counters are written down every second. Every further request is counted too, so there will be something to write.
        _ = try server.poll("counters on the disk") { () -> Bool? in
            let again: Drained = try server.phone("drain", ["--user", "BBBB"])
            #expect(again.issued == 0 && again.status == 429)
            return (server.countersWritten ?? .distantPast) > exhausted ? true : nil
        }
        server.killAtOnce()
        try server.start()
        let second: Drained = try server.phone("drain", ["--user", "BBBB"])
        #expect(second.issued == 0 && second.status == 429)
        let other: Drained = try server.phone("drain", ["--limit", "5"])
        #expect(other.issued == 5 && other.status == 200)
    }

    @Test("hostile requests and fields are answered as the specification says", .enabled(if: Phones.hasPython, pythonIsMissing))
    func hostile() throws {
        struct Result: Decodable {
            struct Wrong: Decodable { let `case`: String }
            let cases: Int
            let wrong: [Wrong]
        }
        let server = try TokenServer()
        defer { server.end() }
        let result: Result = try server.phone("hostile")
        #expect(result.cases > 150)
        #expect(result.wrong.map(\.case) == [])
    }

    @Test("a rotation is announced while tokens are issued and spent", .enabled(if: Phones.hasPython, pythonIsMissing))
    func rotation() throws {
        struct Result: Decodable { let counts: [String: Int], keys: Int, listed: Int }
        let server = try TokenServer()
        defer { server.end() }
        // Two tiers have a key each; the third is the announced one, which nobody may use yet.
        let flow = try Phones.startPython(
            ["flow", server.url, "--rate", "20", "--until-keys", "3", "--seconds", "1", "--keep", "5"])
        _ = try server.run(["keys", "rotate", "--tier", "tier1"])
        let result = try JSONDecoder().decode(Result.self, from: flow.end())
        #expect(result.listed == 3 && result.keys == 1)
        #expect(Set(result.counts.keys) == ["issue 200", "spend 200"])
        #expect(result.counts["issue 200"] == result.counts["spend 200"])
    }

    @Test(
        "a phone made of somebody else's library obtains and spends a token",
        .enabled(if: Phones.foreign != nil, "the phone on Cloudflare's CIRCL is not here (scripts/setup builds it)"))
    func foreignPhone() throws {
        struct Result: Decodable {
            let keys: Int, issued: Int, spent: Int, spentAgain: Int, alteredStatus: Int
            let isListed: Bool, isVerified: Bool, isChallenged: Bool
            let mediaType: String
        }
        let server = try TokenServer()
        defer { server.end() }
        // The user token as text, and as the base64 of its characters.
        for user in ["AAAA", "QUFBQQ==", "BBBB"] {
            let output = try Phones.Running([try #require(Phones.foreign), server.url, user]).end()
            let result = try JSONDecoder().decode(Result.self, from: output)
            #expect(result.isListed && result.keys == 2 && result.issued == 200 && result.isVerified)
            #expect(result.mediaType == "application/private-token-response")
            #expect(result.alteredStatus == 401 && result.spent == 200 && result.spentAgain == 401 && result.isChallenged)
        }
    }
}
