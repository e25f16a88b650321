// Every message file of the test vectors: decoded, encoded to the same bytes, and where a text file lies beside, the same in
// text, byte for byte.

import Foundation
import TestVectors
import Testing

@testable import LookupMessages
@testable import Protobuf

/// The message files of the vectors.
enum Vectors {
    static let folder = VectorFiles.shared

    /// Paths relative to the folder, of the message files.
    static let files: [String] = {
        guard let folder, let all = FileManager.default.enumerator(atPath: folder.path) else { return [] }
        return all.compactMap { $0 as? String }.filter { $0.hasSuffix(".binpb") }.sorted()
    }()

    static func read(_ path: String) throws -> [UInt8] {
        guard let folder else { return [] }
        return Array(try Data(contentsOf: folder.appending(path: path)))
    }

    /// The message type of a file, by its name.
    static func type(of path: String) -> (any TextMessage.Type)? {
        let name = String(path.split(separator: "/").last ?? "")
        if path.hasPrefix("identity/") { return name == "input.binpb" ? InputIdentities.self : KeywordDatabase.self }
        if name.hasPrefix("shard-") { return PirParameters.self }
        if name.hasPrefix("ct-") || name.hasPrefix("expand-") { return SerializedCiphertext.self }
        return types[name]
    }

    static let types: [String: any TextMessage.Type] = [
        "secret-key.binpb": SerializedSecretKey.self, "encryption-parameters.binpb": EncryptionParameters.self,
        "evaluation-key-config.binpb": EvaluationKeyConfig.self, "evaluation-key.binpb": SerializedEvaluationKey.self,
        "evaluation-keys.binpb": EvaluationKeys.self, "config-request.binpb": ConfigRequest.self,
        "config-response.binpb": ConfigResponse.self, "config.binpb": Config.self,
        "config-before-ios-18.2.binpb": Config.self, "pir-config.binpb": PIRConfig.self,
        "database.binpb": KeywordDatabase.self, "requests.binpb": Requests.self, "responses.binpb": Responses.self,
        "oprf-requests.binpb": Requests.self, "oprf-responses.binpb": Responses.self,
        "client-config.binpb": SymmetricPirClientConfig.self,
    ]
}

@Suite(.enabled(if: Vectors.folder != nil, "no folder shared/vectors beside a parent of the package"))
struct VectorTests {
    @Test func everyFileHasAType() {
        #expect(Vectors.files.count > 150)
        for file in Vectors.files { #expect(Vectors.type(of: file) != nil, "\(file)") }
    }

    @Test(arguments: Vectors.files) func roundTrip(file: String) throws {
        let type = try #require(Vectors.type(of: file))
        try check(type, file: file)
    }

    func check<M: TextMessage>(_ type: M.Type, file: String) throws {
        let bytes = try Vectors.read(file)
        let message = try M(decoding: bytes)
        let encoded = message.encoded()
        if Self.isCanonical(file) {
            #expect(encoded == bytes)
        } else {
            // The map of Galois keys comes in random order: the same bytes, elsewhere.
            #expect(encoded.count == bytes.count)
            #expect(encoded.sorted() == bytes.sorted())
        }
        #expect(try M(decoding: encoded) == message)
        #expect(try M(text: try message.text()[...]) == message)
        let textFile = String(file.dropLast(".binpb".count)) + ".txtpb"
        guard let folder = Vectors.folder, FileManager.default.fileExists(atPath: folder.appending(path: textFile).path) else {
            return
        }
        let text = try Vectors.read(textFile)
        #expect(try M(text: text[...]) == message)
        #expect(String(decoding: try message.text(), as: UTF8.self) == String(decoding: text, as: UTF8.self))
    }

    /// Whether the file has a map in it, which the reference writes in random order.
    static func isCanonical(_ file: String) -> Bool {
        !file.hasSuffix("evaluation-key.binpb") && !file.hasSuffix("evaluation-keys.binpb") && !file.hasSuffix("input.binpb")
    }
}
