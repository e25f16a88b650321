// Messages that have a text form, and files of records that are read one by one: keyword-pir.md 11.1.

/// The two forms of a message in a file.
public enum MessageFileFormat: Sendable, Equatable {
    /// The wire format.
    case binary
    /// The text format.
    case text

    /// Text for the suffix `.txtpb`, binary for every other.
    public init(fileName: String) { self = fileName.hasSuffix(".txtpb") ? .text : .binary }
}

/// A message whose fields have names, so that it can be read from and written as text.
public protocol TextMessage: ProtobufMessage {
    /// The names and types of the fields.
    static var schema: MessageSchema { get }
}

extension TextMessage {
    /// Reads a message from text in UTF-8. Throws `TextFormatError`, or `ProtobufError` if a limit is passed.
    public init(text: ArraySlice<UInt8>, limits: ProtobufLimits = .file) throws {
        var reader = TextFormatReader(text)
        var writer = ProtobufWriter()
        while let field = try reader.nextField() { try Self.schema.write(field, to: &writer) }
        try self.init(decoding: writer.output[...], limits: limits)
    }

    /// Reads a message from text.
    public init(text: String, limits: ProtobufLimits = .file) throws {
        try self.init(text: Array(text.utf8)[...], limits: limits)
    }

    /// Reads a message from the contents of a file. Throws `ProtobufError` or `TextFormatError`.
    public init(contents: ArraySlice<UInt8>, format: MessageFileFormat) throws {
        switch format {
        case .binary: try self.init(decoding: contents, limits: .file)
        case .text: try self.init(text: contents)
        }
    }

    /// The contents of a file that holds this message.
    public func contents(format: MessageFileFormat) throws(ProtobufError) -> [UInt8] {
        switch format {
        case .binary: encoded()
        case .text: try text()
        }
    }

    /// The message as text in UTF-8, byte for byte as the reference's tools write it.
    public func text() throws(ProtobufError) -> [UInt8] {
        var reader = ProtobufReader(encoded()[...], limits: .file)
        var writer = TextFormatWriter()
        try writer.write(&reader, Self.schema)
        return writer.output
    }
}

/// A message of which a file holds many, in field 1 of the file's own message.
public protocol RecordMessage: TextMessage {
    /// Name of the repeated field in the file's message.
    static var recordField: String { get }
    /// Name of the file's message, for errors.
    static var recordFile: String { get }
}

extension RecordMessage {
    /// The file's message as a schema.
    public static var recordFileSchema: MessageSchema {
        MessageSchema(recordFile, [FieldSchema(1, recordField, .message(schema), repeated: true)])
    }

    /// This record as a part of a text file: files are written record by record.
    public func recordText() throws(ProtobufError) -> [UInt8] {
        var reader = ProtobufReader(recordBytes()[...], limits: .file)
        var writer = TextFormatWriter()
        try writer.write(&reader, Self.recordFileSchema)
        return writer.output
    }

    /// This record as a part of a file in either format.
    public func recordContents(format: MessageFileFormat) throws(ProtobufError) -> [UInt8] {
        switch format {
        case .binary: recordBytes()
        case .text: try recordText()
        }
    }

    /// This record as a part of a binary file: files are written record by record.
    public func recordBytes() -> [UInt8] {
        var writer = ProtobufWriter()
        writer.message(self, field: 1)
        return writer.output
    }
}

/// The records of a file, binary or text, with the memory of one record.
public struct RecordStream<Record: RecordMessage>: Sendable {
    private enum Source {
        case binary(ProtobufReader)
        case text(TextFormatReader)
    }

    private var source: Source
    private let schema = Record.recordFileSchema

    /// Number of the record that `next` gave last, or failed on; from 1, 0 before the first.
    public private(set) var recordNumber = 0
    /// Line where that record begins, from 1; nil in a binary file.
    public private(set) var line: Int?

    /// The records of a file in either format.
    public init(contents: ArraySlice<UInt8>, format: MessageFileFormat) {
        switch format {
        case .binary: self.init(binary: contents)
        case .text: self.init(text: contents)
        }
    }

    /// The records of a binary file.
    public init(binary: ArraySlice<UInt8>) { source = .binary(ProtobufReader(binary, limits: .file)) }

    /// The records of a text file.
    public init(text: ArraySlice<UInt8>) { source = .text(TextFormatReader(text)) }

    /// The next record, or nil at the end. Throws `ProtobufError` or `TextFormatError`; after an error the rest is undefined.
    public mutating func next() throws -> Record? {
        switch source {
        case .binary(var reader):
            defer { source = .binary(reader) }
            while let number = try reader.nextField() {
                guard number == 1 else { continue }
                recordNumber += 1
                var record = Record()
                try reader.message(into: &record)
                return record
            }
            return nil
        case .text(var reader):
            defer { source = .text(reader) }
            while let field = try reader.nextField() {
                line = field.line
                var writer = ProtobufWriter(capacity: 64)
                if field.value != .emptyList { recordNumber += 1 }
                try schema.write(field, to: &writer)
                var compiled = ProtobufReader(writer.output[...], limits: .file)
                guard try compiled.nextField() != nil else { continue }
                var record = Record()
                try compiled.message(into: &record)
                return record
            }
            return nil
        }
    }
}
