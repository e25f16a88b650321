// The machine under the measurement, and the process on it.

import Foundation
import Glibc

/// What was measured on.
struct Machine: Codable, Equatable {
    /// Model of the processor.
    var cpu: String
    /// Cores that this process may use.
    var cores: Int
    /// Bytes of memory.
    var memoryBytes: Int
    /// System and kernel.
    var os: String
    /// Processes that wanted to run, averaged over the minute before: above 0 others disturb.
    var loadBefore: Double

    /// This one, now.
    static var current: Machine {
        let cpu = field("model name", of: "/proc/cpuinfo") ?? "unknown"
        let name = field("PRETTY_NAME", of: "/etc/os-release")?.trimmingCharacters(in: ["\""]) ?? "unknown system"
        let kernel = text("/proc/sys/kernel/osrelease").trimmingCharacters(in: .whitespacesAndNewlines)
        let load = text("/proc/loadavg").split(separator: " ").first.flatMap { Double($0) } ?? 0
        return Machine(
            cpu: cpu, cores: ProcessInfo.processInfo.activeProcessorCount,
            memoryBytes: Int(clamping: ProcessInfo.processInfo.physicalMemory), os: "\(name), Linux \(kernel)", loadBefore: load
        )
    }

    /// The value of the first line `name: value` or `name=value` of a file.
    private static func field(_ name: String, of path: String) -> String? {
        for line in text(path).split(separator: "\n") where line.hasPrefix(name) {
            guard let mark = line.firstIndex(where: { $0 == ":" || $0 == "=" }) else { continue }
            return line[line.index(after: mark)...].trimmingCharacters(in: .whitespaces)
        }
        return nil
    }

    private static func text(_ path: String) -> String {
        String(decoding: FileManager.default.contents(atPath: path) ?? Data(), as: UTF8.self)
    }

    /// Most bytes that this process had in memory at once; 0 where the system does not say.
    static var peakBytes: Int {
        let kilobytes = field("VmHWM", of: "/proc/self/status")?.split(separator: " ").first.flatMap { Int($0) }
        return (kilobytes ?? 0) * 1024
    }

    /// Starts `peakBytes` over from what is in memory now; false where the system does not allow it.
    static func forgetPeak() -> Bool {
        guard let file = fopen("/proc/self/clear_refs", "w") else { return false }
        let isWritten = fputs("5", file) >= 0
        return fclose(file) == 0 && isWritten
    }

    /// Seconds of processor time that this process used so far, all threads together.
    static var cpuSeconds: Double {
        var time = timespec()
        guard clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) == 0 else { return .nan }
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// Bytes that can be read from memory in a second, by threads that only add them up: the best of several passes over a
    /// buffer.
    static func readBytesPerSecond(threads: Int, bufferBytes: Int) -> Double {
        let lanes = max(bufferBytes / 64 / max(threads, 1), 1)
        let buffer = UnsafeMutableBufferPointer<SIMD8<UInt64>>.allocate(capacity: lanes * threads)
        buffer.initialize(repeating: SIMD8(repeating: 3))
        defer { buffer.deallocate() }
        var best = Double.infinity
        var isRight = true
        for _ in 0..<7 {
            var sums = [UInt64](repeating: 0, count: threads)
            let time = milliseconds {
                sums.withUnsafeMutableBufferPointer { sums in
                    // Each thread reads its own part and writes its own sum.
                    nonisolated(unsafe) let (sums, buffer) = (sums, buffer)
                    DispatchQueue.concurrentPerform(iterations: threads) { thread in
                        var (a, b) = (SIMD8<UInt64>(), SIMD8<UInt64>())
                        var i = thread * lanes
                        let end = i + lanes
                        while i + 1 < end {
                            a &+= buffer[i]
                            b &+= buffer[i + 1]
                            i += 2
                        }
                        sums[thread] = (a &+ b).wrappedSum()
                    }
                }
            }
            isRight = isRight && sums.allSatisfy { $0 == UInt64(lanes / 2 * 2) * 24 }
            best = min(best, time)
        }
        return isRight ? Double(lanes * threads * 64) / best * 1000 : 0
    }
}
