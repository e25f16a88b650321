// The chunks of the chunked form, which look the same in requests and in responses (draft-ietf-ohai-chunked-ohttp-08 3, 5.2,
// 6.2; service.md 3.10): a length and a sealed chunk again and again, then a zero and the final chunk up to the end of the
// body.

import Cryptography

/// How much an opener of the chunked form takes. Lengths are of plaintext, in bytes.
public struct ChunkLimits: Sendable, Equatable {
    /// One chunk. The draft wants 16 KiB at least.
    public var chunk = 64 * 1024
    /// All chunks together.
    public var total = 12 * 1024 * 1024 + 64 * 1024

    /// The limits of service.md 3.10 and 7.
    public init() {}
}

/// What ties the final chunk to its place.
private let finalChunkData = Array("final".utf8)

/// Opens chunks as they arrive, in any cut.
struct ChunkOpener: Sendable {
    private let key: AEADKey
    private var nonces: NonceSequence
    private let limits: ChunkLimits
    /// What has arrived and is not opened: the beginning of a length or of a sealed chunk.
    private var pending: [UInt8] = []
    /// Bytes of the sealed chunk that comes; nil where a length comes.
    private var expected: Int?
    private var isFinal = false
    private var isOver = false
    private var total = 0

    init(key: AEADKey, nonces: NonceSequence, limits: ChunkLimits) {
        self.key = key
        self.nonces = nonces
        self.limits = limits
    }

    /// Plaintext of the chunks that are complete now; the final one is not among them.
    mutating func append(_ bytes: ArraySlice<UInt8>) throws(EncapsulationError) -> [UInt8] {
        guard !isOver else { throw .malformed }
        pending += bytes
        var plaintext: [UInt8] = []
        var start = 0
        while !isFinal {
            if let length = expected {
                guard pending.count - start >= length else { break }
                try open(pending[start..<start + length], [], into: &plaintext)
                start += length
                expected = nil
            } else {
                guard start < pending.count else { break }
                let length = VariableLengthInteger.length(pending[start])
                guard pending.count - start >= length else { break }
                try expect(VariableLengthInteger.value(pending[start..<start + length]))
                start += length
            }
        }
        if start > 0 { pending.removeFirst(start) }
        if isFinal, pending.count > limits.chunk + AEADAlgorithm.tagLength { throw .tooLarge }
        return plaintext
    }

    private mutating func expect(_ length: UInt64) throws(EncapsulationError) {
        if length == 0 {
            isFinal = true
            return
        }
        // Only the final chunk may be empty.
        guard length > UInt64(AEADAlgorithm.tagLength) else { throw .malformed }
        guard length <= UInt64(limits.chunk) + UInt64(AEADAlgorithm.tagLength) else { throw .tooLarge }
        expected = Int(length)
    }

    /// Plaintext of the final chunk: now the message is complete.
    mutating func finish() throws(EncapsulationError) -> [UInt8] {
        guard !isOver else { throw .malformed }
        isOver = true
        guard isFinal, pending.count >= AEADAlgorithm.tagLength else { throw .truncated }
        var plaintext: [UInt8] = []
        try open(pending[...], finalChunkData, into: &plaintext)
        pending = []
        return plaintext
    }

    private mutating func open(_ sealed: ArraySlice<UInt8>, _ data: [UInt8], into plaintext: inout [UInt8])
        throws(EncapsulationError)
    {
        total += sealed.count - AEADAlgorithm.tagLength
        guard total <= limits.total else { throw .tooLarge }
        do {
            plaintext += try key.open(sealed, nonce: nonces.next(), authenticating: data)
        } catch {
            throw .cannotOpen
        }
    }
}

/// Seals chunks one after the other.
struct ChunkSealer: ~Copyable, Sendable {
    /// Most bytes of plaintext in a chunk.
    static let chunkLength = 16 * 1024

    private let key: AEADKey
    private var nonces: NonceSequence
    /// What stands before the first chunk.
    private var beginning: [UInt8]
    private var isOver = false

    init(key: AEADKey, nonces: NonceSequence, beginning: [UInt8]) {
        self.key = key
        self.nonces = nonces
        self.beginning = beginning
    }

    mutating func seal(_ plaintext: ArraySlice<UInt8>, isFinal: Bool) throws(CryptographyError) -> [UInt8] {
        guard !isOver else { throw .libraryFailure("the final chunk has been sealed") }
        isOver = isFinal
        var bytes = beginning
        beginning = []
        var rest = plaintext
        while isFinal ? rest.count > Self.chunkLength : !rest.isEmpty {
            let chunk = try key.seal(rest.prefix(Self.chunkLength), nonce: nonces.next())
            VariableLengthInteger.append(chunk.count, to: &bytes)
            bytes += chunk
            rest = rest.dropFirst(Self.chunkLength)
        }
        if isFinal {
            bytes.append(0)
            bytes += try key.seal(rest, nonce: nonces.next(), authenticating: finalChunkData)
        }
        return bytes
    }
}
