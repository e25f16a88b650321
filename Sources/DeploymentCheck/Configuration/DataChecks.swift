// What was built: whether it loads, what it is named, how many shards it has, and the vendor's test identity asked for by a real query
// (service.md 1.3, 1.9.3, 1.9.4, 3.11, 6).

import CallerDirectory
import Glibc
import KeywordPIR
import LookupMessages
import Protobuf

/// The entries that the vendor asks for (service.md 3.11, 6).
enum TestEntry {
    static let number = "+14085551212"
    static let name = "Johnny Appleseed"
    static let url = "www.apple.com/url-filter-test"
}

extension ConfigurationCheck {
    /// Bits of noise budget below which a reply is too near to being unreadable (bfv.md 11.4).
    static let leastNoiseBudget = 1.0
    /// Shards of a use case, for systems from 27.3.
    static let mostShards = 65_536

    mutating func checkData() {
        checkNames()
        let database: LoadedDatabase
        do {
            database = try LoadedDatabase.load(data: configuration.data)
        } catch {
            report.fail(.data, "\(error)", mend: "`veilring build --config \(configuration.file)`")
            for item in [CheckItem.testIdentity, .sizes] { report.skip(item, "there is no data that loads") }
            return
        }
        let built = database.current.useCases
        for name in configuration.useCases.map(\.name) where !built.contains(where: { $0.name == name }) {
            report.fail(
                .data, "\(name) is in the configuration and not in version \(database.current.name)", mend: "`veilring build`")
        }
        for useCase in built where !configuration.useCases.contains(where: { $0.name == useCase.name }) {
            report.warn(
                .data, "\(useCase.name) is in version \(database.current.name) and not in the configuration",
                mend: "`veilring build`")
        }
        var bad: [String] = []
        database.verifyPayloads { shard in
            bad.append("\(shard.useCase), shard \(shard.shard) of version \(shard.version)")
        }
        for shard in bad {
            report.fail(.data, "\(shard) is damaged", mend: "`veilring build` makes it again; look at the disk")
        }
        for problem in database.problems { report.warn(.data, problem, mend: "remove that version, or build again") }
        if report[.data].isEmpty {
            let rows = built.reduce(0) { $0 + $1.rowCount }
            report.ok(
                .data,
                "version \(database.current.name): \(Self.counted(built.count, "use case")), \(Self.counted(rows, "row"))")
        }
        checkFreshness(database.current)
        for useCase in built { checkShards(useCase) }
        checkTestEntries(built)
        checkSizes(built)
    }

    private mutating func checkNames() {
        for useCase in configuration.useCases {
            let suffixes = [AppUseCases.blockSuffix, AppUseCases.identitySuffix, AppUseCases.filterSuffix]
            guard let suffix = suffixes.first(where: { useCase.name.hasSuffix($0) }) else {
                report.warn(
                    .useCaseNames, "\(useCase.name) is no name that a phone asks for",
                    mend: "<bundle id>.block, <bundle id>.identity or <bundle id>.url.filtering")
                continue
            }
            let kinds: [UseCaseKind] =
                suffix == AppUseCases.filterSuffix
                ? [.keyword]
                : suffix == AppUseCases.blockSuffix ? [.block, .keyword] : [.identity, .keyword]
            guard !kinds.contains(useCase.kind) else { continue }
            report.fail(
                .useCaseNames, "\(useCase.name) is of kind \(useCase.kind.rawValue): phones cannot read its values",
                mend: "kind: \"\(kinds[0].rawValue)\"")
        }
        for app in apps {
            if !AppUseCases.isBundleIdentifier(app.bundle) {
                report.fail(
                    .useCaseNames, "\(app.bundle) is no bundle identifier",
                    mend: "letters, digits and hyphens between dots, as in Xcode, in the same case")
            } else if app.filter == nil, app.block == nil || app.identity == nil {
                report.fail(
                    .useCaseNames,
                    "\(app.bundle) has no \(app.block == nil ? "block" : "identity") use case, and phones ask for both",
                    mend: "add it from the same source")
            }
        }
        if apps.isEmpty {
            report.fail(
                .useCaseNames, "no use case belongs to an app", mend: "name them after the extension's bundle identifier")
        } else if !report[.useCaseNames].contains(where: { $0.verdict == .failure }) {
            report.ok(.useCaseNames, apps.map(\.bundle).joined(separator: ", "))
        }
    }

    private mutating func checkFreshness(_ version: LoadedVersion) {
        var newest: (path: String, changed: Int64)?
        for path in configuration.useCases.flatMap(\.sources) {
            var status = stat()
            guard stat(path, &status) == 0 else {
                report.warn(
                    .freshness, "\(path) cannot be read, so the next build will fail", mend: "restore it, or mend `source`")
                continue
            }
            let changed = Int64(status.st_mtim.tv_sec)
            if changed > newest?.changed ?? .min { newest = (path, changed) }
        }
        guard let newest else { return }
        if newest.changed > version.created {
            report.warn(.freshness, "\(newest.path) is newer than version \(version.name)", mend: "`veilring build`")
        } else {
            report.ok(.freshness, "version \(version.name) is newer than its sources")
        }
        if let serving = DirectoryVersions(data: configuration.data).serving(), serving.version != version.name {
            report.warn(
                .freshness, "process \(serving.pid) serves version \(serving.version)",
                mend: "kill -HUP \(serving.pid) makes it load the newest")
        }
    }

