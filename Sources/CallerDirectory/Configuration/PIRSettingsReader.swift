// Reads the `pir` object of a use case (PIRSettings.swift), with the bounds of keyword-pir.md 1.3, 3.2 and 11.3.

/// Reads the `pir` object.
struct PIRSettingsReader {
    static let known = [
        "rlweParameters", "sharding", "shardingFunction", "cuckooTableArguments", "algorithm", "keyCompression",
        "useMaxSerializedBucketSize", "symmetricPirArguments", "trialsPerShard", "databaseType", "encodingEntrySize",
        "unevenDimensions", "dimensionCount",
    ]
    /// Fields of the reference tool that say where files are: our builder knows.
    static let ignored = ["inputDatabase", "outputDatabase", "outputPirParameters", "outputEvaluationKeyConfig"]
    static let maxShardCount = 1 << 20

    let section: SettingsSection
    let allowInsecureParameters: Bool
    var settings = PIRSettings()

    init(section: SettingsSection, allowInsecureParameters: Bool) {
        self.section = section
        self.allowInsecureParameters = allowInsecureParameters
    }

    mutating func read() -> PIRSettings {
        reportForeignFields()
        readParameterSet()
        readSharding()
        readShardingFunction()
        readCuckooTable()
        settings.keyCompression = section.choice(
            "keyCompression",
            [
                ("noCompression", PIRSettings.KeyCompression.noCompression), ("hybridCompression", .hybridCompression),
                ("maxCompression", .maxCompression),
            ])
        settings.useMaxSerializedBucketSize = section.bool("useMaxSerializedBucketSize")
        settings.trialsPerShard = section.integer("trialsPerShard", in: 0...1_000_000)
        settings.unevenDimensions = section.bool("unevenDimensions")
        return settings
    }

    private func reportForeignFields() {
        for name in PIRSettingsReader.ignored {
            guard let value = section.value(name) else { continue }
            section.log.notice(section.path(of: name), value.position, "accepted and ignored: our files have fixed places")
        }
        if let value = section.value("databaseType") {
            switch value.kind {
            case .string("keyword"):
                section.log.notice(section.path(of: "databaseType"), value.position, "accepted and ignored: always \"keyword\"")
            default: section.report("databaseType", expected: "\"keyword\" (no other type is served)", came: value.summary)
            }
        }
        if let value = section.value("algorithm"), value.kind != .string("mulPir") {
            section.report("algorithm", expected: "\"mulPir\" (no other algorithm is built)", came: value.summary)
        }
        if let value = section.value("symmetricPirArguments") {
            section.report(
                "symmetricPirArguments", expected: "nothing here: symmetric PIR is not built yet", came: value.summary)
        }
        if let value = section.value("encodingEntrySize"), value.kind != .bool(false) {
            section.report(
                "encodingEntrySize", expected: "false: only index databases encode the size of an entry", came: value.summary)
        }
    }

    private mutating func readParameterSet() {
        settings.dimensionCount = section.integer("dimensionCount", in: 1...2)
        guard let name = section.string("rlweParameters", expected: "the name of a parameter set") else { return }
        if let set = PIRSettings.parameterSets.first(where: { $0.name == name }) {
            if settings.dimensionCount == 2, !set.survivesProduct {
                let good = PIRSettings.parameterSets.filter(\.survivesProduct).map(\.name)
                section.report(
                    "rlweParameters",
                    expected: "a set with noise budget left after a ciphertext product, which two dimensions need ("
                        + NearestName.list(good) + "), or dimensionCount 1", came: name)
            }
        } else if PIRSettings.insecureParameterSets.contains(name) {
            guard !allowInsecureParameters else {
                settings.rlweParameters = name
                return
            }
            section.report("rlweParameters", expected: "a secure parameter set (insecure ones are for tests only)", came: name)
        } else {
            let expected = NearestName.expectation(
                for: name, among: PIRSettings.parameterSets.map(\.name), kind: "parameter set")
            section.report("rlweParameters", expected: expected, came: "\"\(name)\"")
        }
        settings.rlweParameters = name
    }

