// Binary HTTP against RFC 9292's examples and the lists of what must be read and what must not.

import TestVectors
import Testing

@testable import ObliviousHTTP

/// A decoded message as the vector files write it.
struct DecodedMessage: Decodable, Sendable, Equatable {
    struct Informational: Decodable, Sendable, Equatable {
        var status: Int
        var fields: [[String]]
    }

    var framing: Int
    var method: String?
    var scheme: String?
    var authority: String?
    var path: String?
    var status: Int?
    var informational: [Informational]?
    var fields: [[String]]
    var contentHex: HexBytes
    var trailers: [[String]]
    var padding: Int

    var isRequest: Bool { framing % 2 == 0 }
}

struct BinaryVector: Decodable, Sendable {
    var name: String
    var message: HexBytes
    var decoded: DecodedMessage?
    var kind: String?
}

struct BinaryVariants: Decodable, Sendable {
    var accept: [BinaryVector]
    var reject: [BinaryVector]
}

private func pairs(_ fields: [BinaryField]) -> [[String]] { fields.map { [$0.name, $0.value] } }

@Suite struct BinaryHTTPVectorTests {
    static let strict: BinaryHTTPLimits = {
        var limits = BinaryHTTPLimits()
        limits.isStrict = true
        return limits
    }()

    static func accepted() throws -> [BinaryVector] {
        try VectorFiles.json("bhttp/rfc9292.json", as: VectorList<BinaryVector>.self, keys: .convertFromSnakeCase).vectors
            + VectorFiles.json("bhttp/variants.json", as: BinaryVariants.self, keys: .convertFromSnakeCase).accept
    }

    @Test func accepted() throws {
        let vectors = try Self.accepted()
        #expect(vectors.count > 10)
        for vector in vectors {
            let decoded = try #require(vector.decoded)
            // At another place of another array: nothing may count from 0.
            let moved = ([1, 2, 3] + vector.message.bytes)[3...]
            if decoded.isRequest {
                let request = try BinaryRequest(decoding: moved, limits: Self.strict)
                #expect(request.method == decoded.method && request.scheme == decoded.scheme, "\(vector.name)")
                #expect(request.authority == decoded.authority && request.path == decoded.path, "\(vector.name)")
                #expect(
                    pairs(request.fields) == decoded.fields && pairs(request.trailers) == decoded.trailers, "\(vector.name)")
                #expect(request.content.elementsEqual(decoded.contentHex.bytes), "\(vector.name)")
                #expect(throws: BinaryHTTPError(reason: .notAResponse, offset: 0)) { try BinaryResponse(decoding: moved) }
            } else {
                let response = try BinaryResponse(decoding: moved, limits: Self.strict)
                #expect(response.status == decoded.status, "\(vector.name)")
                #expect(
                    response.informational.map { .init(status: $0.status, fields: pairs($0.fields)) } == decoded.informational,
                    "\(vector.name)")
                #expect(
                    pairs(response.fields) == decoded.fields && pairs(response.trailers) == decoded.trailers, "\(vector.name)")
                #expect(response.content.elementsEqual(decoded.contentHex.bytes), "\(vector.name)")
                #expect(throws: BinaryHTTPError(reason: .notARequest, offset: 0)) { try BinaryRequest(decoding: moved) }
            }
        }
    }

    /// The RFC's messages come out again, byte for byte.
    @Test func encodedAsPublished() throws {
        for vector in try VectorFiles.json("bhttp/rfc9292.json", as: VectorList<BinaryVector>.self, keys: .convertFromSnakeCase)
            .vectors
        {
            let decoded = try #require(vector.decoded)
            var encoding = BinaryEncoding(addsContentLength: false)
            // One of the examples has its content in two chunks, and they are not as long as each other; that one ends there.
            if decoded.framing > 1 { encoding.framing = .indeterminateLength(chunk: 51) }
            var bytes =
                try decoded.isRequest
                ? BinaryRequest(decoding: vector.message.bytes[...]).encoded(encoding)
                : BinaryResponse(decoding: vector.message.bytes[...]).encoded(encoding)
            bytes += [UInt8](repeating: 0, count: decoded.padding)
            // Figure 13 leaves out the length of an empty section nowhere, but writes its trailers without padding.
            #expect(bytes == vector.message.bytes, "\(vector.name)")
        }
    }

    @Test func rejected() throws {
        let vectors = try VectorFiles.json("bhttp/variants.json", as: BinaryVariants.self, keys: .convertFromSnakeCase).reject
        #expect(vectors.count > 20)
        for vector in vectors {
            let message = vector.message.bytes[...]
            let isLenient = vector.kind == "lenient"
            let request = Result { try BinaryRequest(decoding: message) }
            #expect(((try? request.get()) != nil) == isLenient, "\(vector.name)")
            #expect(throws: BinaryHTTPError.self, "\(vector.name)") {
                try BinaryRequest(decoding: message, limits: Self.strict)
            }
            #expect(throws: BinaryHTTPError.self, "\(vector.name)") { try BinaryResponse(decoding: message) }
            if isLenient {
                #expect(try request.get().fields.allSatisfy { $0.name == $0.name.lowercased() })
            } else if case .failure(let error as BinaryHTTPError) = request, vector.name.contains("status") == false {
                #expect((0...message.count).contains(error.offset), "\(vector.name)")
            }
        }
    }

    /// A message may end behind a part when all behind it is empty, and nowhere else.
    @Test func everyCut() throws {
        for vector in try Self.accepted() {
            let message = vector.message.bytes
            let isRequest = try #require(vector.decoded).isRequest
            for cut in 0..<message.count {
                let bytes = message[..<cut]
                if isRequest, let part = try? BinaryRequest(decoding: bytes) {
                    let whole = try BinaryRequest(decoding: message[...])
                    var expected = whole
                    expected.drop(from: part.sections)
                    #expect(part == expected, "\(vector.name), \(cut) bytes")
                }
                if !isRequest, let part = try? BinaryResponse(decoding: bytes) {
                    let whole = try BinaryResponse(decoding: message[...])
                    var expected = whole
                    expected.drop(from: part.sections)
                    #expect(part == expected, "\(vector.name), \(cut) bytes")
                }
            }
        }
    }
}

/// The parts behind the control data, which a cut takes away whole, the last one first.
private protocol Sectioned {
    var fields: [BinaryField] { get set }
    var content: ArraySlice<UInt8> { get set }
    var trailers: [BinaryField] { get set }
}

extension BinaryRequest: Sectioned {}
extension BinaryResponse: Sectioned {}

extension Sectioned {
    /// How many parts there are up to the last one with something in it.
    fileprivate var sections: Int { !trailers.isEmpty ? 3 : !content.isEmpty ? 2 : !fields.isEmpty ? 1 : 0 }

    fileprivate mutating func drop(from section: Int) {
        if section < 3 { trailers = [] }
        if section < 2 { content = [] }
        if section < 1 { fields = [] }
    }
}
