// Paths as text: resolving relative ones against a folder, without touching the file system.

import Glibc

/// Path arithmetic on text.
enum FilePathText {
    /// `path` as an absolute path: itself if it is one, else below `base`. Empty and `.` parts are dropped, `..` is kept
    /// (the system resolves it, symbolic links included).
    static func resolve(_ path: String, in base: String) -> String {
        let whole = path.hasPrefix("/") ? path : base + "/" + path
        let parts = whole.split(separator: "/").filter { $0 != "." }
        return "/" + parts.joined(separator: "/")
    }

    /// The folder that holds `path`.
    static func directory(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// The last part of `path`.
    static func name(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return path }
        return String(path[path.index(after: slash)...])
    }

    /// The working folder of the process, `/` if it has none.
    static func currentDirectory() -> String {
        guard let buffer = getcwd(nil, 0) else { return "/" }
        defer { free(buffer) }
        return String(cString: buffer)
    }
}

extension FilePathText {
    /// `path` as messages show it: relative to the working folder when it is below it.
    static func shown(_ path: String) -> String {
        let base = currentDirectory()
        let prefix = base.hasSuffix("/") ? base : base + "/"
        return path.hasPrefix(prefix) ? String(path.dropFirst(prefix.count)) : path
    }
}
