// `veilring-bench tokens`: what a lookup costs beside the lookup: blind signatures, verifications, spends; the first two
// beside the openssl command in the same run.

import Cryptography
import Foundation
import PrivacyPass
import StateStore
import Synchronization

/// The options of a measurement of tokens.
struct TokenBenchOptions: Codable, Equatable {
    /// Rounds, of which the medians count.
    var rounds = 5
    /// Tokens that are spent before spends are measured.
    var spent = 100_000

    /// Whether the openssl command is measured in turn.
    var besideOpenSSL = true

    static let names = ["--rounds", "--spent"]

    init() {}

    /// Throws `UsageError`.
    init(_ arguments: BenchArguments) throws {
        rounds = try arguments.number("--rounds", in: 1...1000, default: rounds)
        spent = try arguments.number("--spent", in: 0...20_000_000, default: spent)
    }
}

/// A result of `veilring-bench tokens`. Rates are per second of processor time of one thread; medians.
struct TokenResult: Codable {
    var benchmark = "tokens"
    var commit: String?
    var options: TokenBenchOptions
    var machine: Machine
    /// Blind signatures, each checked before it is released.
    var signaturesPerSecond: Double
    /// Tokens verified.
    var verificationsPerSecond: Double
    /// The same of `openssl speed rsa2048`, in turn with ours; nil where there is no such command.
    var opensslSignaturesPerSecond: Double?
    var opensslVerificationsPerSecond: Double?
    /// Of one token among `options.spent`, written in groups; wall time.
    var spendMicroseconds: Double
    /// The same of a token that was spent before.
    var spendAgainMicroseconds: Double
    var spentBytesOnDisk: Int
    /// Memory of the whole process.
    var peakBytes: Int
}

/// Measures tokens with some options.
struct TokenBenchmark {
    let options: TokenBenchOptions

    private static let operations = 300

    func run() throws -> TokenResult {
        let machine = Machine.current
        let key = try TokenIssuerKey(RSAPrivateKey.generate())
        let issuance = try TokenIssuance(key: key.publicKey, challenge: TokenChallenge(issuerName: "bench.example"))
        let token = try issuance.finish(try key.sign(issuance.request))
        var (signing, verifying, opensslSigning, opensslVerifying) = (Sample(), Sample(), Sample(), Sample())
        for _ in 0..<options.rounds {
            signing.append(try Self.rate(Self.operations) { _ = try key.sign(issuance.request) })
            verifying.append(
                try Self.rate(Self.operations * 30) {
                    guard key.publicKey.verify(token) else { throw BenchError.failed("a token was not verified") }
                })
            guard options.besideOpenSSL, let (sign, verify) = Self.openssl() else { continue }
            opensslSigning.append(sign)
            opensslVerifying.append(verify)
        }
        let spends = try measureSpends()
        return TokenResult(
            options: options, machine: machine, signaturesPerSecond: signing.median, verificationsPerSecond: verifying.median,
            opensslSignaturesPerSecond: opensslSigning.values.isEmpty ? nil : opensslSigning.median,
            opensslVerificationsPerSecond: opensslVerifying.values.isEmpty ? nil : opensslVerifying.median,
            spendMicroseconds: spends.fresh, spendAgainMicroseconds: spends.again, spentBytesOnDisk: spends.bytes,
            peakBytes: Machine.peakBytes)
    }

    /// How often something can be done in a second of processor time.
    private static func rate(_ count: Int, _ work: () throws -> Void) rethrows -> Double {
        let before = Machine.cpuSeconds
        for _ in 0..<count { try work() }
        return Double(count) / (Machine.cpuSeconds - before)
    }

    /// Signatures and verifications per second by the openssl command, in one second each.
    private static func openssl() -> (sign: Double, verify: Double)? {
        let process = Process()
        // It counts until an alarm comes, which whoever blocks that signal would wait for in vain.
        process.executableURL = URL(fileURLWithPath: "/usr/bin/timeout")
        process.arguments = ["20", "openssl", "speed", "-seconds", "1", "rsa2048"]
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return nil }
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        // rsa 2048 bits 0.000780s 0.000022s   1282.0  44612.0
        guard let line = text.split(separator: "\n").last(where: { $0.hasPrefix("rsa 2048") }) else { return nil }
        let numbers = line.split(separator: " ").suffix(2).compactMap { Double($0) }
        return numbers.count == 2 ? (numbers[0], numbers[1]) : nil
    }

    private func measureSpends() throws -> (fresh: Double, again: Double, bytes: Int) {
        let folder = FileManager.default.temporaryDirectory.appending(path: "veilring-bench-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(at: folder) }
        let store = try SQLiteSpentTokenStore(folder: folder.path + "/spent")
        defer { try? store.close() }
        let name = String(repeating: "ab", count: 32)
        var next: UInt64 = 0
        func mark(_ number: UInt64) -> [UInt8] {
            withUnsafeBytes(of: (number &* 0x9E37_79B9_7F4A_7C15, number)) { Array($0) }
        }
        /// Spends tokens in one group; seconds for each.
        func spend(_ numbers: Range<UInt64>, expecting isFirst: Bool) throws -> Double {
            let left = Atomic<Int>(numbers.count)
            let wrong = Atomic<Int>(0)
            let done = DispatchSemaphore(value: 0)
            let start = ContinuousClock.now
            for number in numbers {
                store.spend(mark(number), of: name) { result in
                    if (try? result.get()) != isFirst { wrong.add(1, ordering: .relaxed) }
                    if left.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { done.signal() }
                }
            }
            done.wait()
            let seconds = (ContinuousClock.now - start) / .seconds(1)
            guard wrong.load(ordering: .relaxed) == 0 else { throw BenchError.failed("a token was spent wrongly") }
            return seconds / Double(numbers.count)
        }
        func batch(_ count: UInt64) -> Range<UInt64> {
            defer { next += count }
            return next..<(next + count)
        }
        while next < UInt64(options.spent) { _ = try spend(batch(4000), expecting: true) }
        var (fresh, again) = (Sample(), Sample())
        for _ in 0..<max(20, options.rounds) {
            let numbers = batch(1000)
            fresh.append(try spend(numbers, expecting: true) * 1e6)
            again.append(try spend(numbers, expecting: false) * 1e6)
        }
        return (fresh.median, again.median, try store.statistics().bytes)
    }
}
