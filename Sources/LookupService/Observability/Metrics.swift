// Counters, gauges and histograms. They change on event loops and computing threads, so a change is one or two atomic additions
// and waits for nobody; only counters over combinations of labels take a lock for the time of one addition. Labels come from
// closed lists or from the configuration, never from a request (service.md 8.1).

import Synchronization

/// Counts up.
final class Counter: Sendable {
    private let count = Atomic<Int>(0)

    /// Adds; `amount` is not negative.
    func add(_ amount: Int = 1) { count.wrappingAdd(amount, ordering: .relaxed) }

    /// The count.
    var value: Int { count.load(ordering: .relaxed) }
}

/// Goes up and down.
final class Gauge: Sendable {
    private let level = Atomic<Int>(0)

    /// Adds; may be negative.
    func add(_ amount: Int) { level.wrappingAdd(amount, ordering: .relaxed) }

    /// The level.
    var value: Int { level.load(ordering: .relaxed) }
}

/// Durations by size.
final class Histogram: Sendable {
    /// What one reading of a histogram saw.
    struct Reading: Sendable, Equatable {
        /// Durations of at most the bound with the same index, not counted at a smaller one; the last one has no bound.
        var counts: [Int]
        /// Sum of all durations, in nanoseconds.
        var nanoseconds: Int
        /// How many durations.
        var count: Int { counts.reduce(0, &+) }
    }

    /// From half a millisecond to half a minute: quick answers of the front as well as long waits.
    static let standardBounds: [Duration] = [
        .microseconds(500), .milliseconds(1), .microseconds(2500), .milliseconds(5), .milliseconds(10), .milliseconds(25),
        .milliseconds(50), .milliseconds(100), .milliseconds(250), .milliseconds(500), .seconds(1), .milliseconds(2500),
        .seconds(5), .seconds(10), .seconds(30),
    ]

    /// Upper bounds of the buckets, ascending; one more bucket has no bound.
    let bounds: [Duration]
    private let limits: [Int]
    private let buckets: [Counter]
    private let sum = Counter()

    /// A histogram with buckets up to `bounds`, which ascend.
    init(bounds: [Duration] = Histogram.standardBounds) {
        self.bounds = bounds
        limits = bounds.map(\.nanoseconds)
        buckets = (0...bounds.count).map { _ in Counter() }
    }

    /// Counts a duration.
    func observe(_ duration: Duration) {
        let nanoseconds = max(0, duration.nanoseconds)
        let index = limits.firstIndex { nanoseconds <= $0 } ?? limits.count
        buckets[index].add()
        sum.add(nanoseconds)
    }

    /// The counts at about this moment; `count` always fits to `counts`.
    var reading: Reading { Reading(counts: buckets.map(\.value), nanoseconds: sum.value) }
}

/// Values of a label that are all known in advance.
protocol MetricLabel: Hashable, Sendable, CaseIterable {
    /// The value as it is written.
    var labelText: String { get }
}

extension MetricLabel where Self: RawRepresentable, RawValue == String {
    var labelText: String { rawValue }
}

/// One instrument for each value of a label. All exist from the start, so that each series begins at zero.
struct LabelledInstruments<Label: MetricLabel, Instrument: Sendable>: Sendable {
    private let instruments: [Label: Instrument]

    init(_ make: () -> Instrument) {
        instruments = Dictionary(Label.allCases.map { ($0, make()) }, uniquingKeysWith: { first, _ in first })
    }

    /// The instrument of a value; nil only for a value that `allCases` leaves out.
    subscript(label: Label) -> Instrument? { instruments[label] }

    /// Pairs in the order of the list.
    var all: [(label: Label, instrument: Instrument)] {
        Label.allCases.compactMap { label in instruments[label].map { (label, $0) } }
    }
}

/// Counters for combinations of labels, each made when it is first counted. Bounded by `mostKeys`, so that a mistake in the
/// choice of keys cannot fill the memory: beyond them nothing is counted.
final class CombinedCounters<Key: Hashable & Sendable>: Sendable {
    private let counts = Mutex<[Key: Int]>([:])
    private let mostKeys: Int

    init(mostKeys: Int = 4096) { self.mostKeys = mostKeys }

    func add(_ amount: Int = 1, to key: Key) {
        counts.withLock { counts in
            guard counts.count < mostKeys || counts[key] != nil else { return }
            counts[key, default: 0] &+= amount
        }
    }

    var all: [Key: Int] { counts.withLock { $0 } }
}
