// What the tests of building share: a workspace with keyword databases and configurations of small, insecure parameters.

import Foundation
import KeywordPIR
import LookupMessages
import Testing

@testable import CallerDirectory

/// A data folder and its sources.
final class BuildWorkspace {
    static let insecureSet = "insecure_n_512_logq_4x60_logt_20"

    let workspace: Workspace

    init() throws { workspace = try Workspace() }

    var data: String { workspace.path + "/var" }
    var versions: DirectoryVersions { DirectoryVersions(data: data) }

    /// Writes a keyword database.
    func write(_ rows: [(keyword: String, value: [UInt8])], to file: String = "rows.binpb") throws {
        let bytes = rows.flatMap {
            KeywordDatabaseRow(keyword: Array($0.keyword.utf8)[...], value: $0.value[...]).recordBytes()
        }
        try workspace.write(file, bytes)
    }

    /// A configuration with one keyword use case and these `pir` fields.
    func configuration(pir: String = "", more: String = "") throws -> VeilringConfiguration {
        try parse(
            """
            { data: "var", listen: "127.0.0.1:0", authentication: "none", \(more)
              useCases: { "test": { kind: "keyword", source: "rows.binpb",
                pir: { rlweParameters: "\(Self.insecureSet)", \(pir) } } } }
            """)
    }

    func parse(_ text: String) throws -> VeilringConfiguration {
        try VeilringConfiguration.parse(
            Array(text.utf8), file: "veilring.json5", directory: workspace.path, allowInsecureParameters: true)
    }

    @discardableResult
    func build(_ configuration: VeilringConfiguration, change: (inout BuildOptions) -> Void = { _ in }) throws -> BuildReport {
        var options = BuildOptions()
        options.allowInsecureParameters = true
        options.threads = 2
        change(&options)
        return try DirectoryBuilder(configuration: configuration, options: options).run()
    }

    /// The value of a keyword by a real query against the published version.
    func lookUp(_ keyword: String, in useCase: String = "test") throws -> [UInt8]? {
        let database = try LoadedDatabase.load(data: data)
        return try Phone(try #require(database.useCase(named: useCase))).value(keyword)
    }

    /// All bytes of all shard files of a version.
    func shardFiles(_ version: String, useCase: String = "test") throws -> [String: [UInt8]] {
        let folder = versions.folder(of: version) + "/" + useCase
        var out: [String: [UInt8]] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
            out[name] = Array(try Data(contentsOf: URL(fileURLWithPath: folder + "/" + name)))
        }
        return out
    }

    /// Names in the versions folder, drafts included.
    func versionFolders() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: data + "/versions").sorted()
    }
}

/// A client of a loaded use case.
struct Phone {
    let useCase: LoadedUseCase
    let client: PIRClient
    let key: DecodedEvaluationKey

    init(_ useCase: LoadedUseCase) throws {
        self.useCase = useCase
        client = try PIRClient(parameters: useCase.parameters)
        key = try useCase.engine.decodeEvaluationKey(try client.makeEvaluationKey())
    }

    func value(_ keyword: String) throws -> [UInt8]? {
        let query = try client.makeQuery(Array(keyword.utf8))
        let decoded = try useCase.engine.decodeQuery(query.indices, shard: query.shard)
        var response = PIRResponse()
        response.replies = try useCase.engine.answer(
            decoded, key: key, shard: useCase.shards[query.shard].contents, threads: 1)
        return try client.value(of: query, in: response)
    }
}

/// Rows `k0 …` with values that follow from the number and `salt`.
func sampleRows(_ count: Int, bytes: Int, salt: UInt8 = 0) -> [(keyword: String, value: [UInt8])] {
    (0..<count).map { row in ("k\(row)", (0..<bytes).map { UInt8(truncatingIfNeeded: row &* 31 &+ $0 &* 7) ^ salt }) }
}

func errorOf(_ body: () throws -> Void) -> DirectoryError? {
    do {
        try body()
        return nil
    } catch {
        return error as? DirectoryError
    }
}
