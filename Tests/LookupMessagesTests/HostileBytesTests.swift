// Every byte from a device is hostile (bfv.md 13): cut and changed messages give a typed error or a message, nothing else.

import Foundation
import Testing

@testable import LookupMessages
@testable import Protobuf

/// A message with every field set, by its schema: deep enough to reach every type below it.
func fullMessage(_ schema: MessageSchema, from generator: inout SeededGenerator, to writer: inout ProtobufWriter) {
    for field in schema.fields {
        for _ in 0..<(field.repeated ? 2 : 1) {
            switch field.kind {
            case .uint64: writer.presentUInt64(UInt64.random(in: 0 ... .max, using: &generator), field: field.number)
            case .uint32: writer.presentUInt64(UInt64.random(in: 0..<1 << 32, using: &generator), field: field.number)
            case .bool: writer.presentBool(true, field: field.number)
            case .enumeration: writer.presentUInt64(1, field: field.number)
            case .string: writer.presentString("é\(Int.random(in: 0..<100, using: &generator))", field: field.number)
            case .bytes:
                writer.presentBytes([UInt8.random(in: 0...255, using: &generator), 0x80, 0x01][...], field: field.number)
            case .message(let inner):
                var seeded = generator
                writer.delimited(field: field.number) { (writer) in fullMessage(inner, from: &seeded, to: &writer) }
                generator = seeded
            }
        }
    }
}

@Suite struct HostileBytesTests {
    static let names = everyMessage.keys.sorted()

    func full(_ name: String, seed: UInt64) throws -> (type: any TextMessage.Type, bytes: [UInt8]) {
        let type = try #require(everyMessage[name])
        var generator = SeededGenerator(state: seed)
        var writer = ProtobufWriter()
        fullMessage(type.schema, from: &generator, to: &writer)
        return (type, writer.output)
    }

    @Test(arguments: names) func schemaAndCodecAgree(name: String) throws {
        // What the schema says is written, read, and written again without loss: both know the same fields. Of a oneof the
        // last member stays, so those are compared from the second writing on.
        let (type, bytes) = try full(name, seed: 7)
        func check<M: TextMessage>(_ type: M.Type) throws {
            let message = try M(decoding: bytes)
            let again = try M(decoding: message.encoded())
            #expect(again == message)
            #expect(message != M())
            #expect(try M(text: try message.text()[...]) == message)
            let numbers = try fieldNumbers(message.encoded())
            #expect(numbers == numbers.sorted())
            if !hasOneof(type.schema) { #expect(Set(numbers) == Set(type.schema.fields.map(\.number))) }
        }
        try check(type)
    }

    func fieldNumbers(_ bytes: [UInt8]) throws -> [Int] {
        var reader = ProtobufReader(bytes[...])
        var numbers: [Int] = []
        while let number = try reader.nextField() { numbers.append(number) }
        return numbers
    }

    func hasOneof(_ schema: MessageSchema) -> Bool {
        ["SerializedCiphertext", "Config", "PIRShardingFunction", "Request", "Response", "ErrorMessage"].contains(schema.name)
    }

    @Test(arguments: names) func cutAnywhere(name: String) throws {
        let (type, bytes) = try full(name, seed: 11)
        let boundaries = try fieldEnds(bytes)
        for length in 0..<min(bytes.count, 4000) {
            let result = Result { try type.init(decoding: bytes[..<length]) }
            switch result {
            case .success:
                // Only a cut between fields leaves a message.
                #expect(boundaries.contains(length), "\(name) cut at \(length)")
            case .failure(let error):
                #expect(!boundaries.contains(length), "\(name) cut at \(length)")
                #expect(error is ProtobufError, "\(name) cut at \(length)")
            }
        }
    }

    func fieldEnds(_ bytes: [UInt8]) throws -> Set<Int> {
        var reader = ProtobufReader(bytes[...])
        var ends: Set<Int> = [0]
        while try reader.nextField() != nil {
            try reader.skip()
            ends.insert(reader.offset)
        }
        return ends
    }

    @Test func changedAnywhere() throws {
        let seed = fuzzSeed()
        var generator = SeededGenerator(state: seed)
        for round in 0..<fuzzIterations(default: 4000) {
            let name = Self.names[round % Self.names.count]
            var (type, bytes) = try full(name, seed: generator.next())
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                let place = Int.random(in: 0..<min(bytes.count, 300), using: &generator)
                switch Int.random(in: 0..<4, using: &generator) {
                case 0: bytes[place] = UInt8.random(in: 0...255, using: &generator)
                case 1: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
                case 2: bytes.insert(contentsOf: [0xFF, 0xFF, 0xFF, 0xFF, 0x0F], at: place)
                default: bytes.removeSubrange(place..<min(bytes.count, place + Int.random(in: 1...9, using: &generator)))
                }
                if bytes.isEmpty { bytes = [0x0A] }
            }
            func check<M: TextMessage>(_ type: M.Type) {
                do {
                    // The bytes, not the message: members of other protocols are noted but not written again.
                    let encoded = try M(decoding: bytes).encoded()
                    #expect(try M(decoding: encoded).encoded() == encoded, "seed \(seed), round \(round), \(name)")
                } catch let error {
                    // Typed throws: the compiler knows that it is a ProtobufError. It must have something to say.
                    #expect(!error.description.isEmpty, "seed \(seed), round \(round), \(name)")
                }
            }
            check(type)
        }
    }

    @Test func changedTextAnywhere() throws {
        let seed = fuzzSeed()
        var generator = SeededGenerator(state: seed)
        let marks = Array("{}<>[]:;,#\"'\\\n 0x-7_e\u{FF}".utf8)
        for round in 0..<fuzzIterations(default: 2000) {
            let name = Self.names[round % Self.names.count]
            let (type, bytes) = try full(name, seed: generator.next())
            var text = Array(try type.init(decoding: bytes).text().prefix(2000))
            for _ in 0..<Int.random(in: 1...3, using: &generator) where !text.isEmpty {
                let place = text.indices.randomElement(using: &generator) ?? 0
                switch Int.random(in: 0..<3, using: &generator) {
                case 0: text[place] = marks.randomElement(using: &generator) ?? 0
                case 1: text.insert(marks.randomElement(using: &generator) ?? 0, at: place)
                default: text.removeSubrange(place..<min(text.count, place + 3))
                }
            }
            do {
                _ = try type.init(text: text[...])
            } catch {
                let isTyped = error is TextFormatError || error is ProtobufError
                #expect(isTyped, "seed \(seed), round \(round), \(name): \(error)")
            }
        }
    }

    @Test func manyEmptyMessagesStopAtTheLimit() {
        let bytes = [UInt8](repeating: 0, count: 0).withRepeats([0x0A, 0x00], 70_000)
        #expect(throws: ProtobufError.tooManyElements(limit: 65_536, offset: 131_073)) { try Requests(decoding: bytes) }
        // A database is a file of the operator: as many rows as it has.
        #expect(throws: Never.self) { try KeywordDatabase(decoding: bytes) }
    }
}

extension [UInt8] {
    fileprivate func withRepeats(_ part: [UInt8], _ count: Int) -> [UInt8] {
        var all = self
        for _ in 0..<count { all += part }
        return all
    }
}
