// What the tests of the spent tokens share: marks, keys, both drivers, and a second process that spends.

import Foundation
import Glibc
import Synchronization
import Testing

@testable import StateStore

/// A mark that differs by `n`, spread like a hash.
func mark(_ n: Int) -> [UInt8] {
    var generator = SeededGenerator(state: UInt64(n))
    return [generator.next(), generator.next()].flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> ($0 * 8)) } }
}

/// A value that several threads change.
final class Shared<Value: Sendable>: Sendable {
    private let content: Mutex<Value>

    init(_ value: Value) { content = Mutex(value) }

    var value: Value { content.withLock { $0 } }

    func change(_ body: (inout sending Value) -> Void) { content.withLock { body(&$0) } }
}

/// Names of issuer keys.
let keyA = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
let keyB = "fedcba98"

extension SpentTokenStore {
    /// Spends and waits for the answer.
    func spend(_ mark: [UInt8], of key: String = keyA) async throws(StateStoreError) -> Bool {
        let result: Result<Bool, StateStoreError> = await withCheckedContinuation { continuation in
            spend(mark, of: key) { continuation.resume(returning: $0) }
        }
        return try result.get()
    }

    /// Spends and returns the error.
    func refusal(_ mark: [UInt8], of key: String = keyA) async -> StateStoreError? {
        do {
            _ = try await spend(mark, of: key)
            return nil
        } catch {
            return error
        }
    }
}

/// The two drivers of spent tokens.
enum SpentTokenDriver: CaseIterable, Sendable, CustomTestStringConvertible {
    case memory
    case sqlite

    var testDescription: String { self == .memory ? "memory" : "SQLite" }

    func open(_ folder: ScratchFolder) throws -> any SpentTokenStore {
        switch self {
        case .memory: InMemorySpentTokenStore()
        case .sqlite: try SQLiteSpentTokenStore(folder: folder.path)
        }
    }
}

/// A process of its own that spends the marks `first..<end` of `keyA` and writes `ack <n> <true or false>` after each answer. It is
/// this test program again, told by an environment variable to run nothing but `SpentTokenChild`.
final class SpendingProcess {
    private static let variable = "VEILRING_TEST_SPEND"
    private let process = Process()
    private let output = Pipe()

    init(folder: String, first: Int, end: Int) throws {
        process.executableURL = URL(fileURLWithPath: "/proc/self/exe")
        process.arguments = ["--testing-library", "swift-testing", "--filter", "SpentTokenChild"]
        process.environment = ProcessInfo.processInfo.environment.merging(
            [Self.variable: "\(first) \(end) \(folder)"], uniquingKeysWith: { $1 })
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
    }

    /// What a child was told to do; nil in the parent.
    static var order: (first: Int, end: Int, folder: String)? {
        let words = ProcessInfo.processInfo.environment[variable]?.split(separator: " ", maxSplits: 2) ?? []
        guard words.count == 3, let first = Int(words[0]), let end = Int(words[1]) else { return nil }
        return (first, end, String(words[2]))
    }

    /// Reads answers until the process ends, and kills it (`SIGKILL`) when so many have come.
    func answers(killAfter count: Int = .max) -> [Int: Bool] {
        var answers: [Int: Bool] = [:]
        var rest: [UInt8] = []
        var isKilled = false
        while true {
            let chunk = output.fileHandleForReading.availableData
            if chunk.isEmpty { break }
            rest += chunk
            while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                let words = String(decoding: rest[..<end], as: UTF8.self).split(separator: " ")
                rest.removeSubrange(...end)
                if words.count == 3, words[0] == "ack", let n = Int(words[1]) { answers[n] = words[2] == "true" }
            }
            if answers.count >= count, !isKilled {
                kill(process.processIdentifier, SIGKILL)
                isKilled = true
            }
        }
        process.waitUntilExit()
        return answers
    }
}

@Suite("SpentTokenChild", .enabled(if: SpendingProcess.order != nil, "only in a process that another test starts"))
struct SpentTokenChild {
    @Test("spends what it was told to")
    func spend() async throws {
        let order = try #require(SpendingProcess.order)
        let store = try SQLiteSpentTokenStore(folder: order.folder)
        // Some at a time, so that groups have several.
        for start in stride(from: order.first, to: order.end, by: 16) {
            await withTaskGroup(of: Void.self) { group in
                for n in start..<min(start + 16, order.end) {
                    group.addTask {
                        guard let isNew = try? await store.spend(mark(n)) else { return }
                        let line = Array("ack \(n) \(isNew)\n".utf8)
                        _ = write(STDOUT_FILENO, line, line.count)
                    }
                }
            }
        }
        try store.close()
    }
}
