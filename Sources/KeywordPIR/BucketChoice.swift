// How large the buckets of a table should be and how full it is tried at first, by the cost of a query (spec keyword-pir.md
// 3.1: both are the server's to choose; 3.3, 14.5).
//
// A bucket that holds several rows can be filled further than one that holds a single row: with two tables to choose from
// and one row in a bucket, half of the places stay empty. But an entry longer than a plaintext is answered in as many
// ciphertexts for each table, which are computed and sent. So what a phone waits for has two parts, and both are counted.

import BFV
import RingMath

/// Numbers of a shard's rows that its table depends on.
public struct RowSizes: Sendable, Equatable {
    /// Rows.
    public var count: Int
    /// Bytes of all values.
    public var valueBytes: Int
    /// Bytes of the longest value.
    public var longestValue: Int

    /// `valueBytes`: of all rows together.
    public init(count: Int, valueBytes: Int, longestValue: Int) {
        self.count = count
        self.valueBytes = valueBytes
        self.longestValue = longestValue
    }
}

/// A size of buckets with what it is expected to come to.
public struct BucketChoice: Sendable, Equatable {
    /// M: bytes of a bucket.
    public var bucketSize: Int
    /// Bytes of rows for each byte of buckets that a table is tried with first (keyword-pir.md 3.3).
    public var load: Double
    /// Nanoseconds of a query on one thread, and of the response on its way.
    public var cost: Double

    /// Rows that one insertion may displace in tables whose size is chosen here. With two rows in a bucket 500 fill a table
    /// to 87 %, the reference's 100 to 82 %, and 2000 to 89 % (two tables, 5,000 and 20,000 rows, 20 tables each).
    public static let evictions = 500
    /// By how much a table grows that turned out too small.
    public static let expansionFactor = 1.02

    /// A table as it is tried first.
    public var settings: TableSettings {
        var settings = TableSettings(maxSerializedBucketSize: bucketSize)
        settings.maxEvictionCount = Self.evictions
        settings.bucketCount = .allowExpansion(expansionFactor: Self.expansionFactor, targetLoadFactor: load)
        return settings
    }
}

extension CostModel {
    /// What a byte of a response is worth, in nanoseconds of a query: a phone that receives 20 Mbit/s waits as long for it.
    /// Without a price the largest buckets would always win, since a longer response makes the computation shorter.
    public static let nanosecondsPerResponseByte = 400.0

    /// A size is given up for another only if that is better by a hundredth: estimates are not better than that.
    private static let leastGain = 0.01

    /// The size of buckets that a phone is estimated to get its answer with first.
    ///
    /// Tried are buckets that share a plaintext with as many others as fit, and buckets that span as many plaintexts as up to
    /// eight of the longest rows do. `slotCount`: rows of a bucket at most. Equal costs go to the reference's size.
    public func bucketChoice(
        _ rows: RowSizes, hashFunctions: Int, slotCount: Int = HashBucket.maximumSlots, dimensionCount: Int,
        compression: KeyCompression = .noCompression, rule: DimensionRule = .cost
    ) -> BucketChoice {
        func choice(_ size: Int) -> BucketChoice {
            bucketChoice(
                size: size, rows, hashFunctions: hashFunctions, slotCount: slotCount, dimensionCount: dimensionCount,
                compression: compression, rule: rule)
        }
        let plaintext = set.bytesPerPlaintext
        let one = 11 + rows.longestValue
        var best = choice(TableSettings.defaultBucketSize(longestValue: rows.longestValue, bytesPerPlaintext: plaintext))
        let (least, most) = ((one + plaintext - 1) / plaintext, (1 + 8 * (10 + rows.longestValue) + plaintext - 1) / plaintext)
        let sizes =
            (1...8).map { plaintext / $0 }
            + stride(from: max(least, 2), through: most, by: max((most - least) / 32, 1)).map { plaintext * $0 }
        for size in sizes where size >= one && size <= ShardParameters.maximum {
            let other = choice(size)
            if other.cost < best.cost * (1 - Self.leastGain) { best = other }
        }
        return best
    }

    /// The same for a size that is given.
    ///
    /// - `size`: at least 11 bytes more than the longest value.
    public func bucketChoice(
        size: Int, _ rows: RowSizes, hashFunctions: Int, slotCount: Int = HashBucket.maximumSlots, dimensionCount: Int,
        compression: KeyCompression = .noCompression, rule: DimensionRule = .cost
    ) -> BucketChoice {
        let bytes = Double(10 * rows.count + rows.valueBytes)
        let mean = rows.count > 0 ? bytes / Double(rows.count) : 10
        // What is left of a bucket must hold the longest row, whatever else is in it.
        let fitting = (Double(size - 1) - Double(10 + rows.longestValue) + mean) / mean
        let slots = max(min(fitting.rounded(.down), Double(slotCount)), 1)
        let fill = Self.reachableFill(slots: Int(slots), rows: rows.count, hashFunctions: hashFunctions)
        let load = min(max(fill * slots * mean / Double(max(size, 1)), 0.001), 0.999)
        let buckets = max((bytes / Double(max(size, 1)) / load).rounded(.up), 1)
        let perTable = min((buckets / Double(hashFunctions)).rounded(.up), Double(ShardParameters.maximum))
        let perPlaintext = max(set.bytesPerPlaintext / size, 1)
        let chunks = max((size + set.bytesPerPlaintext - 1) / set.bytesPerPlaintext, 1)
        let plaintexts = (Int(perTable) + perPlaintext - 1) / perPlaintext
        let split = dimensions(
            plaintexts: plaintexts, hashFunctions: hashFunctions, chunks: chunks, dimensionCount: dimensionCount,
            compression: compression, rule: rule)
        // Buckets without any row cost nothing in the first dimension.
        let present = min(plaintexts, max((rows.count + hashFunctions - 1) / hashFunctions, 1))
        let time = estimate(
            Query(
                hashFunctions: hashFunctions, chunks: chunks, plaintexts: present, dimensions: split, compression: compression)
        ).total
        let response = Double(hashFunctions * chunks * set.replyBytes) * Self.nanosecondsPerResponseByte
        return BucketChoice(bucketSize: size, load: load, cost: time + response)
    }

    /// How full tables get with `slots` rows in a bucket: the share of places that are taken when `BucketChoice.evictions` first
    /// do not suffice. Measured, means over 20 tables of 20,000 rows, less a hundredth or so.
    static func reachableFill(slots: Int, rows: Int, hashFunctions: Int) -> Double {
        let measured: [Double]
        switch hashFunctions {
        case ...1:
            // The fullest of n buckets holds about μ + sqrt(2·μ·ln n) rows where the mean is μ.
            let k = Double(max(slots, 1))
            var mean = k
            for _ in 0..<20 {
                let buckets = max(Double(rows) / max(mean, 0.01), 2)
                let spread = (2 * mean * 0.7 * Double(ceilLog2(Int(buckets)))).squareRoot()
                mean = min(max((mean + k - spread) / 2, 0.05), k)
            }
            return mean / k
        case 2: measured = [0.48, 0.86, 0.93, 0.955, 0.967, 0.975, 0.98, 0.985]
        default: measured = [0.84, 0.955, 0.975, 0.98, 0.985]
        }
        let last = slots > 20 ? 0.99 : measured[measured.count - 1]
        return slots <= measured.count ? measured[max(slots, 1) - 1] : last
    }
}
