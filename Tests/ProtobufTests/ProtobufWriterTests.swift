// The wire format, writing: canonical bytes.

import Testing

@testable import Protobuf

@Suite struct ProtobufWriterTests {
    @Test func defaultsAreLeftOut() {
        #expect(Sample().encoded() == [])
        var sample = Sample()
        sample.optional = ""
        #expect(sample.encoded() == [0x6A, 0x00])
        sample.single = Sample.Inner()
        #expect(sample.encoded() == [0x52, 0x00, 0x6A, 0x00])
    }

    @Test(
        arguments: [
            (1, [0x01]), (127, [0x7F]), (128, [0x80, 0x01]), (16383, [0xFF, 0x7F]), (16384, [0x80, 0x80, 0x01]),
            (.max, [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01]),
        ] as [(UInt64, [UInt8])])
    func varintsAreMinimal(value: UInt64, expected: [UInt8]) {
        var sample = Sample()
        sample.number = value
        #expect(sample.encoded() == [0x08] + expected)
    }

    @Test func negativeEnumsTakeTenBytes() {
        var sample = Sample()
        sample.choice = Sample.Choice(rawValue: -5)
        #expect(sample.encoded() == [0x40, 0xFB, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01])
    }

    @Test func fixedSizes() {
        var writer = ProtobufWriter()
        writer.fixed64(0, field: 1)
        writer.fixed64(0x0807_0605_0403_0201, field: 1)
        writer.fixed32(0, field: 2)
        writer.fixed32(0x0403_0201, field: 2)
        #expect(writer.output == [0x09, 1, 2, 3, 4, 5, 6, 7, 8, 0x15, 1, 2, 3, 4])
    }

    @Test func presentValuesAreWrittenWhateverTheyAre() {
        var writer = ProtobufWriter()
        writer.presentUInt64(0, field: 1)
        writer.presentBool(false, field: 3)
        writer.presentString("", field: 4)
        writer.presentBytes([], field: 5)
        #expect(writer.output == [0x08, 0x00, 0x18, 0x00, 0x22, 0x00, 0x2A, 0x00])
    }

    /// Lengths around each size of the length's varint, nested, so that content moves at several levels.
    @Test(arguments: [0, 1, 125, 126, 127, 128, 129, 16_380, 16_384, 2_097_152])
    func lengthsOfAnySize(count: Int) throws {
        var sample = Sample()
        sample.data = [UInt8](repeating: 9, count: count)[...]
        var writer = ProtobufWriter()
        writer.uint64(7, field: 1)
        writer.delimited(field: 2) { (writer) in writer.message(sample, field: 3) }
        writer.uint64(8, field: 4)
        var reader = ProtobufReader(writer.output[...])
        #expect(try reader.nextField() == 1)
        #expect(try reader.nextField() == 2)
        var inner = try reader.subReader()
        #expect(try inner.nextField() == 3)
        var read = Sample()
        try inner.message(into: &read)
        #expect(read == sample)
        #expect(try inner.nextField() == nil)
        #expect(try reader.nextField() == 4)
        #expect(try reader.uint64() == 8)
        #expect(try reader.nextField() == nil)
    }

    @Test func everythingComesBack() throws {
        var inner = Sample.Inner()
        (inner.value, inner.list) = (5, [0, .max, 300])
        var sample = Sample()
        (sample.number, sample.small, sample.flag, sample.text) = (1, .max, true, "電話")
        (sample.data, sample.numbers, sample.smalls) = ([1, 0], [0, 1, .max], [0, .max])
        (sample.inner, sample.single) = ([inner, Sample.Inner()], inner)
        (sample.byNumber, sample.byName) = ([7: inner, 0: Sample.Inner()], ["": inner, "é": Sample.Inner()])
        (sample.optional, sample.texts, sample.blobs) = ("x", ["", "a"], [[], [1]])
        let encoded = sample.encoded()
        #expect(try Sample(decoding: encoded) == sample)
        #expect(try Sample(decoding: encoded).encoded() == encoded)
        #expect(try Sample(text: try sample.text()[...]) == sample)
    }

    @Test func mapsAscendByBytesOfTheKey() {
        var sample = Sample()
        // U+FFFD comes before U+1F600 in UTF-8, though not in UTF-16.
        sample.byName = ["\u{1F600}": .init(), "\u{FFFD}": .init(), "b": .init(), "": .init()]
        sample.byNumber = [.max: .init(), 256: .init(), 3: .init()]
        var reader = ProtobufReader(sample.encoded()[...])
        var (names, numbers) = ([] as [String], [] as [UInt64])
        while let field = try? reader.nextField() {
            var entry = try? reader.subReader()
            _ = try? entry?.nextField()
            if field == 12, let name = try? entry?.string() { names.append(name) }
            if field == 11, let number = try? entry?.uint64() { numbers.append(number) }
        }
        #expect(names == ["", "b", "\u{FFFD}", "\u{1F600}"])
        #expect(numbers == [3, 256, .max])
    }
}
