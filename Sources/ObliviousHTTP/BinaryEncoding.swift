// Writing Binary HTTP (RFC 9292 3; service.md 3.6). What breaks the rules that a reader enforces is not written.

/// The form in which a message is written.
public struct BinaryEncoding: Sendable, Equatable {
    /// How the ends of sections and content are marked.
    public enum Framing: Sendable, Equatable {
        /// By a length in front.
        case knownLength
        /// By a terminator behind; the content comes in chunks of at most so many bytes.
        case indeterminateLength(chunk: Int)
    }

    /// The framing.
    public var framing: Framing
    /// Zeros are put behind the message until its length is a multiple of this; 1 for no padding.
    public var paddingMultiple: Int
    /// Whether empty parts at the end are left out. Some decoders refuse that.
    public var isTruncated: Bool
    /// Whether a message with content gets the field `content-length`, if it has none.
    public var addsContentLength: Bool

    /// The form that every decoder reads: known length, every section present, no padding, `content-length` added.
    public init(
        framing: Framing = .knownLength, paddingMultiple: Int = 1, isTruncated: Bool = false, addsContentLength: Bool = true
    ) {
        self.framing = framing
        self.paddingMultiple = max(1, paddingMultiple)
        self.isTruncated = isTruncated
        self.addsContentLength = addsContentLength
    }
}

extension BinaryRequest {
    /// The message in bytes.
    ///
    /// Throws `BinaryHTTPError`; its offset is a place in what would have been written.
    public func encoded(_ encoding: BinaryEncoding = BinaryEncoding()) throws(BinaryHTTPError) -> [UInt8] {
        var writer = BinaryWriter(encoding, behind: 0, room: content.count)
        writer.framing(isResponse: false)
        for (part, text) in [
            (ControlPart.method, method), (.scheme, scheme), (.authority, authority), (.path, path),
        ] {
            try writer.control(part, text)
        }
        return try writer.rest(fields, content, trailers, isResponse: false)
    }
}

extension BinaryResponse {
    /// The message in bytes, behind as many zeros as are asked for, and with room for what will be appended.
    ///
    /// Throws `BinaryHTTPError`; its offset is a place in what would have been written.
    public func encoded(
        _ encoding: BinaryEncoding = BinaryEncoding(), behind zeros: Int = 0, before room: Int = 0
    ) throws(BinaryHTTPError) -> [UInt8] {
        var writer = BinaryWriter(encoding, behind: zeros, room: content.count + room)
        writer.framing(isResponse: true)
        for response in informational {
            try writer.status(response.status, in: 100...199)
            try writer.informational(response.fields)
        }
        try writer.status(status, in: 200...599)
        return try writer.rest(fields, content, trailers, isResponse: true)
    }
}

/// Writes one message from its start to its end.
private struct BinaryWriter {
    private let encoding: BinaryEncoding
    private var rules: BinaryFieldRules
    private var bytes: [UInt8]
    /// Bytes before the message.
    private let start: Int

    init(_ encoding: BinaryEncoding, behind zeros: Int, room: Int) {
        self.encoding = encoding
        var limits = BinaryHTTPLimits()
        limits.fieldCount = .max
        limits.fieldBytes = .max
        limits.isStrict = true
        rules = BinaryFieldRules(limits)
        start = zeros
        bytes = []
        bytes.reserveCapacity(zeros + room + encoding.paddingMultiple + 1024)
        bytes += [UInt8](repeating: 0, count: zeros)
    }

    private var offset: Int { bytes.count - start }

    private func failure(_ reason: BinaryHTTPError.Reason) -> BinaryHTTPError {
        BinaryHTTPError(reason: reason, offset: offset)
    }

    private mutating func append(_ part: ArraySlice<UInt8>) {
        VariableLengthInteger.append(part.count, to: &bytes)
        bytes += part
    }

    mutating func framing(isResponse: Bool) {
        bytes.append((isResponse ? 1 : 0) + (encoding.framing == .knownLength ? 0 : 2))
    }

    mutating func control(_ part: ControlPart, _ text: String) throws(BinaryHTTPError) {
        guard let bytes = text.textBytes else { throw failure(.notBytes) }
        if let flaw = part.flaw(bytes[...]) { throw failure(flaw) }
        append(bytes[...])
    }

    mutating func status(_ status: Int, in range: ClosedRange<Int>) throws(BinaryHTTPError) {
        guard range.contains(status) else { throw failure(.badStatus) }
        VariableLengthInteger.append(status, to: &bytes)
    }

    mutating func informational(_ fields: [BinaryField]) throws(BinaryHTTPError) {
        rules.beginNextResponse()
        var lines: [UInt8] = []
        for field in fields { try line(field.name, field.value, .informational, to: &lines) }
        section(lines)
        rules.beginNextResponse()
    }

    private mutating func line(
        _ name: String, _ value: String, _ section: BinaryFieldRules.Section, to lines: inout [UInt8]
    ) throws(BinaryHTTPError) {
        guard let name = name.textBytes, let value = value.textBytes else { throw failure(.notBytes) }
        try rules.check(name: name[...], value: value[...], in: section, at: offset + lines.count)
        VariableLengthInteger.append(name.count, to: &lines)
        lines += name
        VariableLengthInteger.append(value.count, to: &lines)
        lines += value
    }

    private mutating func section(_ lines: [UInt8]) {
        if encoding.framing == .knownLength {
            append(lines[...])
        } else {
            bytes += lines
            bytes.append(0)
        }
    }

    /// Everything behind the control data.
    mutating func rest(_ fields: [BinaryField], _ content: ArraySlice<UInt8>, _ trailers: [BinaryField], isResponse: Bool)
        throws(BinaryHTTPError) -> [UInt8]
    {
        var header: [UInt8] = []
        header.reserveCapacity(256)
        for field in fields { try line(field.name, field.value, .header, to: &header) }
        try rules.check(contentLength: content.count, isResponse: isResponse)
        if encoding.addsContentLength, !content.isEmpty, !rules.hasContentLength {
            try line("content-length", String(content.count), .header, to: &header)
        }
        var trailer: [UInt8] = []
        for field in trailers { try line(field.name, field.value, .trailer, to: &trailer) }
        let parts = encoding.isTruncated ? (trailer.isEmpty ? (content.isEmpty ? (header.isEmpty ? 0 : 1) : 2) : 3) : 3
        if parts > 0 { section(header) }
        if parts > 1 { self.content(content) }
        if parts > 2 { section(trailer) }
        let excess = offset % encoding.paddingMultiple
        if excess > 0 { bytes += [UInt8](repeating: 0, count: encoding.paddingMultiple - excess) }
        return bytes
    }

    private mutating func content(_ content: ArraySlice<UInt8>) {
        switch encoding.framing {
        case .knownLength: append(content)
        case .indeterminateLength(let chunk):
            var rest = content
            while !rest.isEmpty {
                append(rest.prefix(max(1, chunk)))
                rest = rest.dropFirst(max(1, chunk))
            }
            bytes.append(0)
        }
    }
}
