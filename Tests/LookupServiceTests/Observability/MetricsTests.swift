// Instruments and their text form, also as the Prometheus project's own parser reads it.

import Dispatch
import Testing

@testable import LookupService

private enum Colour: String, MetricLabel {
    case red
    case green
}

@Suite("Instruments")
struct MetricsTests {
    @Test("nothing is lost when many threads count at once")
    func concurrency() {
        let counter = Counter()
        let gauge = Gauge()
        let histogram = Histogram(bounds: [.milliseconds(1), .milliseconds(2)])
        let combined = CombinedCounters<Int>()
        DispatchQueue.concurrentPerform(iterations: 8) { thread in
            for step in 0..<5000 {
                counter.add(2)
                gauge.add(step % 2 == 0 ? 1 : -1)
                histogram.observe(.milliseconds(step % 3 + 1))
                combined.add(to: thread % 2)
            }
        }
        #expect(counter.value == 80_000)
        #expect(gauge.value == 0)
        #expect(histogram.reading.count == 40_000)
        #expect(histogram.reading.counts == [13_336, 13_336, 13_328])
        #expect(histogram.reading.nanoseconds == (13_336 + 13_336 * 2 + 13_328 * 3) * 1_000_000)
        #expect(combined.all == [0: 20_000, 1: 20_000])
    }

    @Test("a duration counts at the first bound that it does not exceed")
    func bounds() {
        let histogram = Histogram(bounds: [.milliseconds(1), .milliseconds(5)])
        for microseconds in [-5, 0, 999, 1000, 1001, 5000, 5001, 1_000_000] { histogram.observe(.microseconds(microseconds)) }
        #expect(histogram.reading.counts == [4, 2, 2])
        histogram.observe(.seconds(Int64.max / 2))
        #expect(histogram.reading.counts == [4, 2, 3])
        #expect(Histogram.standardBounds == Histogram.standardBounds.sorted())
    }

    @Test("combinations beyond the bound are not kept")
    func combinations() {
        let counters = CombinedCounters<Int>(mostKeys: 2)
        for key in [1, 2, 3, 1] { counters.add(to: key) }
        #expect(counters.all == [1: 2, 2: 1])
    }

    private static var page: String {
        let histograms = LabelledInstruments<Colour, Histogram> { Histogram(bounds: [.microseconds(500), .seconds(1)]) }
        histograms[.green]?.observe(.milliseconds(250))
        histograms[.green]?.observe(.seconds(2))
        let counters = LabelledInstruments<Colour, Counter> { Counter() }
        counters[.red]?.add(3)
        return MetricsText.text(of: [
            .counter("a_total", "Counts \\ of\nsomething.", by: "colour", counters),
            .gauge("b_info", "b", [MetricSample(labels: [LabelPair("text", "a\"b\\c\nd e}，é")], value: .integer(1))]),
            .gauge("c", "c", [MetricSample(value: .real(-.infinity))]),
            .gauge("d", "d", []),
            .histogram("e_seconds", "e", by: "colour", histograms),
        ])
    }

    @Test("the text form")
    func text() {
        let expected = #"""
            # HELP a_total Counts \\ of\nsomething.
            # TYPE a_total counter
            a_total{colour="red"} 3
            a_total{colour="green"} 0
            # HELP b_info b
            # TYPE b_info gauge
            b_info{text="a\"b\\c\nd e}，é"} 1
            # HELP c c
            # TYPE c gauge
            c -Inf
            # HELP d d
            # TYPE d gauge
            # HELP e_seconds e
            # TYPE e_seconds histogram
            e_seconds_bucket{colour="red",le="0.0005"} 0
            e_seconds_bucket{colour="red",le="1.0"} 0
            e_seconds_bucket{colour="red",le="+Inf"} 0
            e_seconds_sum{colour="red"} 0.0
            e_seconds_count{colour="red"} 0
            e_seconds_bucket{colour="green",le="0.0005"} 0
            e_seconds_bucket{colour="green",le="1.0"} 1
            e_seconds_bucket{colour="green",le="+Inf"} 2
            e_seconds_sum{colour="green"} 2.25
            e_seconds_count{colour="green"} 2

            """#
        #expect(Self.page == expected)
        #expect(MetricValue.real(.infinity).text == "+Inf" && MetricValue.real(.nan).text == "NaN")
    }

    @Test(
        "Prometheus' own parser reads what was written",
        .enabled(if: MetricsOracle.isAvailable, "python3 or its package prometheus_client is missing (scripts/setup)"))
    func oracle() throws {
        let families = try #require(try MetricsOracle.parse(Self.page))
        #expect(families["a"]?.type == "counter" && families["a"]?.help == "Counts \\ of\nsomething.")
        #expect(families["a"]?.samples.map(\.value) == [3, 0])
        #expect(families["b_info"]?.samples.first?.labels == ["text": "a\"b\\c\nd e}，é"])
        #expect(families["c"]?.samples.first?.value == -.infinity)
        #expect(families["d"]?.samples.isEmpty == true)
        let histogram = try #require(families["e_seconds"])
        #expect(histogram.type == "histogram")
        #expect(histogram.samples.count == 10)
        #expect(histogram.samples.last?.name == "e_seconds_count" && histogram.samples.last?.value == 2)
        #expect(try MetricsOracle.parse("a{b=\"c} 1\n") == nil, "the parser refuses what is broken")
    }

    @Test("the process' numbers out of the kernel's line")
    func process() throws {
        let line =
            "42 (a) b (c)) S 1 2 3 4 5 6 7 8 9 10 250 150 0 0 20 0 17 0 5000 1048576 256 18446744073709551615 1 1 0\n"
        let reading = try #require(
            ProcessReading(
                stat: line, bootTime: 1000, ticksPerSecond: 100, pageBytes: 4096, descriptors: 3, mostDescriptors: 9))
        #expect(reading.processorSeconds == 4)
        #expect(reading.threads == 17 && reading.startSeconds == 1050)
        #expect(reading.virtualBytes == 1 << 20 && reading.residentBytes == 1 << 20)
        for broken in ["", "42 (a)", "42 (a) S 1 2", "42 (a S 1 2 3"] {
            #expect(
                ProcessReading(
                    stat: broken, bootTime: 0, ticksPerSecond: 100, pageBytes: 4096, descriptors: 0, mostDescriptors: 0) == nil)
        }
        let own = try #require(ProcessReading.current())
        #expect(own.residentBytes > 1 << 20 && own.threads >= 1 && own.descriptors >= 1)
        #expect(own.startSeconds > 1e9 && own.startSeconds <= Double(secondsSince1970() + 1))
    }
}
