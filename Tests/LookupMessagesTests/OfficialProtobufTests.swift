// Against the official implementation (PyPI `protobuf`, Tests/Oracles/protobuf_oracle.py): random messages and damaged ones
// read and written by both, and the text form in both directions.

import Foundation
import Testing

@testable import LookupMessages
@testable import Protobuf

/// The Python script and how to run it.
enum Oracle {
    static let script = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Oracles/protobuf_oracle.py").path

    static let isAvailable: Bool = (try? run(["probe"]).status) == 0

    static func run(_ arguments: [String], input: Data? = nil) throws -> (status: Int32, output: Data) {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["python3", script] + arguments
        // Files rather than pipes: nothing to deadlock on.
        let folder = FileManager.default.temporaryDirectory.appending(path: "veilring-oracle-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (inputFile, outputFile) = (folder.appending(path: "input"), folder.appending(path: "output"))
        try (input ?? Data()).write(to: inputFile)
        try Data().write(to: outputFile)
        process.standardInput = try FileHandle(forReadingFrom: inputFile)
        process.standardOutput = try FileHandle(forWritingTo: outputFile)
        try process.run()
        process.waitUntilExit()
        return (process.terminationStatus, try Data(contentsOf: outputFile))
    }
}

/// A line of the oracle.
struct OracleLine: Codable {
    var message: String
    var bytes: String
    var canonical: String?
    var text: String?
}

@Suite(.enabled(if: Oracle.isAvailable, "python3 or its package protobuf is missing (pip install protobuf)"))
struct OfficialProtobufTests {
    static func lines(seed: UInt64, count: Int) throws -> [OracleLine] {
        let output = try Oracle.run(["generate", "--seed", "\(seed)", "--count", "\(count)"]).output
        return try output.split(separator: UInt8(ascii: "\n")).map { try JSONDecoder().decode(OracleLine.self, from: Data($0)) }
    }

    @Test func bothReadAndWriteTheSame() throws {
        let seed = fuzzSeed()
        let lines = try Self.lines(seed: seed, count: fuzzIterations(default: 440))
        var (equal, refused, stricter) = (0, 0, 0)
        for line in lines {
            let type = try #require(everyMessage[line.message])
            let bytes = try #require(unhexed(line.bytes))
            let result = Result { try type.init(decoding: bytes).encoded() }
            switch (result, line.canonical) {
            case (.success(let ours), let theirs?):
                #expect(try isSame(ours, theirs, type), "seed \(seed): \(line.message) \(line.bytes): \(hexadecimal(ours))")
                equal += 1
            case (.failure, nil): refused += 1
            case (.failure(let error), _?):
                // Where ours is stricter on purpose: known fields of another wire type, groups, and numbers of more than
                // 64 bits are refused, not skipped or cut; so is field number 0, also in a message that has no fields.
                stricter += 1
                #expect(isStrictness(error), "seed \(seed): \(line.message) \(line.bytes): \(error)")
            case (.success, nil): Issue.record("seed \(seed): accepted what protobuf refuses: \(line.message) \(line.bytes)")
            }
        }
        // The comparison means something only if all kinds occur.
        #expect(equal > lines.count / 4)
        #expect(refused > lines.count / 20)
        #expect(stricter < lines.count / 4)
    }

    /// Equal bytes; where there are maps, whose order is free, equal messages of equal length.
    func isSame(_ ours: [UInt8], _ theirs: String, _ type: any TextMessage.Type) throws -> Bool {
        guard hexadecimal(ours) != theirs else { return true }
        guard holdsMap(type.schema), let bytes = unhexed(theirs), bytes.count == ours.count else { return false }
        return try type.init(decoding: bytes).encoded() == ours
    }

    func holdsMap(_ schema: MessageSchema) -> Bool {
        schema.fields.contains { (field) in
            guard case .message(let inner) = field.kind else { return false }
            return inner.name == "map entry" || holdsMap(inner)
        }
    }

    func isStrictness(_ error: any Error) -> Bool {
        switch error as? ProtobufError {
        case .wrongWireType?, .group?, .varintTooLong(_, allowed: 10)?, .fieldNumberZero?: true
        default: false
        }
    }

    @Test func theirTextIsReadAsTheirBytes() throws {
        let seed = fuzzSeed()
        for line in try Self.lines(seed: seed, count: fuzzIterations(default: 440)) {
            guard let text = line.text else { continue }
            let type = try #require(everyMessage[line.message])
            let encoded = try type.init(text: text).encoded()
            #expect(try isSame(encoded, line.bytes, type), "seed \(seed): \(line.message) \(text)")
        }
    }

    @Test func ourTextIsReadAsOurBytes() throws {
        let seed = fuzzSeed()
        var input = Data()
        for line in try Self.lines(seed: seed, count: fuzzIterations(default: 440)) where line.text != nil {
            let type = try #require(everyMessage[line.message])
            let message = try type.init(decoding: try #require(unhexed(line.bytes)))
            var ours = line
            ours.text = String(decoding: try message.text(), as: UTF8.self)
            input += try JSONEncoder().encode(ours) + [UInt8(ascii: "\n")]
        }
        let result = try Oracle.run(["check"], input: input)
        #expect(result.status == 0, "seed \(seed): \(String(decoding: result.output, as: UTF8.self))")
    }
}

/// Lower-case hexadecimal digits.
func hexadecimal(_ bytes: [UInt8]) -> String {
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
}

/// Bytes of hexadecimal digits, spaces left out.
func unhexed(_ text: String) -> [UInt8]? {
    let digits = text.filter { $0 != " " }.compactMap(\.hexDigitValue)
    guard digits.count.isMultiple(of: 2) else { return nil }
    return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
}
