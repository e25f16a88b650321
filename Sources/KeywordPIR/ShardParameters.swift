// Shape of a shard: plaintexts, dimensions, expanded ciphertexts and the Galois elements they need
// (spec keyword-pir.md 4, 6.4).

import BFV
import RingMath

/// How many Galois keys a client uploads (keyword-pir.md 6.4).
public enum KeyCompression: String, Sendable, Equatable {
    /// One for each level of the expansion: fastest.
    case noCompression
    /// Fewer, with one helper for the top levels.
    case hybridCompression
    /// Fewest.
    case maxCompression
}

/// Numbers of one shard that the client sees.
public struct ShardParameters: Sendable, Equatable, Hashable {
    /// B: buckets of each table.
    public let entryCount: Int
    /// E: bytes of a bucket, padded.
    public let entrySize: Int
    /// One or two dimensions.
    public let dimensions: [Int]
    /// H: tables.
    public let hashFunctionCount: Int

    /// Limit on every number here, so that products of them cannot overflow.
    public static let maximum = 1 << 24
    /// Limit on the ciphertexts that a query expands to.
    static let maximumOutputs = 1 << 20

    /// Checks shape against the parameter set (keyword-pir.md 5.5).
    ///
    /// Throws `PIRError.invalid` naming the rule that is broken.
    public init(
        entryCount: Int, entrySize: Int, dimensions: [Int], hashFunctionCount: Int, set: ParameterSet
    ) throws {
        self.entryCount = entryCount
        self.entrySize = entrySize
        self.dimensions = dimensions
        self.hashFunctionCount = hashFunctionCount
        let range = 1...Self.maximum
        guard (1...8).contains(hashFunctionCount) else { throw PIRError.invalid("1 to 8 hash functions expected") }
        guard range.contains(entryCount), range.contains(entrySize) else {
            throw PIRError.invalid("number of entries and entry size must be in 1 … \(Self.maximum)")
        }
        guard (1...2).contains(dimensions.count), dimensions.allSatisfy({ range.contains($0) }) else {
            throw PIRError.invalid("one or two dimensions in 1 … \(Self.maximum) expected")
        }
        guard dimensions.reduce(1, *) >= plaintextCount(set) else {
            throw PIRError.invalid("dimensions hold fewer plaintexts than the entries need")
        }
        guard dimensions.reduce(0, +) * hashFunctionCount <= Self.maximumOutputs else {
            throw PIRError.invalid("query would expand to more than 2^20 ciphertexts")
        }
    }

    /// Entries in one plaintext (keyword-pir.md 4.1).
    public func entriesPerPlaintext(_ set: ParameterSet) -> Int { max(set.bytesPerPlaintext / entrySize, 1) }

    /// Plaintexts of a chunk before padding.
    public func plaintextCount(_ set: ParameterSet) -> Int {
        (entryCount + entriesPerPlaintext(set) - 1) / entriesPerPlaintext(set)
    }

    /// C: plaintexts that one entry spans.
    public func chunks(_ set: ParameterSet) -> Int {
        max((entrySize + set.bytesPerPlaintext - 1) / set.bytesPerPlaintext, 1)
    }

    /// d_0.
    public var rows: Int { dimensions[0] }
    /// d_1, 1 if there is only one dimension.
    public var columns: Int { dimensions.count == 2 ? dimensions[1] : 1 }
    /// W: expanded ciphertexts of one table.
    public var selectionWidth: Int { dimensions.reduce(0, +) }
    /// H·W.
    public var expandedCount: Int { selectionWidth * hashFunctionCount }

    /// Position of the plaintext of entry `index` in a table: row-major number, then coordinates (keyword-pir.md 5.1).
    public func coordinates(ofEntry index: Int, _ set: ParameterSet) -> (row: Int, column: Int) {
        let r = index / entriesPerPlaintext(set)
        return (r / columns, r % columns)
    }

    /// Byte offset of an entry in its plaintext.
    public func offset(ofEntry index: Int, _ set: ParameterSet) -> Int {
        chunks(set) > 1 ? 0 : (index % entriesPerPlaintext(set)) * entrySize
    }
}

/// Dimensions by the reference's rule (keyword-pir.md 4.2).
public func dimensions(plaintexts count: Int, hashFunctions: Int, dimensionCount: Int, uneven: Bool) -> [Int] {
    if dimensionCount == 1 { return [max(count, 1)] }
    var root = Int(Double(count).squareRoot())
    while root * root > count { root -= 1 }
    while (root + 1) * (root + 1) <= count { root += 1 }
    var d = [max(root, 1), max(root, 1)]
    for i in 0..<2 where d[0] * d[1] < count { d[i] += 1 }
    guard uneven else { return d }
    func power(_ x: Int) -> Int { 1 << ceilLog2(x) }
    let limit = power((d[0] + d[1]) * hashFunctions)
    var candidate = d
    while power((candidate[0] + candidate[1]) * hashFunctions) <= limit {
        d = candidate
        if candidate[1] == 1 { break }
        candidate[1] -= 1
        candidate[0] = (count + candidate[1] - 1) / candidate[1]
    }
    return d
}

/// Galois elements for an expansion to `outputs` ciphertexts, ascending (keyword-pir.md 6.4). Empty for one output.
public func galoisElements(degree: Int, outputs: Int, compression: KeyCompression) -> [Int] {
    let log = degree.trailingZeroBitCount
    let depth = ceilLog2(min(outputs, degree))
    guard depth > 0 else { return [] }
    let lowest = log - depth + 1
    let half = (log + 2) / 2
    let highest = compression == .noCompression ? log : max(lowest, half)
    var powers = Array(lowest...highest)
    if compression == .hybridCompression {
        let extra = max(highest, (log + highest + 1) / 2)
        if !powers.contains(extra) { powers.append(extra) }
    }
    return powers.sorted().map { (1 << $0) + 1 }
}

/// Applications of a key that one expansion step of element `2^p + 1` takes: the largest available element not above it, and
/// how often (keyword-pir.md 6.3). Nil if no element can serve.
func automorphismPlan(power p: Int, elements: [Int], degree: Int) -> (element: Int, times: Int)? {
    let element = (1 << p) + 1
    if elements.contains(element) { return (element, 1) }
    guard let best = elements.filter({ $0 < element && ($0 - 1) & ($0 - 2) == 0 }).max() else { return nil }
    let a = (best - 1).trailingZeroBitCount
    guard 2 * a >= degree.trailingZeroBitCount + 1 else { return nil }
    return (best, 1 << (p - a))
}
