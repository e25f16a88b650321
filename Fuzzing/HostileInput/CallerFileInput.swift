// Callers in CSV and in JSON Lines: the verdict does not depend on the pieces that a file is read in, and records of CSV can be
// written and read again.

import CallerDirectory

enum CallerFileInput {
    /// Steering: byte 0 the format (bit 0: CSV or JSON Lines), the others the lengths of the pieces.
    static func judge(_ input: SteeredInput) -> InputVerdict {
        var verdict = InputVerdict()
        let cuts = [("pieces", input.pieces(from: 1)), ("bytes", input.single)]
        if input.steer(0) & 1 == 0 {
            let whole = records([input.message], &verdict)
            for (name, pieces) in cuts {
                verdict.require(isSame(records(pieces, &verdict), whole), "other records in \(name)")
            }
            check(whole, of: input, &verdict)
        }
        let whole = callers([input.message], input, &verdict)
        for (name, pieces) in cuts {
            verdict.require(callers(pieces, input, &verdict) == whole, "other callers in \(name)")
        }
        return verdict
    }

    private static func source(_ pieces: [ArraySlice<UInt8>]) -> () throws(FileReadError) -> [UInt8] {
        // An empty piece is the end.
        var rest = pieces.filter { !$0.isEmpty }[...]
        return { () throws(FileReadError) in rest.popFirst().map { Array($0) } ?? [] }
    }

    private static func records(_ pieces: [ArraySlice<UInt8>], _ verdict: inout InputVerdict) -> [CSVRecord] {
        var reader = CSVReader(source: source(pieces))
        var records: [CSVRecord] = []
        do throws(FileReadError) {
            while let record = try reader.next() { records.append(record) }
        } catch {
            verdict.violations.append("an error of the file where there is none")
        }
        return records
    }

    private static func isSame(_ some: [CSVRecord], _ others: [CSVRecord]) -> Bool {
        some.count == others.count
            && zip(some, others).allSatisfy { one, other in
                one.line == other.line && one.problem?.expected == other.problem?.expected
                    && one.problem?.came == other.problem?.came
                    && (one.problem != nil || one.bytes == other.bytes && one.ends == other.ends)
            }
    }

    private static func check(_ records: [CSVRecord], of input: SteeredInput, _ verdict: inout InputVerdict) {
        var written: [UInt8] = []
        var expected: [[ArraySlice<UInt8>]] = []
        var line = 0
        for record in records {
            verdict.require(record.line > line, "lines do not go up")
            line = record.line
            verdict.outcomes.insert(record.problem == nil ? "record" : "malformed record")
            guard record.problem == nil else { continue }
            verdict.require(record.ends.count <= CSVReader.fieldsAtMost, "more fields than the limit")
            verdict.require(zip(record.ends, record.ends.dropFirst()).allSatisfy { $0 <= $1 }, "fields overlap")
            verdict.require(record.ends.last == record.bytes.count, "bytes behind the last field")
            expected.append(record.ends.indices.map { record.field($0) })
            written += expected[expected.count - 1].map(quoted).joined(separator: [UInt8(ascii: ",")])
            written.append(0x0a)
        }
        let bytes = records.reduce(0) { $0 + $1.bytes.count }
        verdict.require(bytes <= input.message.count + records.count, "records have more bytes than the file")
        let again = fields(of: written, &verdict)
        verdict.require(again == expected, "records are others when they are written and read again")
    }

    private static func fields(of bytes: [UInt8], _ verdict: inout InputVerdict) -> [[ArraySlice<UInt8>]] {
        records([bytes[...]], &verdict).map { record in record.ends.indices.map { record.field($0) } }
    }

    /// A field in quotes, those inside doubled.
    private static func quoted(_ field: ArraySlice<UInt8>) -> [UInt8] {
        let quote = UInt8(ascii: "\"")
        return [quote] + field.flatMap { $0 == quote ? [quote, quote] : [$0] } + [quote]
    }

    /// What the callers' reader says, in words that hold all of it.
    private static func callers(
        _ pieces: [ArraySlice<UInt8>], _ input: SteeredInput, _ verdict: inout InputVerdict
    ) -> [String] {
        var said: [String] = []
        do {
            if input.steer(0) & 1 == 0 {
                var reader = try CSVCallerReader(file: "callers.csv", source: source(pieces))
                while let row = try reader.next() { said.append(words(row, &verdict)) }
            } else {
                var reader = JSONLinesReader(file: "callers.jsonl", source: source(pieces))
                while let row = try reader.next() { said.append(words(row, &verdict)) }
            }
        } catch let error as SourceError {
            verdict.outcomes.insert("header refused")
            said.append("\(error)")
        } catch {
            verdict.violations.append("an error of an unknown type")
        }
        verdict.require(said.count <= input.message.count + 1, "more rows than bytes")
        return said
    }

    private static func words(_ row: Result<RawCaller, SourceFinding>, _ verdict: inout InputVerdict) -> String {
        switch row {
        case .success(let caller):
            verdict.outcomes.insert("caller")
            return "\(caller)"
        case .failure(let finding):
            verdict.outcomes.insert("row refused")
            verdict.require(!finding.expected.isEmpty, "a finding without words")
            return finding.description
        }
    }
}
