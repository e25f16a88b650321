// The proto3 wire format, reading. Length-delimited values are slices of the input, nothing is copied; a sub-message is read
// by narrowing the same reader, so that limits hold for the whole message. Specified in bfv.md 12 and keyword-pir.md 9.

/// A pull reader over the fields of one message.
///
/// Call `nextField`, then at most one reading function for that field; a value that was not read is skipped by the next call.
public struct ProtobufReader: Sendable {
    /// The bytes of the outermost message.
    private let bytes: ArraySlice<UInt8>
    private let limits: ProtobufLimits
    private var position: Int
    private var end: Int
    private var depth = 0
    private var elements = 0
    private var field = 0
    private var pending: ProtobufWireType?

    /// A reader of the message that `bytes` holds.
    public init(_ bytes: ArraySlice<UInt8>, limits: ProtobufLimits = ProtobufLimits()) {
        self.bytes = bytes
        self.limits = limits
        position = bytes.startIndex
        end = bytes.endIndex
    }

    /// Place of the next byte to read, from the start of the outermost message.
    public var offset: Int { position - bytes.startIndex }

    /// Wire type of the field that `nextField` returned and whose value was not read yet.
    public var wireType: ProtobufWireType? { pending }

    /// The number of the next field, or nil at the end of the message. Skips the value before it if nobody read that.
    public mutating func nextField() throws(ProtobufError) -> Int? {
        if pending != nil { try skip() }
        guard position < end else { return nil }
        let start = offset
        let tag = try rawVarint(allowed: 5, expected: "a field tag")
        guard tag <= UInt64(UInt32.max) else { throw .varintTooLong(offset: start, allowed: 5) }
        field = Int(tag >> 3)
        guard field != 0 else { throw .fieldNumberZero(offset: start) }
        let raw = UInt8(truncatingIfNeeded: tag & 7)
        guard let wireType = ProtobufWireType(rawValue: raw) else {
            if raw == 3 || raw == 4 { throw .group(field: field, offset: start) }
            throw .invalidWireType(field: field, found: raw, offset: start)
        }
        pending = wireType
        return field
    }

    /// Passes over the value of the current field.
    public mutating func skip() throws(ProtobufError) {
        switch pending {
        case .varint: _ = try rawVarint(allowed: 10, expected: "a varint")
        case .fixed64: _ = try fixed(size: 8)
        case .fixed32: _ = try fixed(size: 4)
        case .lengthDelimited: position = try lengthDelimitedEnd()
        case nil: break
        }
        pending = nil
    }

    // MARK: Numbers

    /// A uint64 field.
    public mutating func uint64() throws(ProtobufError) -> UInt64 {
        try take(.varint)
        return try rawVarint(allowed: 10, expected: "a varint")
    }

    /// A uint32 field; higher bits are dropped, as protobuf says.
    public mutating func uint32() throws(ProtobufError) -> UInt32 { UInt32(truncatingIfNeeded: try uint64()) }

    /// An int64 field (two's complement, not zigzag).
    public mutating func int64() throws(ProtobufError) -> Int64 { Int64(bitPattern: try uint64()) }

    /// An int32 field; higher bits are dropped.
    public mutating func int32() throws(ProtobufError) -> Int32 { Int32(truncatingIfNeeded: try int64()) }

    /// A bool field: true for everything but 0.
    public mutating func bool() throws(ProtobufError) -> Bool { try uint64() != 0 }

    /// An enum field; numbers without a name are kept.
    public mutating func enumeration<E: ProtobufEnum>(_ type: E.Type = E.self) throws(ProtobufError) -> E {
        E(rawValue: try int32())
    }

    /// A fixed64 field.
    public mutating func fixed64() throws(ProtobufError) -> UInt64 {
        try take(.fixed64)
        return try fixed(size: 8)
    }

    /// A fixed32 field.
    public mutating func fixed32() throws(ProtobufError) -> UInt32 {
        try take(.fixed32)
        return UInt32(truncatingIfNeeded: try fixed(size: 4))
    }

    /// Appends one occurrence of a repeated uint64 field, packed or not.
    public mutating func append(to list: inout [UInt64]) throws(ProtobufError) {
        guard pending == .lengthDelimited else {
            list.append(try uint64())
            return
        }
        try packed { (value) in list.append(value) }
    }

    /// Appends one occurrence of a repeated uint32 field, packed or not.
    public mutating func append(to list: inout [UInt32]) throws(ProtobufError) {
        guard pending == .lengthDelimited else {
            list.append(try uint32())
            return
        }
        try packed { (value) in list.append(UInt32(truncatingIfNeeded: value)) }
    }

    // MARK: Bytes, strings, messages

    /// A bytes field: a slice of the input.
    public mutating func bytesValue() throws(ProtobufError) -> ArraySlice<UInt8> {
        try take(.lengthDelimited)
        let stop = try lengthDelimitedEnd()
        let value = bytes[position..<stop]
        position = stop
        return value
    }

