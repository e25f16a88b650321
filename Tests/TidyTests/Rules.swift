// The rules of the house on one file, as functions from a file to what is wrong with it.

/// What is wrong where.
struct Finding: Sendable, Equatable, CustomStringConvertible {
    var path: String
    var line: Int
    var reason: String

    var description: String { "\(path):\(line): \(reason)" }
}

enum Rules {
    static let longestFile = 500
    static let longestFunction = 80

    /// Calls that stop the process, or that turn into undefined behaviour in the targets built with `-Ounchecked`.
    static let bannedCalls = [
        "fatalError(", "try!", "as!", "precondition(", "preconditionFailure(", "assertionFailure(", "abort(",
    ]

    /// Ways around the compiler's checks of memory and of threads.
    static let unsafeWords = [
        "UnsafePointer", "UnsafeMutablePointer", "UnsafeRawPointer", "UnsafeMutableRawPointer", "UnsafeBufferPointer",
        "UnsafeMutableBufferPointer", "UnsafeRawBufferPointer", "UnsafeMutableRawBufferPointer", "OpaquePointer", "Unmanaged",
        "unsafeBitCast", "unsafeDowncast", "withUnsafe", "unsafeUninitializedCapacity", "@unchecked", "nonisolated(unsafe)",
        "unowned(unsafe)", "withMemoryRebound", "assumingMemoryBound",
    ]

    /// Spelled apart, so that this file does not break its own rules.
    static let unfinishedMarks = ["TO" + "DO", "FIX" + "ME"]
    static let localPaths = ["/wo" + "rk/", ".lib" + "rary/"]
    static let emptyNames = ["Util", "Helper", "Manager", "Misc"]

    static func length(of file: SourceFile) -> [Finding] {
        guard file.lines.count > longestFile else { return [] }
        return [
            Finding(
                path: file.path, line: file.lines.count, reason: "\(file.lines.count) lines, at most \(longestFile) allowed")
        ]
    }

    static func bannedCalls(in file: SourceFile) -> [Finding] {
        findings(of: bannedCalls, in: file.path, file.code, asWord: true) {
            "`\($0)` can stop the process: throw a typed error"
        }
    }

    static func unsafeWords(in file: SourceFile) -> [Finding] {
        findings(of: unsafeWords, in: file.path, file.code, asWord: false) { "`\($0)` outside the rooms that may use it" }
    }

    static func unfinishedMarks(in file: SourceFile) -> [Finding] {
        findings(of: unfinishedMarks, in: file.path, file.lines, asWord: true) { "`\($0)`: do it, or write an issue" }
    }

    static func localPaths(in file: SourceFile) -> [Finding] {
        findings(of: localPaths, in: file.path, file.lines, asWord: false) { "`\($0)` exists on one machine only" }
    }

    static func emptyName(of file: SourceFile) -> [Finding] {
        emptyNames.filter { name in file.path.split(separator: "/").contains { $0.contains(name) } }.map {
            Finding(path: file.path, line: 1, reason: "`\($0)` in a name says nothing about what is inside")
        }
    }

    /// A file of one line needs no words, and a C file is explained in its header.
    static func firstComment(of file: SourceFile) -> [Finding] {
        let first = file.lines.first ?? ""
        let isExplainedElsewhere = file.path.hasSuffix(".c") || file.path.hasSuffix(".cpp")
        if first.hasPrefix("// ") || first.hasPrefix("/*") || file.lines.count <= 1 || isExplainedElsewhere { return [] }
        return [Finding(path: file.path, line: 1, reason: "the first line does not say what the file holds")]
    }

    /// Public declarations without `///` above them (attributes may stand between).
    static func undocumented(in file: SourceFile) -> [Finding] {
        var result: [Finding] = []
        for (index, line) in file.code.enumerated() {
            let words = line.split(whereSeparator: { $0 == " " || $0 == "\t" })
            guard let visibility = words.firstIndex(where: { $0 == "public" || $0 == "open" }),
                words[..<visibility].allSatisfy({ $0.hasPrefix("@") || ["final", "static", "nonisolated"].contains($0) }),
                words.count > visibility + 1, words[visibility + 1] != "import"
            else { continue }
            var above = index - 1
            while above >= 0, file.code[above].trimmed.hasPrefix("@") { above -= 1 }
            let comment = above >= 0 ? file.lines[above].trimmed : ""
            if !comment.hasPrefix("///"), !comment.hasSuffix("*/") {
                result.append(Finding(path: file.path, line: index + 1, reason: "public, but without a `///` comment"))
            }
        }
        return result
    }

    /// The modules that a file imports, with their lines.
    static func imports(of file: SourceFile) -> [(module: String, line: Int)] {
        file.code.enumerated().compactMap { index, line in
            let words = line.split(separator: " ").map(String.init)
            guard let keyword = words.firstIndex(of: "import"),
                words[..<keyword].allSatisfy({
                    $0.hasPrefix("@") || ["public", "internal", "package", "private", "fileprivate"].contains($0)
                })
            else { return nil }
            let kinds = ["struct", "class", "enum", "protocol", "func", "var", "let", "typealias"]
            guard let name = words[(keyword + 1)...].first(where: { !kinds.contains($0) }) else { return nil }
            return (String(name.prefix { $0 != "." && $0 != ";" }), index + 1)
        }
    }

    private static func findings(
        of words: [String], in path: String, _ lines: [String], asWord: Bool, reason: (String) -> String
    ) -> [Finding] {
        var result: [Finding] = []
        for (index, line) in lines.enumerated() {
            for word in words where line.utf8.count >= word.utf8.count && contains(line, word, asWord: asWord) {
                result.append(Finding(path: path, line: index + 1, reason: reason(word)))
            }
        }
        return result
    }

    /// Whether the line holds the word, not preceded by a letter, a digit, `_` or `.` when `asWord`.
    private static func contains(_ line: String, _ word: String, asWord: Bool) -> Bool {
        let line = Array(line.utf8)
        let word = Array(word.utf8)
        return line.indices.dropLast(word.count - 1).contains { start in
            guard line[start..<start + word.count].elementsEqual(word) else { return false }
            return !asWord || start == 0 || !(line[start - 1].isNameByte || line[start - 1] == UInt8(ascii: "."))
        }
    }
}

extension UInt8 {
    /// A byte of an identifier.
    var isNameByte: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "_"), 0x80...0xFF:
            true
        default: false
        }
    }
}

extension String {
    /// Without the spaces at its ends.
    var trimmed: String {
        let start = drop { $0 == " " || $0 == "\t" }
        return String(start.reversed().drop { $0 == " " || $0 == "\t" }.reversed())
    }
}
