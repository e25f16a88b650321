// TXT records out of DNS messages and out of files.

import Foundation
import Testing

@testable import DeploymentCheck

@Suite struct TextRecordTests {
    /// An answer to `service.callers.example TXT` with these records, each a list of strings; an alias before them if wanted.
    static func message(_ records: [[String]], alias: Bool = false) -> [UInt8] {
        let name = [7] + Array("service".utf8) + [7] + Array("callers".utf8) + [7] + Array("example".utf8) + [0]
        var message: [UInt8] = [0x12, 0x34, 0x81, 0x80, 0, 1, 0, UInt8(records.count + (alias ? 1 : 0)), 0, 0, 0, 0]
        message += name + [0, 16, 0, 1]
        if alias { message += [0xC0, 12, 0, 5, 0, 1, 0, 0, 0, 60, 0, 2, 0xC0, 12] }
        for record in records {
            let data = record.flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) }
            message += [0xC0, 12, 0, 16, 0, 1, 0, 0, 0, 60, UInt8(data.count >> 8), UInt8(data.count & 0xFF)] + data
        }
        return message
    }

    @Test func recordsOfAnAnswer() throws {
        let long = String(repeating: "x", count: 200)
        #expect(try TextRecordSource.records(inMessage: Self.message([["one"], ["two ", "parts"]])) == ["one", "two parts"])
        #expect(try TextRecordSource.records(inMessage: Self.message([["one"]], alias: true)) == ["one"])
        #expect(try TextRecordSource.records(inMessage: Self.message([[long, long]])) == [long + long])
        #expect(try TextRecordSource.records(inMessage: Self.message([])) == [])
        #expect(try TextRecordSource.records(inMessage: Self.message([[""]])) == [""])
    }

    @Test func aMessageCutAnywhereIsAnErrorOrHasFewerRecords() throws {
        let whole = Self.message([["one"], ["two"]])
        for length in 0..<whole.count {
            #expect(throws: TextRecordError.malformed) { try TextRecordSource.records(inMessage: Array(whole.prefix(length))) }
        }
    }

    @Test func aStringLongerThanItsRecordIsMalformed() {
        var message = Self.message([["one"]])
        message[message.count - 4] = 9
        #expect(throws: TextRecordError.malformed) { try TextRecordSource.records(inMessage: message) }
    }

    @Test func recordsOfAFile() throws {
        let path = NSTemporaryDirectory() + "veilring-dns-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: path) }
        let text = """
            # names of a rehearsal
            service.callers.example. TXT "apple-live-caller-id-lookup=net.example.lookup"
            SERVICE.callers.example\ttxt\tother
            service.callers.example A 192.0.2.1
            issuer.callers.example TXT "no"
            broken
            """
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        let source = TextRecordSource.file(path)
        #expect(
            try source.records(of: "service.callers.example") == ["apple-live-caller-id-lookup=net.example.lookup", "other"])
        #expect(try source.records(of: "gateway.callers.example") == [])
        #expect(throws: TextRecordError.unreadable(path: path + "-")) {
            try TextRecordSource.file(path + "-").records(of: "service.callers.example")
        }
    }
}
