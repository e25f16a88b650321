// What a query costs, from counts of operations and what each of them takes (spec keyword-pir.md 14.1, bfv.md 14.3), and the
// choice of dimensions that follows from it (keyword-pir.md 4.2, 14.5: dimensions are the server's to choose).
//
// The figures are constants, so that a shard has the same dimensions wherever it is built. Fitting them again after kernels
// changed: on a quiet machine run `OperationCosts.measured` for both sets of `OperationCosts.fitted` (`veilring-bench costs`),
// and put what it prints into the two tables below. Only ratios count for the choice; 10 % in one of them hardly moves it.

import BFV
import RingMath

/// What the operations of a query take, in nanoseconds.
public struct OperationCosts: Sendable, Equatable {
    /// A forward transform, for each of its `N/2·log2 N` butterflies.
    public var forward: Double
    /// An inverse transform, for each butterfly.
    public var inverse: Double
    /// Both sums of a key switch, for each residue of one digit in one row.
    public var keySwitchTerm: Double
    /// An automorphism and an addition, for each residue of a row.
    public var addPermuted: Double
    /// Both children of a tree node, for each residue of a row.
    public var split: Double
    /// Centered lifting to another modulus, for each residue.
    public var liftCentered: Double
    /// A difference times a constant, for each residue; all other single passes over a row count as one of these.
    public var subtractAndScale: Double
    /// First dimension: a plaintext times both polynomials of a selection, for each residue of one row.
    public var multiplyAccumulate: Double
    /// First dimension: beginning and end of the sums of a column, for each residue of one row.
    public var columnEnds: Double
    /// Second dimension: a term of the tensor product, for each residue of one row.
    public var tensorTerm: Double
    /// Second dimension: beginning and end of those sums, for each residue of one row.
    public var tensorEnds: Double
    /// Conversion to another base, for each residue of a row that goes in and each row that comes out.
    public var convert: Double

    /// Words of 32 bits: n_4096_logq_27_28_28_logt_5.
    public static let narrow = OperationCosts(
        forward: 0.25, inverse: 0.24, keySwitchTerm: 0.4, addPermuted: 0.15, split: 0.25, liftCentered: 0.085,
        subtractAndScale: 0.17, multiplyAccumulate: 0.16, columnEnds: 0.8, tensorTerm: 1.55,
        tensorEnds: 2, convert: 0.47)
    /// Words of 64 bits: n_8192_logq_3x55_logt_24.
    public static let wide = OperationCosts(
        forward: 0.83, inverse: 0.79, keySwitchTerm: 2.2, addPermuted: 0.4, split: 0.83, liftCentered: 0.165,
        subtractAndScale: 0.68, multiplyAccumulate: 1.12, columnEnds: 3.4, tensorTerm: 10.5,
        tensorEnds: 0, convert: 1.7)

    /// The figures for the words that a set works with.
    public static func fitted(_ set: ParameterSet) -> OperationCosts { set.fits32Bits ? narrow : wide }
}

/// Estimates queries of one parameter set.
public struct CostModel: Sendable {
    /// Shape of a query as far as its cost depends on it.
    public struct Query: Sendable, Equatable {
        /// H: tables, each asked once.
        public var hashFunctions: Int
        /// C: plaintexts that an entry spans.
        public var chunks: Int
        /// Plaintexts of one chunk of one table that are not nil, at most `d_0·d_1`.
        public var plaintexts: Int
        /// One or two dimensions.
        public var dimensions: [Int]
        /// Which keys the client uploads.
        public var compression: KeyCompression

        /// A query to a database of this shape.
        public init(
            hashFunctions: Int, chunks: Int, plaintexts: Int, dimensions: [Int], compression: KeyCompression = .noCompression
        ) {
            self.hashFunctions = hashFunctions
            self.chunks = chunks
            self.plaintexts = plaintexts
            self.dimensions = dimensions
            self.compression = compression
        }

        var rows: Int { dimensions.first ?? 1 }
        var columns: Int { dimensions.count == 2 ? dimensions[1] : 1 }
        var multiplies: Bool { dimensions.count == 2 && columns > 1 }
        var outputs: Int { dimensions.reduce(0, +) * hashFunctions }
    }

