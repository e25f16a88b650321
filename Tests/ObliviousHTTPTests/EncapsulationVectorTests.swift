// Encapsulated requests and responses against RFC 9458 appendix A, the computed vectors, and the chunked draft's appendix A.

import Cryptography
import TestVectors
import Testing

@testable import ObliviousHTTP

struct ExchangeVector: Decodable, Sendable {
    var keyId: UInt8
    var aeadId: UInt16
    var skR: HexBytes
    var keyConfig: HexBytes
    var request: HexBytes
    var skE: HexBytes
    var info: HexBytes
    var encapsulatedRequest: HexBytes
    var response: HexBytes
    var responseNonce: HexBytes
    var aeadNonce: HexBytes
    var encapsulatedResponse: HexBytes

    var aead: HPKEAEAD { get throws { try #require(HPKEAEAD(rawValue: aeadId)) } }

    func gatewayKey() throws -> GatewayKey {
        let configuration = try #require(try KeyConfiguration.decode(keyConfig.bytes))
        let aeads = configuration.algorithms.compactMap(\.known)
        let key = try GatewayKey(id: keyId, privateKey: X25519PrivateKey(rawBytes: skR.secret), aeads: aeads)
        #expect(key.configuration == configuration && configuration.encoded == keyConfig.bytes)
        return key
    }
}

struct ChunkedVector: Decodable, Sendable {
    var keyId: UInt8
    var skR: HexBytes
    var keyConfig: HexBytes
    var request: HexBytes
    var skE: HexBytes
    var encapsulatedRequest: [HexBytes]
    var response: HexBytes
    var responseNonce: HexBytes
    var encapsulatedResponse: [HexBytes]
    var requestChunks: [HexBytes]
    var responseChunks: [HexBytes]
}

@Suite struct EncapsulationVectorTests {
    @Test(arguments: ["ohttp/rfc9458-appendix-a.json", "ohttp/computed-aeads.json"])
    func wholeExchange(file: String) throws {
        let vectors = try VectorFiles.json(file, as: VectorList<ExchangeVector>.self, keys: .convertFromSnakeCase).vectors
        #expect(!vectors.isEmpty)
        for vector in vectors {
            let key = try vector.gatewayKey()
            let keys = try GatewayKeySet([key])
            #expect(RequestHeader(keyID: key.id, aead: try vector.aead).info(.whole) == vector.info.bytes)

            let sealed = try key.configuration.encapsulate(
                vector.request.bytes, aead: vector.aead, ephemeral: X25519PrivateKey(rawBytes: vector.skE.secret))
            #expect(sealed.bytes == vector.encapsulatedRequest.bytes)

            let opened = try keys.open(vector.encapsulatedRequest.bytes)
            #expect(opened.plaintext.elementsEqual(vector.request.bytes) && opened.keyID == key.id)
            let answer = try opened.responseSealer.seal(vector.response.bytes, responseNonce: vector.responseNonce.bytes)
            #expect(answer == vector.encapsulatedResponse.bytes)
            #expect(answer.count == vector.response.bytes.count + opened.responseSealer.overhead)
            #expect(try sealed.responseOpener.open(answer).elementsEqual(vector.response.bytes))

            let request = try BinaryRequest(decoding: opened.plaintext)
            #expect(request.scheme == "https")
            #expect(try BinaryResponse(decoding: vector.response.bytes[...]).status == 200)
        }
    }

    @Test func chunkedExchange() throws {
        let vector = try #require(
            try VectorFiles.json("ohttp/chunked-ohttp-08.json", as: VectorList<ChunkedVector>.self, keys: .convertFromSnakeCase)
                .vectors.first)
        let configuration = try #require(try KeyConfiguration.decode(vector.keyConfig.bytes))
        let key = try GatewayKey(
            id: vector.keyId, privateKey: X25519PrivateKey(rawBytes: vector.skR.secret),
            aeads: configuration.algorithms.compactMap(\.known))
        #expect(key.configuration == configuration)

        var sealer = try configuration.encapsulateChunked(
            aead: .aes128GCM, ephemeral: X25519PrivateKey(rawBytes: vector.skE.secret))
        var sent: [UInt8] = []
        for (i, chunk) in vector.requestChunks.enumerated() {
            sent += try sealer.seal(chunk.bytes[...], isFinal: i == vector.requestChunks.count - 1)
        }
        let body = vector.encapsulatedRequest.flatMap(\.bytes)
        #expect(sent == body)

        var opener = ChunkedRequestOpener(keys: try GatewayKeySet([key]))
        var request = try opener.append(body[...])
        #expect(request == vector.request.bytes)
        request += try opener.finish()
        #expect(request == vector.request.bytes && opener.keyID == key.id)

        let secret = try #require(opener.exchangeSecret)
        var answerSealer = try ChunkedResponseSealer(secret, responseNonce: vector.responseNonce.bytes)
        var answer: [UInt8] = []
        for (i, chunk) in vector.responseChunks.enumerated() {
            answer += try answerSealer.seal(chunk.bytes[...], isFinal: i == vector.responseChunks.count - 1)
        }
        #expect(answer == vector.encapsulatedResponse.flatMap(\.bytes))

        var answerOpener = sealer.responseOpener()
        var response = try answerOpener.append(answer[...])
        response += try answerOpener.finish()
        #expect(response == vector.response.bytes)
    }
}
