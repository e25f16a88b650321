// What the kernel knows of this process: start, memory, descriptors, processor time, threads (proc(5)).

import Glibc

/// One reading of the process.
struct ProcessReading: Sendable, Equatable {
    /// User and system time, in seconds.
    var processorSeconds: Double
    /// Memory that is really there, in bytes.
    var residentBytes: Int
    /// Address space, in bytes; mapped shards count in full.
    var virtualBytes: Int
    /// Start, in seconds since 1970.
    var startSeconds: Double
    /// Threads.
    var threads: Int
    /// Open descriptors.
    var descriptors: Int
    /// Descriptors that may be open.
    var mostDescriptors: Int

    /// Reads `/proc`; nil where there is none.
    static func current() -> ProcessReading? {
        guard let status = contents(of: "/proc/self/stat"), let descriptors = countDescriptors() else { return nil }
        return ProcessReading(
            stat: status, bootTime: bootTime(), ticksPerSecond: sysconf(Int32(_SC_CLK_TCK)),
            pageBytes: sysconf(Int32(_SC_PAGESIZE)), descriptors: descriptors, mostDescriptors: mostDescriptors())
    }

    /// Takes the line of `/proc/self/stat` apart. The program's name, in parentheses, may hold anything.
    init?(
        stat: String, bootTime: Double, ticksPerSecond: Int, pageBytes: Int, descriptors: Int, mostDescriptors: Int
    ) {
        guard let end = stat.lastIndex(of: ")"), ticksPerSecond > 0 else { return nil }
        // The first field behind the name is number 3 of proc(5).
        let fields = stat[stat.index(after: end)...].split(whereSeparator: { $0 == " " || $0 == "\n" })
        func field(_ number: Int) -> Double? { number - 3 < fields.count ? Double(fields[number - 3]) : nil }
        guard let user = field(14), let system = field(15), let threads = field(20), let start = field(22),
            let virtual = field(23), let resident = field(24)
        else { return nil }
        let ticks = Double(ticksPerSecond)
        processorSeconds = (user + system) / ticks
        residentBytes = Int(exactly: resident * Double(pageBytes)) ?? 0
        virtualBytes = Int(exactly: virtual) ?? 0
        startSeconds = bootTime + start / ticks
        self.threads = Int(exactly: threads) ?? 0
        self.descriptors = descriptors
        self.mostDescriptors = mostDescriptors
    }

    /// Seconds since 1970 when the machine started: the start of a process is told relative to it.
    private static func bootTime() -> Double {
        let lines = contents(of: "/proc/stat")?.split(separator: "\n") ?? []
        return lines.first { $0.hasPrefix("btime ") }.flatMap { Double($0.dropFirst(6)) } ?? 0
    }

    private static func mostDescriptors() -> Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 0 }
        return Int(clamping: limit.rlim_cur)
    }

    private static func countDescriptors() -> Int? {
        guard let folder = opendir("/proc/self/fd") else { return nil }
        defer { closedir(folder) }
        var entries = 0
        while readdir(folder) != nil { entries += 1 }
        // Without `.`, `..` and the folder itself.
        return max(0, entries - 3)
    }

    private static func contents(of path: String) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16 * 1024)
        // `/proc/stat` grows with the machine's interrupts; more than a megabyte is not expected of it.
        while bytes.count < 1 << 20 {
            let count = read(descriptor, &chunk, chunk.count)
            if count < 0 && errno == EINTR { continue }
            if count <= 0 { break }
            bytes += chunk[..<count]
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
