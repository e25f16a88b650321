// The phone's side of keyword PIR: keys, queries and what the replies hold (spec keyword-pir.md 6, 8, 9.7).

import BFV
import LookupMessages
import RingMath

/// One query under way.
public struct PIRQuery: Sendable {
    /// The shard to ask.
    public let shard: Int
    /// What goes into the request.
    public let indices: EncryptedIndices
    /// `h(keyword)`.
    let hash: UInt64
    /// Bucket of each table.
    let candidates: [Int]
}

/// A client of one use case, with its secret key.
public struct PIRClient: Sendable {
    private enum Width: Sendable {
        case narrow(BFVContext<UInt32>, SecretKey<UInt32>)
        case wide(BFVContext<UInt64>, SecretKey<UInt64>)
    }

    /// What the server published.
    public let parameters: UseCaseParameters
    private let width: Width

    /// - `secretKey`: bytes of an earlier key for the same parameter set; a fresh one if absent.
    ///
    /// Throws `FormatError` for bytes that are no key of this set.
    public init(parameters: UseCaseParameters, secretKey: [UInt8]? = nil) throws {
        var source = SystemRandomSource()
        try self.init(parameters: parameters, secretKey: secretKey, randomness: &source)
    }

    /// The same with given randomness, for tests.
    public init(
        parameters: UseCaseParameters, secretKey: [UInt8]? = nil, randomness source: inout some RandomSource
    ) throws {
        self.parameters = parameters
        func key<Word>(_ context: BFVContext<Word>) throws -> SecretKey<Word> {
            if let secretKey { return try context.readSecretKey(secretKey[...]) }
            return try context.makeSecretKey(&source)
        }
        if parameters.set.fits32Bits {
            let context = try BFVContext<UInt32>(parameters.set)
            width = .narrow(context, try key(context))
        } else {
            let context = try BFVContext<UInt64>(parameters.set)
            width = .wide(context, try key(context))
        }
    }

    /// The secret key as bytes, to keep it between runs. Never send it to anyone.
    public var secretKeyBytes: [UInt8] {
        switch width {
        case .narrow(let context, let key): context.bytes(of: key)
        case .wide(let context, let key): context.bytes(of: key)
        }
    }

    /// The key that the server needs.
    public func makeEvaluationKey() throws -> SerializedEvaluationKey {
        switch width {
        case .narrow(let context, let key): try evaluationKey(context, key)
        case .wide(let context, let key): try evaluationKey(context, key)
        }
    }

    private func evaluationKey<Word>(
        _ context: BFVContext<Word>, _ key: SecretKey<Word>
    ) throws -> SerializedEvaluationKey {
        var message = SerializedEvaluationKey()
        guard parameters.set.hasEvaluationKeys else { return message }
        var source = SystemRandomSource()
        let made = try context.makeEvaluationKey(
            key, elements: parameters.galoisElements, relinearization: parameters.evaluationKeyConfig.hasRelinKey, &source)
        var galois = SerializedGaloisKey()
        for (element, key) in made.galois {
            galois.keySwitchKeys[UInt64(element)] = SerializedKeySwitchKey(context.bytes(of: key))
        }
        message.galoisKey = galois
        if let relin = made.relinearization {
            message.relinKey = SerializedRelinKey(relinKey: SerializedKeySwitchKey(context.bytes(of: relin)))
        }
        return message
    }

    /// A query for a keyword (keyword-pir.md 6.1, 6.2).
    public func makeQuery(_ keyword: [UInt8]) throws -> PIRQuery {
        var source = SystemRandomSource()
        switch width {
        case .narrow(let context, let key): return try query(keyword, context, key, &source)
        case .wide(let context, let key): return try query(keyword, context, key, &source)
        }
    }