    /// Nanoseconds of one query, by phase.
    public struct Estimate: Sendable, Equatable {
        /// The expansion tree, with leaves brought into the form that the dimensions read.
        public var expansion: Double
        /// Plaintexts times selections.
        public var firstDimension: Double
        /// Lifting, products, relinearization, switch to one modulus.
        public var secondDimension: Double
        /// All of it.
        public var total: Double { expansion + firstDimension + secondDimension }
    }

    /// What an operation takes.
    public let costs: OperationCosts
    /// What it is a model of.
    public let set: ParameterSet
    private let degree: Int
    /// Rows of a ciphertext, of a key, of a lifted operand.
    private let (levels, keyRows, productRows): (Double, Double, Double)

    /// A model for the set; `costs`: nil for the fitted ones.
    public init(_ set: ParameterSet, costs: OperationCosts? = nil) {
        self.costs = costs ?? .fitted(set)
        self.set = set
        degree = set.degree
        levels = Double(set.ciphertextModuliCount)
        keyRows = levels + (set.hasEvaluationKeys ? 1 : 0)
        productRows = levels + Double(set.auxiliaryPrimeCount)
    }

    private var n: Double { Double(degree) }
    private var butterflies: Double { n / 2 * Double(degree.trailingZeroBitCount) }
    private var forward: Double { costs.forward * butterflies }
    private var inverse: Double { costs.inverse * butterflies }
    private var convert: Double { costs.convert * n * levels * (productRows - levels) }

    /// Nanoseconds of a query on one thread.
    public func estimate(_ query: Query) -> Estimate {
        let (tables, chunks) = (Double(query.hashFunctions), Double(query.chunks))
        let jobs = tables * chunks
        let columns = Double(query.columns)
        let terms = Double(query.plaintexts) * costs.multiplyAccumulate + columns * costs.columnEnds
        return Estimate(
            expansion: expansion(query), firstDimension: jobs * levels * n * terms,
            secondDimension: jobs * (query.multiplies ? products(columns: columns) : 2 * levels * inverse))
    }

    private func expansion(_ query: Query) -> Double {
        var cost = 0.0
        var left = query.outputs
        while left > 0 {
            let m = min(left, degree)
            left -= m
            cost += tree(m, keys: galoisElements(degree: degree, outputs: query.outputs, compression: query.compression))
        }
        // Selections of the first dimension are copied, those of the second become operands of products.
        let tables = Double(query.hashFunctions)
        let operand = query.multiplies ? 2 * (levels * inverse + liftOperand) : 0
        return cost + tables * (Double(query.rows) * 2 * levels * n * costs.subtractAndScale + Double(query.columns) * operand)
    }

    /// Auxiliary rows of one polynomial.
    private var liftOperand: Double { convert + (productRows - levels) * forward }

    /// One tree with `m` leaves.
    private func tree(_ m: Int, keys elements: [Int]) -> Double {
        let log = degree.trailingZeroBitCount
        // Nodes of a level have at most two numbers of leaves, `low` and `low + 1`. They are kept in order, since sums in
        // another order would differ in their last bits, and with them the choice between equals.
        var (low, lower, higher) = (m, 1.0, 0.0)
        var cost = levels * forward + levels * keyRows * (forward + n * costs.liftCentered)
        var level = 1
        while low > 1 || higher > 0 {
            let times = automorphismPlan(power: log - level + 1, elements: elements, degree: degree)?.times ?? 1
            if low > 1 { cost += lower * step(times: times, leavesOnly: low == 2) }
            cost += higher * step(times: times, leavesOnly: low == 1)
            // A single leaf has no children; the nodes of two beside it have two leaves each, which end here.
            if low == 1 { break }
            (lower, higher) = low % 2 == 0 ? (2 * lower + higher, higher) : (lower, lower + 2 * higher)
            low /= 2
            level += 1
        }
        return cost
    }

