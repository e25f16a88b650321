// The reference tools' files, record by record: `KeywordDatabase` and `InputIdentities` (keyword-pir.md 11.1, 11.2).
// Binary files are framed here piece by piece, so that memory is bounded by one record; text files are held whole.

import LookupMessages
import Protobuf

/// The records of one file. Any error ends it, since what follows has no known place.
struct RecordFile<Record: RecordMessage> {
    private enum Form {
        case text(RecordStream<Record>)
        case binary(RecordFrames)
    }

    let file: String
    private var form: Form
    private var number = 0

    /// Opens `path`; `.txtpb` is text, anything else binary.
    init(path: String, file: String) throws(SourceError) {
        self.file = file
        do {
            if path.hasSuffix(".txtpb") {
                form = .text(RecordStream(text: try ChunkedFile.readWhole(path, limit: RecordFiles.textBytesAtMost)[...]))
            } else {
                let opened = try ChunkedFile(path)
                form = .binary(RecordFrames { () throws(FileReadError) in try opened.next() })
            }
        } catch {
            throw RecordFiles.unreadable(file, error)
        }
    }

    /// The next record and the line or record number where it stands; nil at the end.
    mutating func next() throws(SourceError) -> (record: Record, line: Int)? {
        switch form {
        case .text(var stream):
            defer { form = .text(stream) }
            do {
                guard let record = try stream.next() else { return nil }
                return (record, stream.line ?? stream.recordNumber)
            } catch let error as TextFormatError {
                throw failure(line: error.line, column: error.column, "\(error.reason)")
            } catch {
                throw failure(line: stream.line ?? stream.recordNumber, column: 0, "\(error)")
            }
        case .binary(var frames):
            defer { form = .binary(frames) }
            number += 1
            do {
                guard let frame = try frames.next() else { return nil }
                return (try Record(decoding: frame, limits: .file), number)
            } catch {
                throw failure(line: number, column: 0, "\(error)")
            }
        }
    }

    private func failure(line: Int, column: Int, _ came: String) -> SourceError {
        let position = SourcePosition(file: file, line: line, column: column)
        // The readers say either what is wrong or what they expected; "got expected" is no sentence.
        let lead = "expected "
        let finding =
            came.hasPrefix(lead)
            ? SourceFinding(
                position: position, expected: "\(came.dropFirst(lead.count)) (in a \(Record.recordFile))", came: "other text")
            : SourceFinding(position: position, expected: "a valid \(Record.recordFile)", came: came)
        return SourceError([finding])
    }
}

/// What does not depend on the kind of record.
enum RecordFiles {
    /// Longest text file, in bytes: 2 GiB.
    static let textBytesAtMost = 2 << 30
    /// Longest record of a binary file, in bytes.
    static let recordBytesAtMost = 1 << 20

    static func unreadable(_ file: String, _ error: FileReadError) -> SourceError {
        let position = SourcePosition(file: file, line: 0)
        return SourceError([SourceFinding(position: position, expected: "a readable file", came: error.description)])
    }

    /// Name of the first field of a text file; nil when it has none.
    static func firstFieldName(path: String, file: String) throws(SourceError) -> String? {
        do {
            let opened = try ChunkedFile(path)
            // The first name stands behind comments at most; a megabyte of them is enough.
            var head: [UInt8] = []
            while head.count < 1 << 20 {
                let chunk = try opened.next()
                if chunk.isEmpty { break }
                head.append(contentsOf: chunk)
                if let name = fieldName(in: head), !name.touchesEnd { return name.text }
            }
            return fieldName(in: head)?.text
        } catch {
            throw unreadable(file, error)
        }
    }

    private static func fieldName(in head: [UInt8]) -> (text: String, touchesEnd: Bool)? {
        var isComment = false
        var name: [UInt8] = []
        for byte in head {
            if isComment {
                isComment = byte != 0x0a
            } else if byte == UInt8(ascii: "#") && name.isEmpty {
                isComment = true
            } else if NumberText.isDigit(byte) || byte == UInt8(ascii: "_") || (0x61...0x7a).contains(byte | 0x20) {
                name.append(byte)
            } else if !name.isEmpty {
                return (String(decoding: name, as: UTF8.self), false)
            } else if byte > 0x20, ![0xef, 0xbb, 0xbf].contains(byte) {
                return nil
            }
        }
        return name.isEmpty ? nil : (String(decoding: name, as: UTF8.self), true)
    }
}

/// Why a binary file cannot be cut into records.
enum RecordFrameError: Error, Sendable, Equatable, CustomStringConvertible {
    case truncated
    case varintTooLong
    case wireType(UInt8)
    case fieldNumberZero
    case recordTooLong(UInt64)
    case unreadable(FileReadError)

    var description: String {
        switch self {
        case .truncated: return "the file ends inside a record"
        case .varintTooLong: return "a length of more than ten bytes"
        case .wireType(let type): return "wire type \(type)"
        case .fieldNumberZero: return "a field with the number 0, as a file of zeros has"
        case .recordTooLong(let length): return "a record of \(length) bytes, at most \(RecordFiles.recordBytesAtMost) are read"
        case .unreadable(let error): return error.description
        }
    }
}

/// Cuts a protobuf message into the payloads of its field 1; other fields are skipped.
struct RecordFrames {
    private let source: () throws(FileReadError) -> [UInt8]
    private var chunk: [UInt8] = []
    private var index = 0

    /// `source` gives the next piece each time, an empty one at the end.
    init(source: @escaping () throws(FileReadError) -> [UInt8]) { self.source = source }

    private mutating func byte() throws(RecordFrameError) -> UInt8? {
        if index == chunk.count {
            do { chunk = try source() } catch { throw .unreadable(error) }
            index = 0
        }
        guard index < chunk.count else { return nil }
        defer { index += 1 }
        return chunk[index]
    }

    private mutating func varint(first: UInt8? = nil) throws(RecordFrameError) -> UInt64 {
        var value: UInt64 = 0
        var shift: UInt64 = 0
        var pending = first
        while shift < 70 {
            let next: UInt8
            if let known = pending {
                next = known
                pending = nil
            } else {
                guard let read = try byte() else { throw .truncated }
                next = read
            }
            value |= UInt64(next & 0x7f) << shift
            if next < 0x80 { return value }
            shift += 7
        }
        throw .varintTooLong
    }

    /// The payload of the next field 1, nil at the end.
    mutating func next() throws(RecordFrameError) -> [UInt8]? {
        while let first = try byte() {
            let tag = try varint(first: first)
            guard tag >> 3 != 0 else { throw .fieldNumberZero }
            switch (tag & 7, tag >> 3) {
            case (2, 1):
                let length = try varint()
                guard length <= UInt64(RecordFiles.recordBytesAtMost) else { throw .recordTooLong(length) }
                return try take(Int(length))
            case (2, _):
                var left = try varint()
                while left > 0 {
                    let part = min(left, 1 << 16)
                    _ = try take(Int(part))
                    left -= part
                }
            case (0, _): _ = try varint()
            case (1, _): _ = try take(8)
            case (5, _): _ = try take(4)
            default: throw .wireType(UInt8(tag & 7))
            }
        }
        return nil
    }

    private mutating func take(_ count: Int) throws(RecordFrameError) -> [UInt8] {
        if count <= chunk.count - index {
            defer { index += count }
            return Array(chunk[index..<(index + count)])
        }
        var result: [UInt8] = []
        while result.count < count {
            guard let first = try byte() else { throw .truncated }
            result.append(first)
            let part = chunk[index...].prefix(count - result.count)
            result.append(contentsOf: part)
            index += part.count
        }
        return result
    }
}
