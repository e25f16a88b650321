// Reading Binary HTTP (RFC 9292 3; service.md 3.6): both framings, truncated messages, padding. Content is not copied unless it
// comes in several chunks.

extension BinaryRequest {
    /// Reads a request.
    ///
    /// Throws `BinaryHTTPError`.
    public init(decoding message: ArraySlice<UInt8>, limits: BinaryHTTPLimits = BinaryHTTPLimits()) throws(BinaryHTTPError) {
        var reader = BinaryReader(message, limits)
        guard try !reader.framing() else { throw BinaryHTTPError(reason: .notARequest, offset: 0) }
        method = try reader.control(.method)
        scheme = try reader.control(.scheme)
        authority = try reader.control(.authority)
        path = try reader.control(.path)
        fields = try reader.fields(.header)
        content = try reader.content(isResponse: false)
        trailers = try reader.fields(.trailer)
        try reader.padding()
    }
}

extension BinaryResponse {
    /// Reads a response.
    ///
    /// Throws `BinaryHTTPError`.
    public init(decoding message: ArraySlice<UInt8>, limits: BinaryHTTPLimits = BinaryHTTPLimits()) throws(BinaryHTTPError) {
        var reader = BinaryReader(message, limits)
        guard try reader.framing() else { throw BinaryHTTPError(reason: .notAResponse, offset: 0) }
        informational = []
        status = try reader.status()
        while status < 200 {
            guard informational.count < limits.informational else { throw reader.failure(.tooManyInformational) }
            informational.append(Informational(status: status, fields: try reader.fields(.informational)))
            status = try reader.status()
        }
        fields = try reader.fields(.header)
        content = try reader.content(isResponse: true)
        trailers = try reader.fields(.trailer)
        try reader.padding()
    }
}

/// Reads one message from its start to its end.
struct BinaryReader {
    private let message: ArraySlice<UInt8>
    private let limits: BinaryHTTPLimits
    private var rules: BinaryFieldRules
    private var isKnownLength = true
    private var position: Int

    init(_ message: ArraySlice<UInt8>, _ limits: BinaryHTTPLimits) {
        self.message = message
        self.limits = limits
        rules = BinaryFieldRules(limits)
        position = message.startIndex
    }

    private var offset: Int { position - message.startIndex }

    /// What is wrong here.
    func failure(_ reason: BinaryHTTPError.Reason) -> BinaryHTTPError { BinaryHTTPError(reason: reason, offset: offset) }

    /// Whether it is a response.
    mutating func framing() throws(BinaryHTTPError) -> Bool {
        let framing = try number(before: message.endIndex)
        guard framing < 4 else { throw BinaryHTTPError(reason: .unknownFraming, offset: 0) }
        isKnownLength = framing < 2
        return framing % 2 == 1
    }

    private mutating func number(before end: Int) throws(BinaryHTTPError) -> UInt64 {
        guard position < end else { throw failure(.truncated) }
        let length = VariableLengthInteger.length(message[position])
        guard length <= end - position else { throw failure(.truncated) }
        defer { position += length }
        return VariableLengthInteger.value(message[position..<position + length])
    }

    /// A length that does not go beyond the end.
    private mutating func length(before end: Int) throws(BinaryHTTPError) -> Int {
        let start = self
        let number = try number(before: end)
        guard number <= UInt64(end - position) else { throw start.failure(.lengthBeyondEnd) }
        return Int(number)
    }

    private mutating func take(_ count: Int) -> ArraySlice<UInt8> {
        defer { position += count }
        return message[position..<position + count]
    }

    mutating func control(_ part: ControlPart) throws(BinaryHTTPError) -> String {
        let start = self
        let length = try length(before: message.endIndex)
        guard length <= part.limit(limits) else { throw start.failure(part.tooLong) }
        let bytes = take(length)
        if let flaw = part.flaw(bytes) { throw start.failure(flaw) }
        return String(byteText: bytes)
    }

    mutating func status() throws(BinaryHTTPError) -> Int {
        let start = self
        let status = try number(before: message.endIndex)
        guard (100...599).contains(status) else { throw start.failure(.badStatus) }
        return Int(status)
    }

    /// A section of fields; none where the message ends.
    mutating func fields(_ section: BinaryFieldRules.Section) throws(BinaryHTTPError) -> [BinaryField] {
        // The status of the response that an informational one announces is still to come.
        if section == .informational { rules.beginNextResponse() } else if position == message.endIndex { return [] }
        var fields: [BinaryField] = []
        if isKnownLength {
            let length = try length(before: message.endIndex)
            let end = position + length
            while position < end {
                let line = self
                let length = try self.length(before: end)
                guard length > 0 else { throw line.failure(.emptyFieldName) }
                fields.append(try field(nameLength: length, section, before: end, at: line.offset))
            }
        } else {
            while true {
                let line = self
                let length = try length(before: message.endIndex)
                if length == 0 { break }
                fields.append(try field(nameLength: length, section, before: message.endIndex, at: line.offset))
            }
        }
        if section == .informational { rules.beginNextResponse() }
        return fields
    }

    private mutating func field(nameLength: Int, _ section: BinaryFieldRules.Section, before end: Int, at offset: Int)
        throws(BinaryHTTPError) -> BinaryField
    {
        let name = take(nameLength)
        let length = try length(before: end)
        return try rules.admit(name: name, value: take(length), in: section, at: offset)
    }

    /// The content; none where the message ends.
    mutating func content(isResponse: Bool) throws(BinaryHTTPError) -> ArraySlice<UInt8> {
        let start = self
        var content = message[position..<position]
        if position < message.endIndex {
            if isKnownLength {
                content = take(try length(before: message.endIndex))
            } else {
                content = try chunks()
            }
        }
        guard content.count <= limits.content else { throw start.failure(.contentTooLarge) }
        try rules.check(contentLength: content.count, isResponse: isResponse)
        return content
    }

    private mutating func chunks() throws(BinaryHTTPError) -> ArraySlice<UInt8> {
        var only = message[position..<position]
        var joined: [UInt8] = []
        while true {
            let length = try length(before: message.endIndex)
            if length == 0 { return joined.isEmpty ? only : joined[...] }
            let chunk = take(length)
            if only.isEmpty {
                only = chunk
            } else {
                if joined.isEmpty { joined += only }
                joined += chunk
            }
        }
    }

    /// Zeros to the end.
    mutating func padding() throws(BinaryHTTPError) {
        guard let bad = message[position...].firstIndex(where: { $0 != 0 }) else { return }
        position = bad
        throw failure(.badPadding)
    }
}
