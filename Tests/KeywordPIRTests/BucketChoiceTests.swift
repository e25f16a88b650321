// The chosen size of buckets holds every row, is the one of least cost, and its tables fill about as far as expected.

import BFV
import RingMath
import Testing

@testable import KeywordPIR

@Suite struct BucketChoiceTests {
    static let small = "n_4096_logq_27_28_28_logt_5"
    static let large = "n_8192_logq_3x55_logt_24"

    private func equalRows(_ count: Int, _ valueBytes: Int) -> RowSizes {
        RowSizes(count: count, valueBytes: count * valueBytes, longestValue: valueBytes)
    }

    @Test(arguments: [small, large, "insecure_n_8_logq_5x18_logt_5"], [1, 2, 3])
    func everyRowFitsAndNothingIsCheaper(name: String, functions: Int) throws {
        let set = try ParameterSet.named(name, allowInsecure: true)
        let model = CostModel(set)
        for rows in [
            equalRows(0, 0), equalRows(1, 0), equalRows(300, 65_535), equalRows(5_000, 3_000), equalRows(50_000, 1),
            RowSizes(count: 10_000, valueBytes: 400_000, longestValue: 900),
        ] {
            let best = model.bucketChoice(rows, hashFunctions: functions, dimensionCount: 2)
            #expect(best.bucketSize >= rows.longestValue + 11 && best.bucketSize <= ShardParameters.maximum)
            #expect(best.load > 0 && best.load < 1 && best.cost.isFinite && best.cost > 0)
            let usual = TableSettings.defaultBucketSize(
                longestValue: rows.longestValue, bytesPerPlaintext: set.bytesPerPlaintext)
            let others = [usual, set.bytesPerPlaintext, usual + set.bytesPerPlaintext].filter { $0 >= rows.longestValue + 11 }
            for size in others where size % set.bytesPerPlaintext == 0 || size == usual {
                let other = model.bucketChoice(size: size, rows, hashFunctions: functions, dimensionCount: 2)
                #expect(best.cost <= other.cost * 1.011, "\(size) bytes")
            }
        }
    }

    // One row in a bucket leaves half of the places empty; two of 3,000 bytes take three plaintexts instead of two.
    @Test func longRowsShareABucket() throws {
        let model = CostModel(try ParameterSet.named(Self.small))
        let rows = equalRows(5_000, 3_000)
        let best = model.bucketChoice(rows, hashFunctions: 2, dimensionCount: 2)
        let single = model.bucketChoice(size: 4096, rows, hashFunctions: 2, dimensionCount: 2)
        #expect(best.bucketSize == 6144)
        #expect(best.cost < 0.9 * single.cost)
        // A response costs as well: nine chunks would be computed faster than two.
        let nine = model.bucketChoice(size: 18_432, rows, hashFunctions: 2, dimensionCount: 2)
        let price = CostModel.nanosecondsPerResponseByte * Double(2 * (9 - 2) * model.set.replyBytes)
        #expect(nine.cost > single.cost && nine.cost - price < single.cost)
    }

    @Test func equalCostsGoToTheReferencesSize() throws {
        let model = CostModel(try ParameterSet.named(Self.small))
        #expect(model.bucketChoice(equalRows(10, 40), hashFunctions: 2, dimensionCount: 2).bucketSize == 1024)
    }

    @Test(arguments: [2, 3], [(1_000, 3_000), (5_000, 1), (2_000, 150)])
    func tablesFillAsExpected(functions: Int, shape: (rows: Int, valueBytes: Int)) throws {
        let model = CostModel(try ParameterSet.named(Self.small))
        let choice = model.bucketChoice(
            equalRows(shape.rows, shape.valueBytes), hashFunctions: functions, dimensionCount: 2)
        var settings = choice.settings
        settings.hashFunctionCount = functions
        var hasher = KeywordHasher()
        var rows = TableRows()
        let value = [UInt8](repeating: 7, count: shape.valueBytes)
        for row in 0..<shape.rows { rows.append(hash: hasher.hash(Array("row \(row)".utf8)), value: value) }
        let table = try CuckooTable(rows, settings: settings)
        #expect(table.largestBucketBytes <= choice.bucketSize)
        // Twelve growths by a fiftieth are a quarter.
        #expect(table.growths <= 12, "\(table.growths) growths from a load of \(choice.load)")
    }

    @Test(arguments: [small, large]) func replyBytesAreThoseOfAReply(name: String) throws {
        let set = try ParameterSet.named(name)
        if set.fits32Bits { try checkReply(set, UInt32.self) } else { try checkReply(set, UInt64.self) }
    }

    private func checkReply<Word: ResidueWord>(_ set: ParameterSet, _: Word.Type) throws {
        let context = try BFVContext<Word>(set)
        let zero = Polynomial<Word, Coefficient>(rows: 1, degree: set.degree)
        guard case .full(let polys, _, _) = context.replyBytes(of: Ciphertext([zero, zero])) else {
            Issue.record("a reply is not in full form")
            return
        }
        #expect(polys.count == set.replyBytes)
    }
}