    private mutating func checkShards(_ useCase: LoadedUseCase) {
        report.judgeShards(useCase.name, count: useCase.shards.count)
        if let budget = useCase.leastNoiseBudget {
            if budget < Self.leastNoiseBudget {
                report.fail(
                    .noise, "\(useCase.name): \(Self.tenths(budget)) bits left", mend: "another parameter set, or one dimension"
                )
            } else {
                report.ok(.noise, "\(useCase.name): \(Self.tenths(budget)) bits left at least")
            }
        }
    }

    /// One digit behind the point.
    static func tenths(_ value: Double) -> String { "\((value * 10).rounded(.down) / 10)" }

    // MARK: The vendor's entries

    private mutating func checkTestEntries(_ built: [LoadedUseCase]) {
        for app in apps {
            do {
                if let useCase = built.first(where: { $0.name == app.identity }) {
                    report.judgeTestIdentity(try Self.ask(useCase, TestEntry.number), useCase: useCase.name)
                }
                if let useCase = built.first(where: { $0.name == app.block }) {
                    report.judgeTestBlock(try Self.ask(useCase, TestEntry.number), useCase: useCase.name)
                }
                if let useCase = built.first(where: { $0.name == app.filter }) {
                    report.judgeTestURL(try Self.ask(useCase, TestEntry.url), useCase: useCase.name)
                }
            } catch {
                report.fail(.testIdentity, "\(app.bundle): a real query failed: \(error)", mend: "build again")
            }
        }
    }

    /// Asks a use case by a real query; nil means absent.
    private static func ask(_ useCase: LoadedUseCase, _ keyword: String) throws -> [UInt8]? {
        let client = try PIRClient(parameters: useCase.parameters)
        let query = try client.makeQuery(Array(keyword.utf8))
        let key = try useCase.engine.decodeEvaluationKey(try client.makeEvaluationKey())
        let decoded = try useCase.engine.decodeQuery(query.indices, shard: query.shard)
        var response = PIRResponse()
        response.replies = try useCase.engine.answer(
            decoded, key: key, shard: useCase.shards[query.shard].contents, threads: 2)
        return try client.value(of: query, in: response)
    }

    mutating func checkTextRecords() {
        guard let host = configuration.hosts?.service else {
            return report.skip(.dns, "the service has no host name")
        }
        report.checkTextRecords(of: host, for: apps, in: options.textRecords)
    }
}

extension CheckReport {
    mutating func judgeShards(_ useCase: String, count: Int) {
        if count > ConfigurationCheck.mostShards || count & (count - 1) != 0 {
            fail(
                .shardCount, "\(useCase): \(count), and systems from 27.3 take powers of two up to 65536 only",
                mend: "pir: { sharding: { …, requirePowerOfTwoShardCount: true } }, then `veilring build`")
        } else {
            ok(.shardCount, "\(useCase): \(count)")
        }
    }

    mutating func judgeTestIdentity(_ value: [UInt8]?, useCase: String) {
        guard let value else {
            return fail(
                .testIdentity, "\(useCase) has no row for \(TestEntry.number)",
                mend: "add the row \(TestEntry.number), \(TestEntry.name), and build")
        }
        guard let identity = try? CallIdentity(decoding: value) else {
            return fail(
                .testIdentity, "\(useCase): the value for \(TestEntry.number) is no identity", mend: "kind: \"identity\"")
        }
        guard identity.name == TestEntry.name else {
            return fail(
                .testIdentity, "\(useCase): \(TestEntry.number) has another name than \(TestEntry.name)",
                mend: "the name alone, without company or title")
        }
        ok(.testIdentity, "\(useCase): \(TestEntry.number) is \(TestEntry.name)")
    }

    mutating func judgeTestBlock(_ value: [UInt8]?, useCase: String) {
        switch value {
        case nil, [0]: ok(.testIdentity, "\(useCase): \(TestEntry.number) is not blocked")
        case [1]:
            fail(.testIdentity, "\(useCase): \(TestEntry.number) is blocked, so its name is never seen", mend: "let it ring")
        default:
            fail(
                .testIdentity, "\(useCase): the value for \(TestEntry.number) is not one byte, 0 or 1", mend: "kind: \"block\"")
        }
    }

    mutating func judgeTestURL(_ value: [UInt8]?, useCase: String) {
        if value == [1] || value == Array("1".utf8) {
            ok(.testIdentity, "\(useCase): \(TestEntry.url) is 1")
        } else {
            fail(
                .testIdentity, "\(useCase): \(TestEntry.url) \(value == nil ? "is missing" : "has another value than 1")",
                mend: "add it with the value 1, and build")
        }
    }

    mutating func checkTextRecords(of host: String, for apps: [AppUseCases], in source: TextRecordSource) {
        let wanted = apps.flatMap(\.textRecords)
        guard !wanted.isEmpty else { return skip(.dns, "no app is known: name the use cases after one, or give --app") }
        do throws(TextRecordError) {
            let found = Set(try source.records(of: host))
            for record in wanted {
                if found.contains(record) {
                    ok(.dns, "\(host) TXT \"\(record)\"")
                } else {
                    let others = found.count { $0.hasPrefix(record.prefix { $0 != "=" } + "=") }
                    fail(
                        .dns, "\(host) has no TXT record \"\(record)\"" + (others > 0 ? ", but \(others) for other apps" : ""),
                        mend: "add it at the service's host itself")
                }
            }
        } catch {
            warn(.dns, "\(host): \(error)", mend: "try again where names are resolved, or give --dns-file")
        }
    }
}
