// How long a body is (RFC 9112 section 6, service.md 5.3), and the decoder that collects it.

/// The length of a message body on an HTTP/1.1 connection.
public enum HTTP1Framing: Sendable, Equatable {
    /// No body.
    case none
    /// Exactly this many bytes, at least 1.
    case length(Int)
    /// Chunked transfer coding.
    case chunked
    /// Up to the end of the connection (responses only).
    case untilEnd

    /// The framing that the fields of a request announce.
    static func ofRequest(_ fields: HTTPFields, minorVersion: Int) throws(HTTPParseError) -> HTTP1Framing {
        try announced(fields, minorVersion: minorVersion) ?? .none
    }

    /// The framing of the answer to a request with this method.
    static func ofResponse(
        _ fields: HTTPFields, status: Int, method: String, minorVersion: Int
    ) throws(HTTPParseError) -> HTTP1Framing {
        if method == "HEAD" || status == 204 || status == 304 { return .none }
        return try announced(fields, minorVersion: minorVersion) ?? .untilEnd
    }

    private static func announced(_ fields: HTTPFields, minorVersion: Int) throws(HTTPParseError) -> HTTP1Framing? {
        let codings = fields.values("transfer-encoding")
        let lengths = fields.values("content-length")
        if !codings.isEmpty {
            if !lengths.isEmpty { throw .conflictingLength }
            if minorVersion == 0 { throw .transferEncodingInOldVersion }
            guard codings.count == 1, HTTPFields.lowercased(codings[0]) == "chunked" else {
                throw .unsupportedTransferEncoding
            }
            return .chunked
        }
        guard let text = lengths.first else { return nil }
        if lengths.count > 1 { throw .repeatedContentLength }
        guard let length = HTTPSyntax.decimal(text.utf8, digits: 18) else { throw .malformedContentLength }
        return length == 0 ? HTTP1Framing.none : .length(length)
    }
}

/// Collects one body out of a queue. Nothing is reserved beyond the limit.
struct BodyDecoder: Sendable {
    private enum State: Sendable {
        case fixed(Int), size, data(Int), dataEnd, trailers(FieldSectionReader), untilEnd, complete
    }

    private(set) var body: [UInt8] = []
    /// Bytes counted towards the limit: data and, when chunked, size lines and line ends.
    private(set) var counted = 0
    private let limit: Int
    private let limits: HTTPLimits
    private var state: State
    private var lines = LineReader()

    init(framing: HTTP1Framing, limit: Int, limits: HTTPLimits) throws(HTTPParseError) {
        self.limit = limit
        self.limits = limits
        switch framing {
        case .none: state = .complete
        case .length(let length):
            if length > limit { throw .bodyTooLarge }
            body.reserveCapacity(length)
            state = .fixed(length)
        case .chunked: state = .size
        case .untilEnd: state = .untilEnd
        }
    }

    var endsWithConnection: Bool { if case .untilEnd = state { true } else { false } }

    /// True when the body is complete; false if more bytes are needed.
    mutating func read(_ queue: inout ByteQueue) throws(HTTPParseError) -> Bool {
        while true {
            switch state {
            case .complete: return true
            case .fixed(let left):
                let taken = take(&queue, left)
                state = taken == left ? .complete : .fixed(left - taken)
                if taken < left { return false }
            case .untilEnd:
                if queue.count > limit - body.count { throw .bodyTooLarge }
                take(&queue, queue.count)
                return false
            case .size:
                guard let size = try readSize(&queue) else { return false }
                state = size == 0 ? .trailers(FieldSectionReader()) : .data(size)
            case .data(let left):
                let taken = take(&queue, left)
                state = taken == left ? .dataEnd : .data(left - taken)
                if taken < left { return false }
            case .dataEnd:
                guard let first = queue.prefix(1).first else { return false }
                if first != HTTPSyntax.carriageReturn { throw .malformedChunkEnd }
                guard queue.count >= 2 else { return false }
                if queue[1] != HTTPSyntax.lineFeed { throw .malformedChunkEnd }
                queue.consume(2)
                counted += 2
                state = .size
            case .trailers(var section):
                let done = try section.read(&queue, limits: limits)
                state = done ? .complete : .trailers(section)
                return done
            }
        }
    }

    mutating func takeBody() -> [UInt8] {
        defer { body = [] }
        return body
    }

    @discardableResult private mutating func take(_ queue: inout ByteQueue, _ wanted: Int) -> Int {
        let slice = queue.prefix(wanted)
        body.append(contentsOf: slice)
        let taken = slice.count
        queue.consume(taken)
        counted += taken
        return taken
    }

    /// The size line of a chunk; its overhead counts towards the limit (service.md 5.3).
    private mutating func readSize(_ queue: inout ByteQueue) throws(HTTPParseError) -> Int? {
        let longest = limits.chunkSizeDigits + limits.chunkExtension
        guard let line = try lines.next(&queue, limit: longest, tooLong: .malformedChunkSize) else { return nil }
        let digits = line.prefix { HTTPSyntax.hexValue($0) != nil }
        guard (1...min(15, limits.chunkSizeDigits)).contains(digits.count) else { throw .malformedChunkSize }
        let rest = line[digits.count...]
        guard rest.isEmpty || rest.first == UInt8(ascii: ";"), rest.count <= limits.chunkExtension,
            rest.allSatisfy(HTTPSyntax.isValueByte)
        else { throw .malformedChunkSize }
        var size = 0
        for byte in digits { size = size << 4 | (HTTPSyntax.hexValue(byte) ?? 0) }
        counted += line.count + 2
        let room = limit - counted
        if room < 0 || (size > 0 && size > room - 2) { throw .bodyTooLarge }
        return size
    }
}
