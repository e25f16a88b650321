// What a check asks the machine for, as values and closures, so that a test can be another machine.

import CLinux
import Glibc
import HTTPCore

/// The machine that a check runs on.
public struct Machine: Sendable {
    /// Seconds since 1970, and what is behind the point.
    public var now: @Sendable () -> Double
    /// Whether a time service disciplines the clock; nil if the kernel does not say.
    public var isClockDisciplined: Bool?
    /// When this program was built at the earliest, in seconds since 1970.
    public var earliestTime: Int64
    /// Bytes that are free where a path is; nil if it cannot be told.
    public var freeBytes: @Sendable (String) -> Int64?
    /// Files that a process may open.
    public var openFiles: Int
    /// Versions of the libraries: what it is, and its number.
    public var libraries: [Library]

    /// A library with its version.
    public struct Library: Sendable, Equatable {
        /// Its name.
        public var name: String
        /// Major, minor, patch.
        public var version: [Int]
        /// The least that works here.
        public var least: [Int]

        /// A library.
        public init(name: String, version: [Int], least: [Int]) {
            self.name = name
            self.version = version
            self.least = least
        }
    }

    /// This machine.
    public static var current: Machine {
        let disciplined = clinux_clock_is_synchronised()
        return Machine(
            now: {
                var time = timespec()
                clock_gettime(CLOCK_REALTIME, &time)
                return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
            }, isClockDisciplined: disciplined < 0 ? nil : disciplined == 1,
            // The day on which this check was written; a clock before it is wrong on every machine.
            earliestTime: 1_795_996_800,
            freeBytes: { path in
                var status = statvfs()
                guard statvfs(path, &status) == 0 else { return nil }
                let (bytes, isTooMuch) = Int64(clamping: status.f_bavail).multipliedReportingOverflow(
                    by: Int64(clamping: status.f_frsize))
                return isTooMuch ? .max : bytes
            }, openFiles: openFileLimit(),
            libraries: [
                Library(name: "OpenSSL", version: HTTPLibraries.openSSL, least: [3, 0, 0]),
                Library(name: "nghttp2", version: HTTPLibraries.nghttp2, least: [1, 41, 0]),
            ])
    }

    private static func openFileLimit() -> Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return .max }
        return Int(clamping: limit.rlim_max)
    }
}
