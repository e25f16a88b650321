// Files of rows and of identities, one record at a time: binary and text, with the place of each.

import Testing

@testable import LookupMessages
@testable import Protobuf

@Suite struct RecordsTests {
    static let text = """
        # two rows
        rows { keyword: "+1" value: "a" }
        rows: [ { keyword: "+2" },
                < value: "\\001" "b" > ]
        rows: []

        rows { }
        """
    static let rows = [
        KeywordDatabaseRow(keyword: [43, 49], value: [97]), KeywordDatabaseRow(keyword: [43, 50]),
        KeywordDatabaseRow(value: [1, 98]), KeywordDatabaseRow(),
    ]

    func all<R>(_ stream: RecordStream<R>) throws -> [(record: R, number: Int, line: Int?)] {
        var (stream, list) = (stream, [] as [(record: R, number: Int, line: Int?)])
        while let record = try stream.next() { list.append((record, stream.recordNumber, stream.line)) }
        return list
    }

    @Test func rowsOfText() throws {
        let found = try all(KeywordDatabaseRows(text: Array(Self.text.utf8)[...]))
        #expect(found.map(\.record) == Self.rows)
        #expect(found.map(\.number) == [1, 2, 3, 4])
        #expect(found.map(\.line) == [2, 3, 4, 7])
        #expect(try KeywordDatabase(text: Self.text).rows == Self.rows)
    }

    @Test func rowsOfBytes() throws {
        let bytes = KeywordDatabase(rows: Self.rows).encoded()
        let found = try all(KeywordDatabaseRows(binary: bytes[...]))
        #expect(found.map(\.record) == Self.rows)
        #expect(found.map(\.number) == [1, 2, 3, 4])
        #expect(found.map(\.line) == [nil, nil, nil, nil])
        #expect(Self.rows.flatMap { $0.recordBytes() } == bytes)
        let text = try KeywordDatabase(rows: Self.rows).text()
        #expect(try Self.rows.flatMap { try $0.recordText() } == text)
    }

    @Test func theSuffixDecides() throws {
        let database = KeywordDatabase(rows: Self.rows)
        #expect(MessageFileFormat(fileName: "a/b.txtpb") == .text)
        for name in ["b.binpb", "b", "b.txtpb.bin", "txtpb"] { #expect(MessageFileFormat(fileName: name) == .binary) }
        for format in [MessageFileFormat.text, .binary] {
            let contents = try database.contents(format: format)
            #expect(try KeywordDatabase(contents: contents[...], format: format) == database)
            #expect(try all(KeywordDatabaseRows(contents: contents[...], format: format)).map(\.record) == Self.rows)
            #expect(try Self.rows.flatMap { try $0.recordContents(format: format) } == contents)
        }
        #expect(try database.contents(format: .binary) != database.contents(format: .text))
    }

    @Test func concatenatedFilesAppend() throws {
        let bytes = KeywordDatabase(rows: Self.rows).encoded()
        #expect(try all(KeywordDatabaseRows(binary: (bytes + bytes)[...])).map(\.record) == Self.rows + Self.rows)
        let text = Array((Self.text + "\n" + Self.text).utf8)
        #expect(try all(KeywordDatabaseRows(text: text[...])).map(\.record) == Self.rows + Self.rows)
    }

    @Test func theFailingRecordIsNamed() throws {
        var stream = KeywordDatabaseRows(binary: [0x0A, 0x00, 0x0A, 0x02, 0x0A, 0x05][...])
        _ = try stream.next()
        #expect(throws: ProtobufError.lengthBeyondEnd(field: 1, length: 5, remaining: 0, offset: 5)) { try stream.next() }
        #expect(stream.recordNumber == 2)
        var text = KeywordDatabaseRows(text: Array("rows {}\nrows { keyword: +886 }".utf8)[...])
        _ = try text.next()
        #expect(
            throws: TextFormatError(line: 2, column: 8, reason: .wrongValue(field: "keyword", expected: "a string in quotes"))
        ) { try text.next() }
        #expect((text.recordNumber, text.line) == (2, 2))
    }

    @Test func identitiesKeepRepeatedNumbers() throws {
        let text = """
            identities { key: "+1" value { name: "Adam" category: IDENTITY_CATEGORY_PERSON } }
            identities { key: "+1" value { name: "Bob" block: true } }
            identities { value { cache_expiry_minutes: 0x10 } }
            """
        let found = try all(InputIdentityRecords(text: Array(text.utf8)[...]))
        #expect(found.map(\.record.number) == ["+1", "+1", ""])
        #expect(found.map(\.record.identity.name) == ["Adam", "Bob", ""])
        #expect(found.map(\.line) == [1, 2, 3])
        let whole = try InputIdentities(text: text)
        #expect(
            whole.identities == [
                "+1": InputCallIdentity(name: "Bob", block: true), "": InputCallIdentity(cacheExpiryMinutes: 16),
            ])
        let entries = try all(InputIdentityRecords(binary: whole.encoded()[...])).map(\.record)
        #expect(entries.map(\.number) == ["", "+1"])
        #expect(entries.flatMap { $0.recordBytes() } == whole.encoded())
    }
}
