// Messages with every field set, made from their schema: inputs to begin with.

import LookupMessages
import Protobuf

enum SchemaExamples {
    /// The bytes of a message of this kind with every field set, repeated ones twice.
    static func bytes(_ schema: MessageSchema) -> [UInt8] {
        var writer = ProtobufWriter()
        write(schema, to: &writer)
        return writer.output
    }

    private static func write(_ schema: MessageSchema, to writer: inout ProtobufWriter) {
        for field in schema.fields {
            for _ in 0..<(field.repeated ? 2 : 1) {
                switch field.kind {
                case .uint64: writer.presentUInt64(1 << 40 + 5, field: field.number)
                case .uint32: writer.presentUInt64(300, field: field.number)
                case .bool, .enumeration: writer.presentBool(true, field: field.number)
                case .string: writer.presentString("é1", field: field.number)
                case .bytes: writer.presentBytes([0x22, 0x80, 0x01], field: field.number)
                case .message(let inner):
                    writer.delimited(field: field.number) { (writer) in write(inner, to: &writer) }
                }
            }
        }
    }

    /// A message of each kind, with the steering of its target.
    static var lookupMessages: [[UInt8]] {
        LookupMessagesInput.messages.enumerated().map { [1, UInt8($0)] + bytes($1.1.schema) }
    }

    /// With roomy limits and with tight ones.
    static var wire: [[UInt8]] {
        let (leaf, all) = (bytes(Leaf.schema), bytes(EveryField.schema))
        return [[0] + all, [3, 1, 4, 5] + all, [3, 0, 40, 3] + leaf, [2, 0, 9] + all.prefix(60)]
    }

    /// What the text writer makes of messages.
    static var text: [[UInt8]] {
        let types: [any TextMessage.Type] = [
            EveryField.self, PIRConfig.self, EvaluationKeyConfig.self, PirParameters.self, KeywordDatabase.self,
            InputIdentities.self,
        ]
        return types.enumerated().compactMap { number, type in
            (try? type.init(decoding: bytes(type.schema)[...], limits: .file).text()).map { [1, UInt8(number)] + $0 }
        }
    }
}
