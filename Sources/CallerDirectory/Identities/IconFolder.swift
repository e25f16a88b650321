// Icons of callers: files of one folder, `<number>.heic` or the file that the row names (design.md, Data in; keyword-pir.md
// 11.2). Nothing outside the folder is ever opened.

import Glibc

/// Why there is no icon where a row names one.
enum IconIssue: Error, Sendable, Equatable {
    case noFolder
    case notAFileName
    case missing
    case tooLong(Int)
    case unreadable(String)

    var expected: String {
        switch self {
        case .noFolder: return "a folder of icons in the use case (\"icons\") for a row that names one"
        case .notAFileName: return "the name of a file in the icons folder, without path"
        case .missing: return "a file of that name in the icons folder"
        case .tooLong(let most): return "an icon that leaves the value within 65535 bytes (at most \(most) bytes here)"
        case .unreadable: return "a readable icon"
        }
    }
}

/// A folder of icons, listed once.
struct IconFolder {
    /// Suffix of the icons that are found by number.
    static let suffix = ".heic"

    let path: String
    private let names: Set<String>

    /// Lists the folder.
    init(path: String) throws(FileReadError) {
        self.path = path
        guard let directory = opendir(path) else { throw FileReadError(errno: errno) }
        defer { closedir(directory) }
        var names: Set<String> = []
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
            if name != "." && name != ".." { names.insert(name) }
        }
        self.names = names
    }

    /// The image of a caller: the named file if there is a name, else the number's, else nil.
    func image(for number: E164Number, named name: String) throws(IconIssue) -> [UInt8]? {
        if name.isEmpty {
            let own = number.description + IconFolder.suffix
            return names.contains(own) ? try read(own) : nil
        }
        guard !name.contains("/"), !name.utf8.contains(0), name != ".", name != ".." else { throw .notAFileName }
        guard names.contains(name) else { throw .missing }
        return try read(name)
    }

    private func read(_ name: String) throws(IconIssue) -> [UInt8] {
        let file = path + "/" + name
        // A link could lead out of the folder.
        var status = stat()
        guard lstat(file, &status) == 0 else { throw .missing }
        guard status.st_mode & S_IFMT == S_IFREG else { throw .notAFileName }
        guard status.st_size <= KeywordRows.valueBytesAtMost else { throw .tooLong(KeywordRows.valueBytesAtMost) }
        do {
            return try ChunkedFile.readWhole(file, limit: KeywordRows.valueBytesAtMost)
        } catch {
            throw .unreadable(error.description)
        }
    }
}