    /// A string field, checked to be UTF-8.
    public mutating func string() throws(ProtobufError) -> String {
        let start = offset
        let value = try bytesValue()
        guard let text = String(validating: value, as: UTF8.self) else { throw .invalidUTF8(field: field, offset: start) }
        return text
    }

    /// A reader of its own for a sub-message, for callers that want to read it later. Its offsets count from its own start,
    /// and elements that it reads do not count for this reader.
    public mutating func subReader() throws(ProtobufError) -> ProtobufReader {
        guard depth < limits.depth else { throw .nestingTooDeep(limit: limits.depth, offset: offset) }
        var reader = ProtobufReader(try bytesValue(), limits: limits)
        reader.depth = depth + 1
        reader.elements = elements
        return reader
    }

    /// Reads a sub-message into one that may hold values already: singular messages merge.
    public mutating func message<M: ProtobufMessage>(into message: inout M) throws(ProtobufError) {
        try take(.lengthDelimited)
        let stop = try lengthDelimitedEnd()
        guard depth < limits.depth else { throw .nestingTooDeep(limit: limits.depth, offset: offset) }
        let (outerEnd, outerField) = (end, field)
        (end, depth) = (stop, depth + 1)
        try message.merge(from: &self)
        (end, field, depth, position, pending) = (outerEnd, outerField, depth - 1, stop, nil)
    }

    /// Reads a singular sub-message field: sets it, or merges into what an earlier occurrence set.
    public mutating func message<M: ProtobufMessage>(into message: inout M?) throws(ProtobufError) {
        var value = message ?? M()
        // The old value must not stay a second owner while it is merged, or every list in it is copied.
        message = nil
        try self.message(into: &value)
        message = value
    }

    /// Appends one element of a repeated message field.
    public mutating func append<M: ProtobufMessage>(to list: inout [M]) throws(ProtobufError) {
        try countElement()
        var value = M()
        try message(into: &value)
        list.append(value)
    }

    /// Appends one element of a repeated bytes field.
    public mutating func append(to list: inout [ArraySlice<UInt8>]) throws(ProtobufError) {
        try countElement()
        list.append(try bytesValue())
    }

    /// Appends one element of a repeated string field.
    public mutating func append(to list: inout [String]) throws(ProtobufError) {
        try countElement()
        list.append(try string())
    }

    /// Reads one entry of a map. The last entry of a key wins; an absent key is 0 or "".
    public mutating func mapEntry<Key: ProtobufMapKey, M: ProtobufMessage>(into map: inout [Key: M]) throws(ProtobufError) {
        try countElement()
        var entry = MapEntry<Key, M>()
        try message(into: &entry)
        map[entry.key] = entry.value
    }

    // MARK: Bytes underneath

    private mutating func take(_ expected: ProtobufWireType) throws(ProtobufError) {
        guard pending == expected else {
            throw .wrongWireType(field: field, expected: expected, found: pending, offset: offset)
        }
        pending = nil
    }

    private mutating func countElement() throws(ProtobufError) {
        guard elements < limits.elements else { throw .tooManyElements(limit: limits.elements, offset: offset) }
        elements += 1
    }

    private mutating func packed(_ body: (UInt64) -> Void) throws(ProtobufError) {
        try take(.lengthDelimited)
        let (stop, outerEnd) = (try lengthDelimitedEnd(), end)
        end = stop
        while position < stop { body(try rawVarint(allowed: 10, expected: "a varint")) }
        end = outerEnd
    }

    /// Reads a length and gives the index where the value ends, which is inside the enclosing message.
    private mutating func lengthDelimitedEnd() throws(ProtobufError) -> Int {
        let start = offset
        let length = try rawVarint(allowed: 5, expected: "a length")
        let remaining = end - position
        guard length <= UInt64(remaining) else {
            throw .lengthBeyondEnd(field: field, length: length, remaining: remaining, offset: start)
        }
        return position + Int(length)
    }

    private mutating func fixed(size: Int) throws(ProtobufError) -> UInt64 {
        guard end - position >= size else { throw .truncated(offset: offset, expected: "a value of \(size) bytes") }
        var value: UInt64 = 0
        for index in 0..<size { value |= UInt64(bytes[position + index]) << UInt64(8 * index) }
        position += size
        return value
    }

    private mutating func rawVarint(allowed: Int, expected: @autoclosure () -> String) throws(ProtobufError) -> UInt64 {
        let start = offset
        var value: UInt64 = 0
        for index in 0..<allowed {
            guard position < end else { throw .truncated(offset: offset, expected: expected()) }
            let byte = bytes[position]
            position += 1
            // The tenth byte holds bit 63 alone.
            if index == 9 && byte > 1 { throw .varintTooLong(offset: start, allowed: allowed) }
            value |= UInt64(byte & 0x7F) << UInt64(7 * index)
            if byte < 0x80 { return value }
        }
        throw .varintTooLong(offset: start, allowed: allowed)
    }
}
