// Received bytes that have not been consumed yet, and the line reader on them. Appending and consuming are amortised
// linear: large bodies are never moved more than twice.

struct ByteQueue: Sendable {
    private var bytes: [UInt8] = []
    private var start = 0

    var count: Int { bytes.count - start }
    var isEmpty: Bool { start == bytes.count }

    /// The byte at an offset; the caller stays below `count`.
    subscript(offset: Int) -> UInt8 { bytes[start + offset] }

    /// The first bytes, at most `count`.
    func prefix(_ length: Int) -> ArraySlice<UInt8> { bytes[start..<(start + min(length, count))] }

    func firstIndex(of byte: UInt8, from offset: Int) -> Int? {
        guard offset < count else { return nil }
        return bytes[(start + offset)...].firstIndex(of: byte).map { $0 - start }
    }

    mutating func append(_ new: ArraySlice<UInt8>) {
        if isEmpty {
            bytes.removeAll(keepingCapacity: true)
            start = 0
        } else if start > bytes.count / 2 {
            bytes.removeSubrange(..<start)
            start = 0
        }
        bytes.append(contentsOf: new)
    }

    mutating func consume(_ length: Int) { start += min(length, count) }

    /// Gives the storage back when nothing is in it, so that ten thousand idle connections hold no buffers.
    mutating func releaseIfEmpty() {
        guard isEmpty else { return }
        bytes = []
        start = 0
    }
}

/// Reads CRLF-ended lines out of a queue, strictly and with a limit. The verdict does not depend on how the input was cut:
/// a line's length is judged before its content, and both only by bytes up to its end.
struct LineReader: Sendable {
    private var searched = 0

    /// The next line without its end; nil if more bytes are needed. The empty line is exempt from the limit.
    mutating func next(
        _ queue: inout ByteQueue, limit: Int, tooLong: HTTPParseError
    ) throws(HTTPParseError) -> [UInt8]? {
        let end = queue.firstIndex(of: HTTPSyntax.lineFeed, from: searched)
        let before = end ?? queue.count
        let hasReturn = before > 0 && queue[before - 1] == HTTPSyntax.carriageReturn
        let length = hasReturn ? before - 1 : before
        if length > 0, length > limit { throw tooLong }
        guard end != nil else {
            searched = queue.count
            return nil
        }
        guard hasReturn else { throw .bareLineFeed }
        let line = Array(queue.prefix(length))
        if line.contains(HTTPSyntax.carriageReturn) { throw .bareCarriageReturn }
        queue.consume(before + 1)
        searched = 0
        return line
    }
}

/// Reads a header or trailer section (RFC 9112 section 5): field lines up to the empty line.
struct FieldSectionReader: Sendable {
    private(set) var fields = HTTPFields()
    private var size = 0
    private var lines = LineReader()

    /// True when the section is complete; false if more bytes are needed.
    mutating func read(_ queue: inout ByteQueue, limits: HTTPLimits) throws(HTTPParseError) -> Bool {
        while true {
            let room = limits.headerSection - size - 2
            guard let line = try lines.next(&queue, limit: room, tooLong: .headerSectionTooLarge) else { return false }
            if line.isEmpty { return true }
            size += line.count + 2
            guard fields.count < limits.fieldCount else { throw .tooManyFields }
            try append(line)
        }
    }

    private mutating func append(_ line: [UInt8]) throws(HTTPParseError) {
        if line[0] == HTTPSyntax.space || line[0] == HTTPSyntax.tab { throw .foldedField }
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")), HTTPSyntax.isToken(line[..<colon]) else {
            throw .malformedFieldName
        }
        let value = HTTPSyntax.trimmed(line[(colon + 1)...])
        guard value.allSatisfy(HTTPSyntax.isValueByte) else { throw .malformedFieldValue }
        fields.append(HTTPSyntax.text(line[..<colon]), HTTPSyntax.text(value))
    }
}
