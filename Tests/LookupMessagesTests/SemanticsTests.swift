// What single messages must do: worked bytes of the specification, oneofs, presence, merging.

import Testing

@testable import LookupMessages
@testable import Protobuf

@Suite struct SemanticsTests {
    static let parameters = EncryptionParameters(
        polynomialDegree: 4096, plaintextModulus: 17, coefficientModuli: [134_176_769, 268_369_921, 268_361_729],
        securityLevel: .quantum128, heScheme: .bfv)

    /// bfv.md 11.8.
    @Test func workedBytes() {
        let parameters = "08 8020 10 11 1a 0c 81c0fd3f 8180fc7f 81c0fb7f 28 01 30 01"
        #expect(Self.parameters.encoded() == unhexed(parameters))
        let config = EvaluationKeyConfig(
            encryptionParameters: Self.parameters, galoisElements: [129, 257, 513, 1025, 2049, 4097], hasRelinKey: true)
        #expect(
            config.encoded()
                == unhexed("0a 17" + parameters + "12 0c 8101 8102 8104 8108 8110 8120   18 01"))
    }

    @Test func anEmptyShardIdIsWritten() throws {
        #expect(PIRShardConfig(shardId: "").encoded() == [0x22, 0x00])
        #expect(PIRShardConfig().encoded() == [])
        #expect(try PIRShardConfig(decoding: [0x22, 0x00]).shardId == "")
        #expect(try PIRShardConfig(decoding: []).shardId == nil)
        #expect(String(decoding: try PIRShardConfig(shardId: "").text(), as: UTF8.self) == "shard_id: \"\"\n")
        #expect(PIRConfig(encodingEntrySize: false).encoded() == [0x58, 0x00])
    }

    @Test func ofAOneofTheLastMemberStays() throws {
        let seeded: [UInt8] = [0x0A, 0x03, 0x0A, 0x01, 0x07]
        let full: [UInt8] = [0x12, 0x02, 0x18, 0x01]
        #expect(try SerializedCiphertext(decoding: seeded + full).kind == .full(SerializedFullCiphertext(correctionFactor: 1)))
        #expect(try SerializedCiphertext(decoding: full + seeded).kind == .seeded(SerializedSeededCiphertext(poly0: [7])))
        // The same member again merges.
        #expect(
            try SerializedCiphertext(decoding: seeded + [0x0A, 0x03, 0x12, 0x01, 0x08]).kind
                == .seeded(SerializedSeededCiphertext(poly0: [7], seed: [8])))
        // Another member in between starts afresh.
        #expect(
            try SerializedCiphertext(decoding: seeded + full + [0x0A, 0x03, 0x12, 0x01, 0x08]).kind
                == .seeded(SerializedSeededCiphertext(seed: [8])))
        #expect(try SerializedCiphertext(decoding: []).kind == nil)
    }

    @Test func shardingFunctions() throws {
        #expect(PIRShardingFunction(kind: .sha256).encoded() == [0x0A, 0x00])
        #expect(PIRShardingFunction(kind: .doubleMod(otherShardCount: 5)).encoded() == [0x12, 0x02, 0x08, 0x05])
        #expect(try PIRShardingFunction(decoding: [0x0A, 0x00, 0x12, 0x00]).kind == .doubleMod(otherShardCount: 0))
        #expect(try PIRShardingFunction(text: "double_mod { other_shard_count: 5 }").kind == .doubleMod(otherShardCount: 5))
        let text = String(decoding: try PIRShardingFunction(kind: .sha256).text(), as: UTF8.self)
        #expect(text == "sha256 {\n}\n")
    }

    @Test func otherProtocolsAreNoted() throws {
        #expect(try Request(decoding: [0x1A, 0x01, 0xFF]).kind == .unsupported(field: 3))
        #expect(try Request(decoding: [0x2A, 0x00]).kind == .unsupported(field: 5))
        #expect(try Request(decoding: [0x12, 0x00, 0x1A, 0x00]).kind == .unsupported(field: 3))
        #expect(try Request(decoding: [0x1A, 0x00, 0x12, 0x00]).kind == .pir(PIRRequest()))
        #expect(try Request(decoding: [0x22, 0x00]).kind == .oprf(OPRFRequest()))
        #expect(try Response(decoding: [0x22, 0x00]).kind == .unsupported(field: 4))
        #expect(try Config(decoding: [0x12, 0x00]).kind == .unsupported(field: 2))
        #expect(try Config(decoding: [0x0A, 0x00]).pirConfig == PIRConfig())
    }

    @Test func unknownEnumNumbersAreKept() throws {
        let parameters = try EncryptionParameters(decoding: [0x28, 0x07])
        #expect(parameters.securityLevel.rawValue == 7)
        #expect(parameters.encoded() == [0x28, 0x07])
        #expect(String(decoding: try parameters.text(), as: UTF8.self) == "security_level: 7\n")
    }

    @Test func mapsAreWrittenInAscendingOrder() throws {
        let keys = SerializedGaloisKey(keySwitchKeys: [300: .init(), 2: .init(), 0: .init()])
        #expect(
            keys.encoded() == unhexed("0a04 0800 1200  0a04 0802 1200  0a05 08ac02 1200"))
        let response = ConfigResponse(configs: ["b": Config(), "a": Config(reuseExistingConfig: true), "ab": Config()])
        #expect(
            response.encoded() == unhexed("0a07 0a0161 12022001  0a06 0a026162 1200  0a05 0a0162 1200"))
        #expect(try ConfigResponse(decoding: response.encoded()) == response)
    }

    @Test func errorsOfTheSchema() throws {
        #expect(ErrorMessage(kind: .evaluationKeyNotFound).encoded() == [0x12, 0x00])
        #expect(ErrorMessage(kind: .configVersionNotFound(configResponse: nil)).encoded() == [0x0A, 0x00])
        let enclosed = ErrorMessage(kind: .configVersionNotFound(configResponse: ConfigResponse()))
        #expect(enclosed.encoded() == [0x0A, 0x02, 0x0A, 0x00])
        #expect(try ErrorMessage(decoding: enclosed.encoded()) == enclosed)
        #expect(try ErrorMessage(decoding: [0x1A, 0x00]).kind == .invalidRequest)
        #expect(try ErrorMessage(decoding: [0x22, 0x00]).kind == .internalError)
    }

    @Test func bytesOfAKeyAreNotCopied() throws {
        let poly = [UInt8](repeating: 7, count: 42_496)
        let ciphertext = SerializedCiphertext(kind: .seeded(SerializedSeededCiphertext(poly0: poly[...], seed: [1])))
        let encoded = ciphertext.encoded()
        guard case .seeded(let seeded)? = try SerializedCiphertext(decoding: encoded).kind else {
            Issue.record("not seeded")
            return
        }
        #expect(seeded.poly0.startIndex == encoded.count - 3 - poly.count)
        let (there, here) = (
            encoded.withUnsafeBufferPointer { $0.baseAddress }, seeded.poly0.withUnsafeBufferPointer { $0.baseAddress }
        )
        #expect(here == there.map { $0 + seeded.poly0.startIndex })
    }
}
