// The DNS TXT record by which the vendor sees that host and app belong together (service.md 3.11).

import CLinux
import Glibc

/// Where TXT records are looked up.
public enum TextRecordSource: Sendable, Equatable {
    /// The system's resolver.
    case resolver
    /// A file with lines `NAME TXT "text"`; `#` begins a comment.
    case file(String)
}

/// Why TXT records cannot be told.
public enum TextRecordError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The resolver gave no answer.
    case noAnswer
    /// The answer is no DNS message, or too long.
    case malformed
    /// The file cannot be read.
    case unreadable(path: String)

    /// In words.
    public var description: String {
        switch self {
        case .noAnswer: "the resolver gave no answer"
        case .malformed: "the resolver's answer cannot be read"
        case .unreadable(let path): "\(path) cannot be read"
        }
    }
}

extension TextRecordSource {
    private static let longestAnswer = 65_536
    private static let longestFile = 1 << 20

    /// The TXT records of a name. May wait for the resolver.
    public func records(of name: String) throws(TextRecordError) -> [String] {
        switch self {
        case .resolver:
            var buffer = [UInt8](repeating: 0, count: Self.longestAnswer)
            let count = clinux_text_records(name + ".", &buffer, Int32(Self.longestAnswer))
            return try Self.texts(in: buffer, count: count)
        case .file(let path): return try Self.lines(of: path, name: name)
        }
    }

    /// The TXT records in a DNS message (RFC 1035 section 4.1).
    static func records(inMessage message: [UInt8]) throws(TextRecordError) -> [String] {
        var buffer = [UInt8](repeating: 0, count: longestAnswer)
        let count = clinux_parse_text_records(message, Int32(clamping: message.count), &buffer, Int32(longestAnswer))
        return try texts(in: buffer, count: count)
    }

    private static func texts(in buffer: [UInt8], count: Int32) throws(TextRecordError) -> [String] {
        guard count >= 0 else { throw count == Int32(CLINUX_TEXT_FAILED) ? .noAnswer : .malformed }
        var rest = buffer[..<Int(count)]
        var texts: [String] = []
        while let high = rest.popFirst(), let low = rest.popFirst() {
            let length = Int(high) << 8 | Int(low)
            texts.append(String(decoding: rest.prefix(length), as: UTF8.self))
            rest = rest.dropFirst(length)
        }
        return texts
    }

    private static func lines(of path: String, name: String) throws(TextRecordError) -> [String] {
        var status = stat()
        // A pipe would be waited for.
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, let file = fopen(path, "re") else {
            throw .unreadable(path: path)
        }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: longestFile)
        let count = fread(&bytes, 1, bytes.count, file)
        guard ferror(file) == 0 else { throw .unreadable(path: path) }
        var texts: [String] = []
        for line in bytes[..<count].split(separator: 0x0A) {
            let line = String(decoding: line, as: UTF8.self)
            let words = line.split(maxSplits: 2, whereSeparator: { $0 == " " || $0 == "\t" })
            guard words.count == 3, !line.hasPrefix("#"), words[1].uppercased() == "TXT" else { continue }
            let host = words[0].lowercased()
            guard host == name || host == name + "." else { continue }
            texts.append(words[2].filter { $0 != "\"" && $0 != "\r" })
        }
        return texts
    }
}