    private func query<Word>(
        _ keyword: [UInt8], _ context: BFVContext<Word>, _ key: SecretKey<Word>, _ source: inout some RandomSource
    ) throws -> PIRQuery {
        var hasher = KeywordHasher()
        let hash = hasher.hash(keyword)
        let shard = parameters.shardingFunction.shard(ofHash: hash, shardCount: parameters.shards.count)
        let shape = parameters.shards[shard]
        let candidates = hasher.candidates(
            hash: hash, buckets: shape.entryCount, functions: parameters.hashFunctionCount)
        var ones: [Int] = []
        for (table, bucket) in candidates.enumerated() {
            let (row, column) = shape.coordinates(ofEntry: bucket, parameters.set)
            ones.append(table * shape.selectionWidth + row)
            if shape.dimensions.count == 2 { ones.append(table * shape.selectionWidth + shape.rows + column) }
        }
        let n = context.degree
        var ciphertexts: [SerializedCiphertext] = []
        var start = 0
        while start < shape.expandedCount {
            let m = min(shape.expandedCount - start, n)
            var plaintext = [Word](repeating: 0, count: m)
            let scale = inverseOfPower(ceilLog2(m))
            for one in ones where one >= start && one < start + m { plaintext[one - start] = Word(truncatingIfNeeded: scale) }
            ciphertexts.append(SerializedCiphertext(context.bytes(of: try context.encrypt(plaintext, key, &source))))
            start += m
        }
        var message = EncryptedIndices()
        message.ciphertexts = ciphertexts
        message.numPirCalls = UInt64(parameters.hashFunctionCount)
        return PIRQuery(shard: shard, indices: message, hash: hash, candidates: candidates)
    }

    /// `2^−k mod t`.
    private func inverseOfPower(_ k: Int) -> UInt64 {
        let t = parameters.set.plaintextModulus
        var x: UInt64 = 1
        for _ in 0..<k { x = x % 2 == 0 ? x / 2 : (x + t) / 2 }
        return x
    }

    /// The value that a response holds for the keyword of a query, or nil if the keyword is absent.
    ///
    /// Recent changes that the response carries in the clear come first (keyword-pir.md 9.7). Throws
    /// `PIRError.unreadableReply` or `FormatError` for a response that makes no sense.
    public func value(of query: PIRQuery, in response: PIRResponse) throws -> [UInt8]? {
        if let stash = response.stash {
            guard stash.hashedKeywords.count == stash.values.count else { throw PIRError.unreadableReply }
            if let i = stash.hashedKeywords.firstIndex(of: query.hash) { return Array(stash.values[i]) }
            if stash.removedHashedKeywords.contains(query.hash) { return nil }
        }
        let shape = parameters.shards[query.shard]
        let chunks = shape.chunks(parameters.set)
        guard response.replies.count == parameters.hashFunctionCount,
            response.replies.allSatisfy({ $0.ciphertexts.count == chunks })
        else { throw PIRError.unreadableReply }
        for (table, reply) in response.replies.enumerated() {
            let bytes = try entry(reply, index: query.candidates[table], shape)
            if let slot = try HashBucket.read(bytes).first(where: { $0.hash == query.hash }) { return Array(slot.value) }
        }
        return nil
    }

    /// The entry of bucket `index` from the reply of its table.
    private func entry(_ reply: SerializedCiphertextVec, index: Int, _ shape: ShardParameters) throws -> ArraySlice<UInt8> {
        var bytes: [UInt8] = []
        for ciphertext in reply.ciphertexts {
            switch width {
            case .narrow(let context, let key):
                bytes += try payload(
                    of: context.decrypt(try context.readReplyCiphertext(ciphertext.bytes()), key),
                    bits: parameters.set.bitsPerCoefficient)
            case .wide(let context, let key):
                bytes += try payload(
                    of: context.decrypt(try context.readReplyCiphertext(ciphertext.bytes()), key),
                    bits: parameters.set.bitsPerCoefficient)
            }
        }
        let start = shape.offset(ofEntry: index, parameters.set)
        guard start + shape.entrySize <= bytes.count else { throw PIRError.unreadableReply }
        return bytes[start..<(start + shape.entrySize)]
    }

    /// Least noise budget over the ciphertexts of a response, in bits. Needs the secret key: a diagnostic, not for servers.
    public func noiseBudget(of response: PIRResponse) throws -> Double {
        var least = Double.infinity
        for ciphertext in response.replies.flatMap(\.ciphertexts) {
            switch width {
            case .narrow(let context, let key):
                least = min(least, context.noiseBudget(try context.readReplyCiphertext(ciphertext.bytes()), key))
            case .wide(let context, let key):
                least = min(least, context.noiseBudget(try context.readReplyCiphertext(ciphertext.bytes()), key))
            }
        }
        return least
    }
}
