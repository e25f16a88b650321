// The protobuf text format, writing: byte for byte what the reference's tools write (keyword-pir.md 11.1, 11.4). It walks the
// canonical wire bytes of a message, which have the order and the presence of fields already.

/// Text of wire bytes, by a schema.
public struct TextFormatWriter: Sendable {
    /// What was written so far, in UTF-8.
    public private(set) var output: [UInt8] = []

    /// An empty writer.
    public init() {}

    /// Writes the fields of a message, each line indented by so many steps of two spaces.
    public mutating func write(
        _ reader: inout ProtobufReader, _ schema: MessageSchema, indent: Int = 0
    ) throws(ProtobufError) {
        while let number = try reader.nextField() {
            guard let field = schema.fields.first(where: { $0.number == number }) else { continue }
            try write(field, from: &reader, indent: indent)
        }
    }

    private mutating func write(
        _ field: FieldSchema, from reader: inout ProtobufReader, indent: Int
    ) throws(ProtobufError) {
        output.append(contentsOf: repeatElement(UInt8(ascii: " "), count: 2 * indent))
        output.append(contentsOf: field.nameBytes)
        if case .message(let schema) = field.kind {
            output.append(contentsOf: " {\n".utf8)
            var inner = try reader.subReader()
            try write(&inner, schema, indent: indent + 1)
            output.append(contentsOf: repeatElement(UInt8(ascii: " "), count: 2 * indent))
            output.append(contentsOf: "}\n".utf8)
            return
        }
        output.append(contentsOf: ": ".utf8)
        switch field.kind {
        case .uint32, .uint64:
            if field.repeated {
                var values: [UInt64] = []
                try reader.append(to: &values)
                output.append(contentsOf: "[\(values.map { "\($0)" }.joined(separator: ", "))]".utf8)
            } else {
                output.append(contentsOf: "\(try reader.uint64())".utf8)
            }
        case .bool: output.append(contentsOf: (try reader.bool() ? "true" : "false").utf8)
        case .enumeration(let names):
            let number = try reader.int32()
            output.append(contentsOf: (names.values.first { $0.number == number }?.name ?? "\(number)").utf8)
        case .string: quote(try reader.bytesValue(), keepingUTF8: true)
        case .bytes: quote(try reader.bytesValue(), keepingUTF8: false)
        case .message: break
        }
        output.append(UInt8(ascii: "\n"))
    }

    /// Strings keep their UTF-8 as it is; of byte strings every byte from 128 on is octal.
    private mutating func quote(_ value: ArraySlice<UInt8>, keepingUTF8: Bool) {
        output.append(UInt8(ascii: "\""))
        for byte in value {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                output.append(UInt8(ascii: "\\"))
                output.append(byte)
            case 8...13:
                output.append(UInt8(ascii: "\\"))
                output.append(Self.letters[Int(byte - 8)])
            case 32..<127: output.append(byte)
            case 128... where keepingUTF8: output.append(byte)
            default:
                output.append(UInt8(ascii: "\\"))
                output.append(UInt8(ascii: "0") + byte >> 6)
                output.append(UInt8(ascii: "0") + (byte >> 3) & 7)
                output.append(UInt8(ascii: "0") + byte & 7)
            }
        }
        output.append(UInt8(ascii: "\""))
    }

    /// The escapes of the bytes 8 to 13.
    private static let letters = Array("btnvfr".utf8)
}
