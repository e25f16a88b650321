// A server needs a descriptor for each connection; the limit that a shell hands on is often 1024.

import Glibc

/// How many files this process may open.
public enum OpenFiles {
    /// Raises the limit to what the system allows this process.
    public static func allowMost() {
        var limit = rlimit()
        let files = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        guard getrlimit(files, &limit) == 0, limit.rlim_cur < limit.rlim_max else { return }
        limit.rlim_cur = limit.rlim_max
        setrlimit(files, &limit)
    }
}
