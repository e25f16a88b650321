// The hash table of the marks against the standard library's set.

import Testing

@testable import StateStore

@Suite("The set of marks")
struct SpentMarkSetTests {
    @Test("random marks, near ones and zeros: the same answers as a plain set")
    func againstSet() {
        let seed = UInt64.random(in: 0...UInt64.max)
        var generator = SeededGenerator(state: seed)
        var marks = SpentMarkSet()
        var model: Set<[UInt8]> = []
        for step in 0..<60_000 {
            // Few bytes that differ: many are asked for again, and those of one part of the table crowd.
            var bytes = [UInt8](repeating: 0, count: 16)
            for _ in 0..<Int.random(in: 0...3, using: &generator) {
                bytes[Int.random(in: 0..<16, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
            }
            let mark = SpentMark(bytes)
            let isKnown = model.contains(bytes)
            #expect(marks.contains(mark) == isKnown, "seed \(seed), step \(step)")
            #expect(marks.insert(mark) == !isKnown, "seed \(seed), step \(step)")
            model.insert(bytes)
        }
        #expect(marks.count == model.count && model.count > 20_000)
        for bytes in model { #expect(marks.contains(SpentMark(bytes)), "seed \(seed)") }
    }

    @Test("a mark's bytes come back")
    func bytes() {
        for n in 0..<100 {
            var copy: [UInt8] = [9]
            SpentMark([1] + mark(n), at: 1).append(to: &copy)
            #expect(copy == [9] + mark(n))
        }
    }
}
