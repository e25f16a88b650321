// No core dumps: the memory of a server holds user identifiers and keys (service.md 8.1).

import Glibc

/// Core dumps of this process.
public enum CoreDumps {
    /// Switches them off for good; also for child processes.
    public static func forbid() {
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
    }
}
