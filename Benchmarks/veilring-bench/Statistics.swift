// Medians and percentiles, and how they are defined here.

/// Times of one thing that was done again and again.
struct Sample {
    private(set) var values: [Double] = []

    /// Takes one more.
    mutating func append(_ value: Double) { values.append(value) }

    /// The middle value, or the mean of the two in the middle; NaN of nothing.
    var median: Double {
        let sorted = values.sorted()
        guard let last = sorted.last, sorted.count > 1 else { return sorted.first ?? .nan }
        let middle = sorted.count / 2
        return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + min(sorted[middle], last)) / 2
    }

    /// The least value that at least `percent` of 100 values do not exceed (nearest rank, no interpolation); NaN of nothing.
    func percentile(_ percent: Int) -> Double {
        let sorted = values.sorted()
        guard !sorted.isEmpty else { return .nan }
        let rank = (sorted.count * percent + 99) / 100
        return sorted[min(max(rank, 1), sorted.count) - 1]
    }
}

/// Milliseconds that the work takes.
func milliseconds(_ work: () throws -> Void) rethrows -> Double {
    let start = ContinuousClock.now
    try work()
    return (ContinuousClock.now - start) / .milliseconds(1)
}
