// Encapsulated requests and responses against RFC 9458 appendix A, the computed vectors, and the chunked draft's appendix A.

import Cryptography
import Testing

@testable import ObliviousHTTP

struct ExchangeVector: Decodable, Sendable {
    var key_id: UInt8
    var aead_id: UInt16
    var skR: HexBytes
    var key_config: HexBytes
    var request: HexBytes
    var skE: HexBytes
    var info: HexBytes
    var encapsulated_request: HexBytes
    var response: HexBytes
    var response_nonce: HexBytes
    var aead_nonce: HexBytes
    var encapsulated_response: HexBytes

    var aead: HPKEAEAD { get throws { try #require(HPKEAEAD(rawValue: aead_id)) } }

    func gatewayKey() throws -> GatewayKey {
        let configuration = try #require(try KeyConfiguration.decode(key_config.bytes))
        let aeads = configuration.algorithms.compactMap(\.known)
        let key = try GatewayKey(id: key_id, privateKey: X25519PrivateKey(rawBytes: skR.secret), aeads: aeads)
        #expect(key.configuration == configuration && configuration.encoded == key_config.bytes)
        return key
    }
}

struct ChunkedVector: Decodable, Sendable {
    var key_id: UInt8
    var skR: HexBytes
    var key_config: HexBytes
    var request: HexBytes
    var skE: HexBytes
    var encapsulated_request: [HexBytes]
    var response: HexBytes
    var response_nonce: HexBytes
    var encapsulated_response: [HexBytes]
    var request_chunks: [HexBytes]
    var response_chunks: [HexBytes]
}

@Suite struct EncapsulationVectorTests {
    @Test(arguments: ["ohttp/rfc9458-appendix-a.json", "ohttp/computed-aeads.json"])
    func wholeExchange(file: String) throws {
        let vectors = try VectorFiles.json(file, as: VectorList<ExchangeVector>.self).vectors
        #expect(!vectors.isEmpty)
        for vector in vectors {
            let key = try vector.gatewayKey()
            let keys = try GatewayKeySet([key])
            #expect(RequestHeader(keyID: key.id, aead: try vector.aead).info(.whole) == vector.info.bytes)

            let sealed = try key.configuration.encapsulate(
                vector.request.bytes, aead: vector.aead, ephemeral: X25519PrivateKey(rawBytes: vector.skE.secret))
            #expect(sealed.bytes == vector.encapsulated_request.bytes)

            let opened = try keys.open(vector.encapsulated_request.bytes)
            #expect(opened.plaintext.elementsEqual(vector.request.bytes) && opened.keyID == key.id)
            let answer = try opened.responseSealer.seal(vector.response.bytes, responseNonce: vector.response_nonce.bytes)
            #expect(answer == vector.encapsulated_response.bytes)
            #expect(answer.count == vector.response.bytes.count + opened.responseSealer.overhead)
            #expect(try sealed.responseOpener.open(answer).elementsEqual(vector.response.bytes))

            let request = try BinaryRequest(decoding: opened.plaintext)
            #expect(request.scheme == "https")
            #expect(try BinaryResponse(decoding: vector.response.bytes[...]).status == 200)
        }
    }

    @Test func chunkedExchange() throws {
        let vector = try #require(
            try VectorFiles.json("ohttp/chunked-ohttp-08.json", as: VectorList<ChunkedVector>.self).vectors.first)
        let configuration = try #require(try KeyConfiguration.decode(vector.key_config.bytes))
        let key = try GatewayKey(
            id: vector.key_id, privateKey: X25519PrivateKey(rawBytes: vector.skR.secret),
            aeads: configuration.algorithms.compactMap(\.known))
        #expect(key.configuration == configuration)

        var sealer = try configuration.encapsulateChunked(
            aead: .aes128GCM, ephemeral: X25519PrivateKey(rawBytes: vector.skE.secret))
        var sent: [UInt8] = []
        for (i, chunk) in vector.request_chunks.enumerated() {
            sent += try sealer.seal(chunk.bytes[...], isFinal: i == vector.request_chunks.count - 1)
        }
        let body = vector.encapsulated_request.flatMap(\.bytes)
        #expect(sent == body)

        var opener = ChunkedRequestOpener(keys: try GatewayKeySet([key]))
        var request = try opener.append(body[...])
        #expect(request == vector.request.bytes)
        request += try opener.finish()
        #expect(request == vector.request.bytes && opener.keyID == key.id)

        let secret = try #require(try opener.exchangeSecret())
        var answerSealer = try ChunkedResponseSealer(secret, responseNonce: vector.response_nonce.bytes)
        var answer: [UInt8] = []
        for (i, chunk) in vector.response_chunks.enumerated() {
            answer += try answerSealer.seal(chunk.bytes[...], isFinal: i == vector.response_chunks.count - 1)
        }
        #expect(answer == vector.encapsulated_response.flatMap(\.bytes))

        var answerOpener = sealer.responseOpener()
        var response = try answerOpener.append(answer[...])
        response += try answerOpener.finish()
        #expect(response == vector.response.bytes)
    }
}