    /// One step of the tree: key-switch sums, division of both, digits where they are needed again, both children.
    private func step(times: Int, leavesOnly: Bool) -> Double {
        // One polynomial divided by P as values, from its row modulo P.
        let division = inverse + levels * (forward + n * (costs.liftCentered + costs.subtractAndScale))
        let sums = keyRows * levels * n * costs.keySwitchTerm + division + levels * n * costs.addPermuted
        let coefficients = keyRows * inverse + levels * n * (costs.liftCentered + costs.subtractAndScale)
        let digits = coefficients + levels * keyRows * (forward + n * costs.liftCentered)
        let again = Double(times - 1) * (sums + digits + levels * n * costs.subtractAndScale)
        return again + sums + levels * n * costs.split
            + (leavesOnly ? division + levels * n * costs.split : digits + levels * keyRows * n * costs.split)
    }

    /// Second dimension of one table and chunk.
    private func products(columns: Double) -> Double {
        let lifting = columns * 2 * (levels * (inverse + n * costs.subtractAndScale) + liftOperand)
        let tensor = productRows * n * (columns * costs.tensorTerm + costs.tensorEnds)
        let scaling = 3 * (productRows * inverse + 2 * convert + (productRows - levels) * 2 * n * costs.subtractAndScale)
        let switching =
            levels * keyRows * (forward + n * (costs.liftCentered + costs.keySwitchTerm)) + 2 * keyRows * inverse
            + (2 * levels + 2) * n * (costs.liftCentered + 2 * costs.subtractAndScale)
        return lifting + tensor + scaling + switching
    }
}

/// How the dimensions of a shard are found.
public enum DimensionRule: String, Sendable, Equatable, CaseIterable {
    /// The split that a query is estimated to be answered fastest with.
    case cost
    /// The reference's rule: the longest first dimension that needs no more keys than the even split.
    case uneven
    /// The reference's rule without that: two dimensions that differ by at most one.
    case even
}

extension CostModel {
    /// How much a query must gain before every client is asked for one more Galois key: an eighth.
    ///
    /// A key costs an upload, memory for as long as it is stored or cached, and its share of the first query's time (a sixth
    /// or so of a usual evaluation key), once for each device; a query is asked for every call.
    public static let gainForAnotherKey = 0.125

    /// Dimensions for `count` plaintexts in each chunk of each table.
    ///
    /// With the rule `cost` all `d_1` are tried whose expanded query stays below the power of two that the reference's rule
    /// stays below, which means the same number of Galois keys, and those below the next one if they pay
    /// (`gainForAnotherKey`). Noise does not decide: its growth with either dimension is slight against what a wrong parameter
    /// set does, and real queries at the end of a build look for that.
    public func dimensions(
        plaintexts count: Int, hashFunctions: Int, chunks: Int, dimensionCount: Int,
        compression: KeyCompression = .noCompression,
        rule: DimensionRule = .cost
    ) -> [Int] {
        let even = KeywordPIR.dimensions(
            plaintexts: count, hashFunctions: hashFunctions, dimensionCount: dimensionCount, uneven: rule == .uneven)
        guard rule == .cost, dimensionCount == 2 else { return even }
        let keys = ceilLog2(even.reduce(0, +) * hashFunctions)
        // The least cost with as many keys as needed and with one more; equal costs go to the shorter second dimension.
        var best: [(cost: Double, dimensions: [Int])] = [(.infinity, even), (.infinity, even)]
        for columns in 1...max(1, even[1] + 1) {
            let split = [max((count + columns - 1) / columns, 1), columns]
            let outputs = (split[0] + columns) * hashFunctions
            let more = max(ceilLog2(outputs) - keys, 0)
            guard more < best.count, outputs <= ShardParameters.maximumOutputs else { continue }
            let cost = estimate(
                Query(
                    hashFunctions: hashFunctions, chunks: chunks, plaintexts: count, dimensions: split, compression: compression
                )
            ).total
            if cost < best[more].cost { best[more] = (cost, split) }
        }
        return best[1].cost < best[0].cost * (1 - Self.gainForAnotherKey) ? best[1].dimensions : best[0].dimensions
    }
}
