// Medians and percentiles by hand.

import Testing

@testable import veilring_bench

@Suite("Statistics")
struct StatisticsTests {
    private func sample(_ values: [Double]) -> Sample {
        var sample = Sample()
        for value in values { sample.append(value) }
        return sample
    }

    @Test("the median is the middle value or the mean of the two in the middle")
    func median() {
        #expect(sample([7]).median == 7)
        #expect(sample([9, 1, 5]).median == 5)
        #expect(sample([4, 1, 100, 2]).median == 3)
        #expect(sample([1, 3]).median == 2)
        #expect(sample([]).median.isNaN)
    }

    @Test("a percentile is the value at the nearest rank above")
    func percentile() {
        let hundred = sample((1...100).map(Double.init).reversed())
        #expect(hundred.percentile(99) == 99)
        #expect(hundred.percentile(100) == 100)
        #expect(hundred.percentile(1) == 1)
        #expect(hundred.percentile(0) == 1)
        #expect(sample((1...101).map(Double.init)).percentile(99) == 100)
        #expect(sample([3, 1, 2]).percentile(99) == 3)
        #expect(sample([3, 1, 2]).percentile(50) == 2)
        #expect(sample([]).percentile(99).isNaN)
    }
}