    private mutating func readSharding() {
        let known = ["shardCount", "entryCountPerShard", "maxShardCount", "requirePowerOfTwoShardCount"]
        guard let sharding = section.section("sharding", known: known) else { return }
        let range = 1...PIRSettingsReader.maxShardCount
        settings.maxShardCount = sharding.integer("maxShardCount", in: range)
        settings.requirePowerOfTwoShardCount = sharding.bool("requirePowerOfTwoShardCount")
        let count = sharding.value("shardCount")
        let entries = sharding.value("entryCountPerShard")
        guard (count == nil) != (entries == nil) else {
            section.report(
                "sharding", expected: "exactly one of shardCount and entryCountPerShard", came: count == nil ? "none" : "both")
            return
        }
        if let entries = sharding.integer("entryCountPerShard", in: 1...Int(Int32.max)) {
            settings.sharding = .entryCountPerShard(entries)
        }
        guard let count = sharding.integer("shardCount", in: range) else { return }
        settings.sharding = .shardCount(count)
        if let most = settings.maxShardCount, count > most {
            sharding.report("shardCount", expected: "at most maxShardCount, which is \(most)", came: "\(count)")
        }
        let isPowerOfTwo = count & (count - 1) == 0
        if settings.requirePowerOfTwoShardCount == true, !isPowerOfTwo {
            sharding.report("shardCount", expected: "a power of two, as requirePowerOfTwoShardCount asks", came: "\(count)")
        } else if !isPowerOfTwo || count > 65_536, let value = sharding.value("shardCount") {
            sharding.log.notice(
                sharding.path(of: "shardCount"), value.position,
                "\(count) is no power of two up to 65536; newer systems may refuse it")
        }
    }

    private mutating func readShardingFunction() {
        guard let function = section.section("shardingFunction", known: ["sha256", "doubleMod"]) else { return }
        // `{"sha256": null}` is how the reference writes it, so presence counts here, not the value.
        let named = function.members.filter { $0.name == "sha256" || $0.name == "doubleMod" }
        guard named.count == 1, let member = named.first else {
            section.report(
                "shardingFunction", expected: "{\"sha256\": null} or {\"doubleMod\": N}", came: "\(named.count) functions")
            return
        }
        if member.name == "sha256" {
            guard member.value.kind == .null || member.value.kind == .object([]) else {
                function.report("sha256", expected: "null", came: member.value.summary)
                return
            }
            settings.shardingFunction = .sha256
        } else if member.value.kind == .null {
            function.report("doubleMod", expected: "the other use case's shard count", came: "null", at: member.value)
        } else if let other = function.integer("doubleMod", in: 1...PIRSettingsReader.maxShardCount) {
            settings.shardingFunction = .doubleMod(otherShardCount: other)
        }
    }

    private mutating func readCuckooTable() {
        let known = ["hashFunctionCount", "maxEvictionCount", "maxSerializedBucketSize", "slotCount", "bucketCount"]
        guard let table = section.section("cuckooTableArguments", known: known) else { return }
        settings.hashFunctionCount = table.integer("hashFunctionCount", in: 1...8)
        settings.maxEvictionCount = table.integer("maxEvictionCount", in: 1...10_000)
        settings.maxSerializedBucketSize = table.integer("maxSerializedBucketSize", in: 11...(16 << 20))
        settings.slotCount = table.integer("slotCount", in: 1...255)
        guard let count = table.section("bucketCount", known: ["allowExpansion", "fixedSize"]) else { return }
        guard (count.value("allowExpansion") == nil) != (count.value("fixedSize") == nil) else {
            table.report(
                "bucketCount", expected: "exactly one of allowExpansion and fixedSize",
                came: count.value("fixedSize") == nil ? "none" : "both")
            return
        }
        if let expansion = count.section("allowExpansion", known: ["expansionFactor", "targetLoadFactor"]) {
            let factor = expansion.number("expansionFactor", expected: "a number above 1, at most 16") { $0 > 1 && $0 <= 16 }
            let load = expansion.number("targetLoadFactor", expected: "a number above 0 and below 1") { $0 > 0 && $0 < 1 }
            settings.bucketCount = .allowExpansion(expansionFactor: factor, targetLoadFactor: load)
        }
        if let fixed = count.section("fixedSize", known: ["bucketCount"]) {
            if fixed.value("bucketCount") == nil {
                fixed.report("bucketCount", expected: "the number of buckets", came: "nothing")
            } else if let buckets = fixed.integer("bucketCount", in: 1...Int(Int32.max)) {
                settings.bucketCount = .fixedSize(bucketCount: buckets)
            }
        }
    }
}
