// What many spent tokens cost: disk, memory and time for each. `VEILRING_SPENT_TOKENS=10000000` measures the size that issue 5 names
// (build for release, run this test alone) and prints; otherwise a small number only checks the disk and that space comes back.

import Foundation
import Glibc
import Testing

@testable import StateStore

@Suite("Spent tokens: many", .serialized)
struct SpentTokenScaleTests {
    private static let wanted = ProcessInfo.processInfo.environment["VEILRING_SPENT_TOKENS"].flatMap { Int($0) }

    /// Random marks from a generator, in flights that wait for the disk together; times of batches of 10,000.
    private final class Load {
        let store: SQLiteSpentTokenStore
        var generator = SeededGenerator(state: 5)
        private let arrived = DispatchSemaphore(value: 0)

        init(_ store: SQLiteSpentTokenStore) { self.store = store }

        func nextMark() -> [UInt8] {
            withUnsafeBytes(of: (generator.next(), generator.next())) { Array($0) }
        }

        /// Spends `count` marks, with at most 8,192 on the way.
        ///
        /// - Returns: how many were new, and the nanoseconds for each token of each 10,000.
        func spend(_ count: Int, marks: () -> [UInt8]) -> (new: Int, times: [Double]) {
            let new = Shared(0)
            var times: [Double] = []
            var onTheWay = 0
            var start = DispatchTime.now().uptimeNanoseconds
            for n in 1...count {
                if onTheWay == 8_192 {
                    arrived.wait()
                    onTheWay -= 1
                }
                onTheWay += 1
                store.spend(marks(), of: keyA) { [arrived] result in
                    if result == .success(true) { new.change { $0 += 1 } }
                    arrived.signal()
                }
                if n % 10_000 == 0 {
                    let now = DispatchTime.now().uptimeNanoseconds
                    times.append(Double(now - start) / 10_000)
                    start = now
                }
            }
            for _ in 0..<onTheWay { arrived.wait() }
            return (new.value, times)
        }
    }

    @Test("ten million take less than 1 GiB of disk (107 bytes each), and dropping the key frees it")
    func scale() throws {
        let count = Self.wanted ?? 20_000
        let folder = ScratchFolder()
        let store = try SQLiteSpentTokenStore(folder: folder.path)
        let load = Load(store)
        let memoryBefore = Self.residentBytes()
        let filled = load.spend(count) { load.nextMark() }
        #expect(filled.new == count)
        let statistics = try store.statistics()
        #expect(statistics.tokens == count)
        // The log and its index have a size of their own, whatever the number of tokens.
        #expect(statistics.bytes < count * 107 + (72 << 20))

        if Self.wanted != nil {
            let fresh = load.spend(200_000) { load.nextMark() }
            load.generator = SeededGenerator(state: 5)
            let again = load.spend(200_000) { load.nextMark() }
            #expect(fresh.new == 200_000 && again.new == 0)
            let last = filled.times.suffix(100)
            for (what, times) in [("filling, last million", Array(last)), ("new", fresh.times), ("spent before", again.times)] {
                let sorted = times.sorted()
                guard !sorted.isEmpty else { continue }
                print(
                    "\(what): median \(Int(sorted[sorted.count / 2])) ns per token, 99th percentile of batches",
                    "\(Int(sorted[sorted.count * 99 / 100])) ns")
            }
            print("filling all: \(Int(filled.times.reduce(0, +) / Double(max(filled.times.count, 1)))) ns per token")
            print(
                "resident: \(memoryBefore >> 20) MiB before, \(Self.residentBytes() >> 20) MiB after; peak \(Self.peakMiB()) MiB"
            )
            print("disk: \(try store.statistics().bytes >> 20) MiB for \(try store.statistics().tokens) tokens")
            let single = (0..<200).map { _ in
                let start = DispatchTime.now().uptimeNanoseconds
                _ = load.spend(1) { load.nextMark() }
                return DispatchTime.now().uptimeNanoseconds - start
            }.sorted()
            print("alone, with its own disk sync: median \(single[100] / 1_000) µs, slowest \(single[199] / 1_000) µs")
        }
        let start = DispatchTime.now().uptimeNanoseconds
        try store.keep(only: [])
        if Self.wanted != nil { print("dropped in \((DispatchTime.now().uptimeNanoseconds - start) / 1_000_000) ms") }
        #expect(try store.statistics() == SpentTokenStatistics(tokens: 0, bytes: 0))
        #expect(folder.entries() == ["\(keyA).dropped"])
    }

    private static func residentBytes() -> Int {
        let pages = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ").dropFirst().first
        return (pages.flatMap { Int($0) } ?? 0) * Int(getpagesize())
    }

    private static func peakMiB() -> Int {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        return (line?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) / 1_024
    }
}
