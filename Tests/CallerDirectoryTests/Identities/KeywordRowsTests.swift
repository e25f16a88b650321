// Rows in one buffer: short and long values, copied and compared in place.

import Testing

@testable import CallerDirectory

@Suite struct KeywordRowsTests {
    @Test func valuesAreCopiedAndComparedInPlace() {
        var rows = KeywordRows()
        let values = [0, 1, 31, 32, 33, 500].map { count in (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ count) } }
        for (index, value) in values.enumerated() { rows.append(keyword: [UInt8](repeating: 1, count: index), value: value) }
        for (index, value) in values.enumerated() {
            #expect(rows.valueBytes(at: index) == value.count)
            var out: [UInt8] = [9]
            rows.appendValue(at: index, to: &out)
            #expect(out == [9] + value)
            #expect(rows.isValue(at: index, equalTo: out, 1..<out.count))
            #expect(!rows.isValue(at: index, equalTo: out, 0..<out.count))
            #expect(!rows.isValue(at: index, equalTo: value, 1..<(value.count + 1)))
            guard let last = value.last else { continue }
            out[out.count - 1] = last &+ 1
            #expect(!rows.isValue(at: index, equalTo: out, 1..<out.count))
        }
    }

    @Test func sortedRowsKeepTheirHashesAndValues() throws {
        var rows = KeywordRows()
        for row in 0..<400 { rows.append(keyword: Array("+1408555\(row)".utf8), value: [UInt8(row & 0xff), 3]) }
        let sharded = try ShardedRows(rows, function: .sha256, shardCount: 4, threads: 2)
        for shard in 0..<4 {
            let list = try sharded.sortedRows(ofShard: shard)
            #expect(list.rows.count == sharded.count(ofShard: shard) && list.ends.count == list.rows.count)
            #expect(zip(list.hashes, list.hashes.dropFirst()).allSatisfy { $0 < $1 })
            for (place, row) in list.rows.enumerated() {
                #expect(sharded.hashes[Int(row)] == list.hashes[place] && list.place(of: list.hashes[place]) == place)
                #expect(rows.isValue(at: Int(row), equalTo: list.values, (2 * place)..<list.ends[place]))
            }
            #expect(list.place(of: .max) == nil)
        }
    }
}
