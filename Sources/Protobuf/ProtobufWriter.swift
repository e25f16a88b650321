// The proto3 wire format, writing: canonical bytes as in bfv.md 11.8, so that hashes of messages are stable. Whoever writes a
// message writes its fields in ascending order of the number.

/// Appends fields to one buffer.
///
/// Functions for values without presence leave out the default; those for optionals write what is set.
public struct ProtobufWriter: Sendable {
    /// What was written so far.
    public private(set) var output: [UInt8] = []

    /// An empty writer, with room for so many bytes.
    public init(capacity: Int = 0) { output.reserveCapacity(capacity) }

    // MARK: Singular fields without presence

    /// Writes a uint64 field unless it is 0.
    public mutating func uint64(_ value: UInt64, field: Int) {
        if value != 0 { presentUInt64(value, field: field) }
    }

    /// Writes a uint32 field unless it is 0.
    public mutating func uint32(_ value: UInt32, field: Int) { uint64(UInt64(value), field: field) }

    /// Writes a bool field unless it is false.
    public mutating func bool(_ value: Bool, field: Int) { uint64(value ? 1 : 0, field: field) }

    /// Writes an enum field unless it is 0; negative numbers take ten bytes, as for an int32.
    public mutating func enumeration(_ value: some ProtobufEnum, field: Int) {
        uint64(UInt64(bitPattern: Int64(value.rawValue)), field: field)
    }

    /// Writes a string field unless it is empty.
    public mutating func string(_ value: String, field: Int) {
        if !value.isEmpty { presentString(value, field: field) }
    }

    /// Writes a bytes field unless it is empty.
    public mutating func bytes(_ value: ArraySlice<UInt8>, field: Int) {
        if !value.isEmpty { presentBytes(value, field: field) }
    }

    /// Writes a fixed64 field unless it is 0.
    public mutating func fixed64(_ value: UInt64, field: Int) {
        guard value != 0 else { return }
        tag(field, .fixed64)
        for index in 0..<8 { output.append(UInt8(truncatingIfNeeded: value >> UInt64(8 * index))) }
    }

    /// Writes a fixed32 field unless it is 0.
    public mutating func fixed32(_ value: UInt32, field: Int) {
        guard value != 0 else { return }
        tag(field, .fixed32)
        for index in 0..<4 { output.append(UInt8(truncatingIfNeeded: value >> UInt32(8 * index))) }
    }

    // MARK: Fields with presence

    /// Writes a uint64 field that is set, 0 too.
    public mutating func presentUInt64(_ value: UInt64, field: Int) {
        tag(field, .varint)
        varint(value)
    }

    /// Writes a bool field that is set, false too.
    public mutating func presentBool(_ value: Bool, field: Int) { presentUInt64(value ? 1 : 0, field: field) }

    /// Writes a string field that is set, "" too.
    public mutating func presentString(_ value: String, field: Int) {
        tag(field, .lengthDelimited)
        varint(UInt64(value.utf8.count))
        output.append(contentsOf: value.utf8)
    }

    /// Writes a bytes field that is set, the empty one too.
    public mutating func presentBytes(_ value: ArraySlice<UInt8>, field: Int) {
        tag(field, .lengthDelimited)
        varint(UInt64(value.count))
        output.append(contentsOf: value)
    }

    /// Writes a sub-message if it is set, even if it is empty.
    public mutating func message<M: ProtobufMessage>(_ value: M?, field: Int) {
        guard let value else { return }
        delimited(field: field) { (writer) in value.encode(to: &writer) }
    }

    /// Writes a length-delimited field whose content `body` writes.
    public mutating func delimited<E: Error>(field: Int, _ body: (inout ProtobufWriter) throws(E) -> Void) throws(E) {
        tag(field, .lengthDelimited)
        let start = output.count
        // One byte is kept for the length; a longer length moves the content once. Cheaper than sizing everything twice:
        // messages are few and nested a handful of levels.
        output.append(0)
        try body(&self)
        var length = UInt64(output.count - start - 1)
        guard length >= 0x80 else {
            output[start] = UInt8(truncatingIfNeeded: length)
            return
        }
        var prefix: [UInt8] = []
        while length >= 0x80 {
            prefix.append(UInt8(truncatingIfNeeded: length) | 0x80)
            length >>= 7
        }
        prefix.append(UInt8(truncatingIfNeeded: length))
        output.replaceSubrange(start...start, with: prefix)
    }

    // MARK: Repeated fields and maps

    /// Writes a packed list of uint64; nothing if it is empty.
    public mutating func packed(_ values: [UInt64], field: Int) {
        guard !values.isEmpty else { return }
        delimited(field: field) { (writer) in for value in values { writer.varint(value) } }
    }

    /// Writes a packed list of uint32; nothing if it is empty.
    public mutating func packed(_ values: [UInt32], field: Int) {
        guard !values.isEmpty else { return }
        delimited(field: field) { (writer) in for value in values { writer.varint(UInt64(value)) } }
    }

    /// Writes repeated messages, one field each.
    public mutating func repeated<M: ProtobufMessage>(_ values: [M], field: Int) {
        for value in values { message(value, field: field) }
    }

    /// Writes repeated byte strings, one field each.
    public mutating func repeated(_ values: [ArraySlice<UInt8>], field: Int) {
        for value in values { presentBytes(value, field: field) }
    }

    /// Writes repeated strings, one field each.
    public mutating func repeated(_ values: [String], field: Int) {
        for value in values { presentString(value, field: field) }
    }

    /// Writes a map in ascending order of the key; each entry has key and value, default or not.
    public mutating func map<Key: ProtobufMapKey, M: ProtobufMessage>(_ map: [Key: M], field: Int) {
        for (key, value) in map.sorted(by: { $0.key.precedes($1.key) }) {
            message(MapEntry(key: key, value: value), field: field)
        }
    }

    // MARK: Bytes underneath

    private mutating func tag(_ field: Int, _ wireType: ProtobufWireType) {
        varint(UInt64(field) << 3 | UInt64(wireType.rawValue))
    }

    /// Appends a varint of the least length.
    private mutating func varint(_ value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            output.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        output.append(UInt8(truncatingIfNeeded: rest))
    }
}
