// Results for people: what the JSON has, as tables.

import Foundation

private func format(_ value: Double, _ digits: Int = 1) -> String { String(format: "%.\(digits)f", value) }
private func grouped(_ value: Int) -> String {
    var text = ""
    for (index, digit) in String(value).reversed().enumerated() {
        if index > 0, index % 3 == 0 { text.append(",") }
        text.append(digit)
    }
    return String(text.reversed())
}
private func megabytes(_ bytes: Int) -> String { format(Double(bytes) / 1e6) + " MB" }

extension Machine {
    /// One line.
    fileprivate var line: String { "\(cpu), \(cores) cores, \(os), load \(format(loadBefore, 2)) before" }
}

extension EngineResult {
    /// The result as a table.
    var text: String {
        var rows: [[String]] = [["", "median", "p99"]]
        func times(_ name: String, _ times: Times) {
            rows.append([name, format(times.medianMs, 2) + " ms", format(times.p99Ms, 2) + " ms"])
        }
        rows.append(["reply computed", format(query.medianMs, 2) + " ms", format(query.p99Ms, 2) + " ms"])
        rows.append(["  in processor time", format(query.cpuMedianMs, 2) + " ms"])
        times("  expand", query.phases.expand)
        times("  first dimension", query.phases.firstDimension)
        times("  second dimension", query.phases.secondDimension)
        rows.append(["request, key in the cache", format(request.medianMs, 2) + " ms", format(request.p99Ms, 2) + " ms"])
        rows.append(["request, first after an upload", format(request.firstMs, 2) + " ms"])
        rows.append(["  of which decoding the key", format(request.decodeKeyMs, 2) + " ms"])
        func single(_ name: String, _ nanoseconds: Double?) {
            rows.append([name, nanoseconds.map { format($0 / 1000, 2) + " µs" } ?? "–"])
        }
        single("forward NTT", operations.forwardNTT)
        single("inverse NTT", operations.inverseNTT)
        single("key switch", operations.keySwitch)
        single("plaintext multiply-accumulate", operations.plainMultiplyAccumulate)
        single("multiply and relinearize", operations.multiplyRelinearize)
        return ([heading, TextTable.text(rows)] + rest).joined(separator: "\n")
    }

    private var heading: String {
        let dimensions = shape.dimensions.map(String.init).joined(separator: " x ")
        return """
            \(machine.line), \(instructionSet) kernels
            \(grouped(options.rows)) rows of \(grouped(options.valueBytes)) bytes, \(options.parameters), \
            \(options.hashFunctions) hash functions, threads \(options.threads)
            \(dimensions) dimensions, chunks \(shape.chunks), plaintexts \(grouped(shape.plaintexts)) \
            (\(grouped(shape.plaintextsPresent)) not empty), noise budget \(format(noiseBudgetBits)) bits
            """
    }

    private var rest: [String] {
        let allocations = memory.allocationsPerQuery.map { "\(format($0, 0)) allocations" } ?? "allocations not counted"
        let allocated = memory.allocatedBytesPerQuery.map { " of \(grouped(Int($0))) bytes" } ?? ""
        let answering = memory.answeringBytes.map { ", \(megabytes($0)) while answering" } ?? ""
        return [
            "build        \(format(build.seconds, 2)) s, \(grouped(Int(build.rowsPerSecond))) rows/s, "
                + "\(format(build.rawMBPerSecond, 2)) MB of values/s, shard of \(grouped(build.shardBytes)) bytes",
            "sizes        evaluation key \(grouped(sizes.evaluationKey)), query \(grouped(sizes.query)), response "
                + "\(grouped(sizes.response)) bytes",
            "throughput   \(format(throughput.queriesPerSecond)) queries/s, \(format(throughput.rawGBPerSecond, 3)) GB of "
                + "values/s, with \(throughput.threads) threads",
            "memory       peak \(megabytes(memory.peakBytes))\(answering); \(allocations)\(allocated) a request",
            "decoded keys \(grouped(decodedKeyCache.keyBytes)) bytes each, cache of \(megabytes(decodedKeyCache.boundBytes)) "
                + "holds \(decodedKeyCache.keysAtBound)",
            "bandwidth    \(format(bandwidth.readGBPerSecond)) GB/s read, the shard in \(format(bandwidth.scanMs, 2)) ms: "
                + "\(format(bandwidth.scanShareOfQuery * 100)) % of a reply",
            "checked      \(checks.answers) answers decrypted and compared, \(checks.absent) of them of absent keywords",
        ]
    }
}

extension TokenResult {
    /// The result as a table.
    var text: String {
        func beside(_ own: Double, _ other: Double?) -> String {
            guard let other else { return format(own, 0) + " a second" }
            return "\(format(own, 0)) a second and core, openssl speed \(format(other, 0)): ratio \(format(own / other, 2))"
        }
        return """
            \(machine.line)
            blind signatures  \(beside(signaturesPerSecond, opensslSignaturesPerSecond))
            verifications     \(beside(verificationsPerSecond, opensslVerificationsPerSecond))
            spending          \(format(spendMicroseconds)) µs for each of a group among \(grouped(options.spent)), \
            \(format(spendAgainMicroseconds)) µs if spent before; \(grouped(spentBytesOnDisk)) bytes on the disk
            memory            peak \(megabytes(peakBytes))
            """
    }
}

extension GatewayResult {
    /// The result as a table.
    var text: String {
        var rows = [["", "directly", "through the gateway", "half of the pairs", "crypto and framing", "X25519"]]
        func row(_ name: String, _ added: Added) {
            rows.append([
                name, format(added.direct, 0) + " µs", "+ " + format(added.added) + " µs",
                added.quartiles.map { format($0) }.joined(separator: " … "), format(added.alone) + " µs",
                format(added.agreement) + " µs",
            ])
        }
        row("query", query)
        row("query, in chunks", chunkedQuery)
        row("query that is refused", refusal)
        return """
            \(machine.line)
            \(grouped(query.requestBytes)) bytes asked, \(grouped(query.answerBytes)) answered; processor time of all threads, \
            \(grouped(options.pairs)) pairs
            \(TextTable.text(rows))
            """
    }
}

extension BuildResult {
    /// The result as a table.
    var text: String {
        """
        \(machine.line), \(instructionSet) kernels
        \(grouped(options.rows)) rows of \(grouped(options.valueBytes)) bytes, \(grouped(options.rowsPerShard)) rows a shard, \
        threads \(options.threads), builds \(options.repeats)
        time         \(format(seconds, 2)) s, \(format(cpuSeconds, 2)) s of processor time
        rate         \(grouped(Int(rowsPerSecond))) rows/s, \(grouped(Int(rowsPerCPUSecond))) rows per second of processor time
        shards       \(shards), \(grouped(shardBytes)) bytes
        memory       peak \(megabytes(peakBytes))
        checked      \(trialQueries) real queries before publishing
        """
    }
}
