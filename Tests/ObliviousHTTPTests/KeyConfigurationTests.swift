// Lists of key configurations: the vectors, every cut, and what our own look like.

import Cryptography
import TestVectors
import Testing

@testable import ObliviousHTTP

struct ConfigurationLists: Decodable, Sendable {
    struct List: Decodable, Sendable {
        var name: String
        var configs: [HexBytes]?
        var applicationOhttpKeys: HexBytes
    }

    var valid: [List]
    var invalid: [List]
}

@Suite struct KeyConfigurationTests {
    @Test func vectors() throws {
        let lists = try VectorFiles.json(
            "ohttp/key-config-lists.json", as: ConfigurationLists.self, keys: .convertFromSnakeCase)
        #expect(!lists.valid.isEmpty && !lists.invalid.isEmpty)
        for list in lists.valid {
            let encoded = list.applicationOhttpKeys.bytes
            let entries = try KeyConfiguration.entries(encoded)
            let configurations = try #require(list.configs).map(\.bytes)
            #expect(entries.count == configurations.count, "\(list.name)")
            let known = try configurations.compactMap { try KeyConfiguration.decode($0) }
            #expect(try KeyConfiguration.decodeList(encoded) == known, "\(list.name)")
            #expect(!known.isEmpty)
            for (entry, bytes) in zip(entries, configurations) {
                #expect(entry.id == bytes[0] && Int(entry.kem) == bytes.number(at: 1))
                #expect((entry.known == nil) == (entry.kem != 0x0020))
                if let configuration = entry.known { #expect(configuration.encoded == bytes) }
            }
            if known.count == configurations.count { #expect(KeyConfiguration.encodeList(known) == encoded, "\(list.name)") }
        }
        for list in lists.invalid {
            #expect(throws: KeyConfigurationError.self, "\(list.name)") {
                try KeyConfiguration.decodeList(list.applicationOhttpKeys.bytes)
            }
        }
    }

    @Test func aListIsValidAtItsSeamsOnly() throws {
        let lists = try VectorFiles.json(
            "ohttp/key-config-lists.json", as: ConfigurationLists.self, keys: .convertFromSnakeCase)
        for list in lists.valid {
            let encoded = list.applicationOhttpKeys.bytes
            var seams: Set = [0]
            for configuration in list.configs ?? [] { seams.insert((seams.max() ?? 0) + 2 + configuration.bytes.count) }
            for cut in 0...encoded.count {
                let isValid = (try? KeyConfiguration.decodeList(Array(encoded[..<cut]))) != nil
                #expect(isValid == seams.contains(cut), "\(list.name), \(cut) bytes")
            }
        }
    }

    @Test func aGatewaysConfiguration() throws {
        let key = try GatewayKey(id: 0xFE, privateKey: .generate())
        let configuration = key.configuration
        #expect(configuration.preferredAEAD == .aes128GCM)
        #expect(configuration.algorithms.map(\.aead) == [1, 2, 3] && configuration.algorithms.allSatisfy { $0.kdf == 1 })
        #expect(hex(configuration.encoded) == "fe0020" + hex(configuration.publicKey) + "000c000100010001000200010003")
        #expect(hex(KeyConfiguration.encodeList([configuration])) == "0031" + hex(configuration.encoded))
        let narrow = try GatewayKey(id: 0, privateKey: .generate(), aeads: [.chaCha20Poly1305])
        #expect(
            try KeyConfiguration.decodeList(KeyConfiguration.encodeList([narrow.configuration, configuration]))
                == [narrow.configuration, configuration])
        #expect(KeyConfiguration.encodeList([]).isEmpty)
        #expect(try KeyConfiguration.decodeList([]).isEmpty)
        #expect(throws: KeyConfigurationError.noAlgorithms) { try GatewayKey(id: 1, privateKey: .generate(), aeads: []) }
        #expect(try X25519PrivateKey(rawBytes: key.rawPrivateKey()).publicKey == configuration.publicKey)
    }

    @Test func unknownAlgorithmsAreKeptAndPassedOver() throws {
        let configuration = try KeyConfiguration(
            id: 1, publicKey: X25519PrivateKey.generate().publicKey,
            algorithms: [.init(kdf: 3, aead: 1), .init(aead: 0xFFFF), .init(.chaCha20Poly1305), .init(.aes128GCM)])
        #expect(configuration.preferredAEAD == .chaCha20Poly1305)
        #expect(try KeyConfiguration.decode(configuration.encoded) == configuration)
        let hopeless = try KeyConfiguration(id: 1, publicKey: configuration.publicKey, algorithms: [.init(kdf: 3, aead: 1)])
        #expect(hopeless.preferredAEAD == nil)
        #expect(throws: EncapsulationError.unsupportedSuite) { try hopeless.encapsulate([1]) }
        #expect(throws: EncapsulationError.unsupportedSuite) { try configuration.encapsulate([1], aead: .aes256GCM) }
    }

    @Test func errorsSayWhere() throws {
        let key = try GatewayKey(id: 1, privateKey: .generate(), aeads: [.aes128GCM]).configuration
        let list = KeyConfiguration.encodeList([key, key])
        #expect(throws: KeyConfigurationError.lengthCutOff(offset: 86)) { try KeyConfiguration.decodeList(list + [0]) }
        #expect(throws: KeyConfigurationError.lengthBeyondEnd(offset: 43, length: 41, left: 40)) {
            try KeyConfiguration.decodeList(list.dropLast())
        }
        #expect(throws: KeyConfigurationError.tooShort(offset: 88, length: 2)) {
            try KeyConfiguration.decodeList(list + [0, 2, 1, 0])
        }
        var bad = list
        bad[43 + 2 + 36] = 8
        #expect(throws: KeyConfigurationError.badAlgorithmList(offset: 43 + 2 + 35, length: 8)) {
            try KeyConfiguration.decodeList(bad)
        }
        #expect(throws: KeyConfigurationError.tooMany(limit: 64)) {
            try KeyConfiguration.decodeList(KeyConfiguration.encodeList([KeyConfiguration](repeating: key, count: 65)))
        }
        #expect(throws: KeyConfigurationError.badPublicKey(length: 31)) {
            try KeyConfiguration(id: 1, publicKey: key.publicKey.dropLast(), algorithms: key.algorithms)
        }
        #expect(throws: KeyConfigurationError.tooMany(limit: 64)) {
            try KeyConfiguration(id: 1, publicKey: key.publicKey, algorithms: .init(repeating: .init(.aes128GCM), count: 65))
        }
    }
}
