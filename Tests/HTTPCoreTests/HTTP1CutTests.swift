// The verdict must not depend on how the bytes were cut, nor may any input trap: sweeps and seeded mutation.
// VEILRING_FUZZ_ITERATIONS and VEILRING_FUZZ_SEED lengthen and repeat the last test.

import Foundation
import HTTPCore
import Testing

@Suite struct HTTP1CutTests {
    static let requests = [
        "GET / HTTP/1.1\r\nHost: h\r\n\r\n",
        "\r\nPOST http://a:1/p?q HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello",
        "POST /c HTTP/1.1\r\nHost: [::1]:8\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n"
            + "3;a=b\r\nabc\r\n1\r\nd\r\n0\r\nTrailer: x\r\n\r\nGET /next HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET /old HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
    ]

    @Test(arguments: requests)
    func everyCutInTwo(text: String) {
        let bytes = Array(text.utf8)
        let whole = parse([bytes[...]])
        #expect(whole.error == nil)
        #expect(whole.isBetweenRequests)
        #expect(parse(singly(bytes)) == whole)
        for cut in bytes.indices {
            #expect(parse([bytes[..<cut], bytes[cut...]]) == whole, "cut at \(cut)")
        }
    }

    @Test(arguments: requests)
    func everyTruncation(text: String) {
        let bytes = Array(text.utf8)
        let whole = parse([bytes[...]])
        for end in bytes.indices {
            let part = parse([bytes[..<end]])
            #expect(part.error == nil, "truncated at \(end)")
            #expect(part.bodies.count < whole.bodies.count, "truncated at \(end)")
            #expect(part == parse(singly(Array(bytes[..<end]))), "truncated at \(end)")
        }
    }

    @Test func mutationsGiveTheSameVerdictInEveryCut() {
        let environment = ProcessInfo.processInfo.environment
        let rounds = environment["VEILRING_FUZZ_ITERATIONS"].flatMap { Int($0) } ?? 5_000
        let seed = environment["VEILRING_FUZZ_SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: 0...UInt64.max)
        var random = SeededGenerator(seed: seed)
        var limits = HTTPLimits()
        limits.requestLine = 40
        limits.headerSection = 90
        limits.fieldCount = 4
        limits.chunkExtension = 6
        let corpus = (Self.requests + HTTP1RequestParserTests.refusals.map(\.0)).map { Array($0.utf8) }
        let pieces: [[UInt8]] = ["\r\n", "\n", "\r", " ", ":", "0", ";", "\0", "Content-Length: 1\r\n", "ffff", "chunked"].map {
            Array($0.utf8)
        }
        for round in 0..<rounds {
            var bytes = corpus.randomElement(using: &random) ?? []
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let place = Int.random(in: 0...bytes.count, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: bytes.insert(contentsOf: pieces.randomElement(using: &random) ?? [], at: place)
                case 1: bytes.removeSubrange(place..<min(bytes.count, place + Int.random(in: 0...8, using: &random)))
                case 2: if place < bytes.count { bytes[place] = UInt8.random(in: 0...255, using: &random) }
                default: bytes.insert(contentsOf: (corpus.randomElement(using: &random) ?? []).suffix(20), at: place)
                }
            }
            let whole = parse([bytes[...]], limits: limits, bodyLimit: 64)
            var cuts: [ArraySlice<UInt8>] = []
            var rest = bytes[...]
            while !rest.isEmpty {
                let piece = rest.prefix(Int.random(in: 1...12, using: &random))
                cuts.append(piece)
                rest = rest.dropFirst(piece.count)
            }
            let same =
                parse(cuts, limits: limits, bodyLimit: 64) == whole
                && parse(singly(bytes), limits: limits, bodyLimit: 64) == whole
            #expect(same, "seed \(seed), round \(round), input \(bytes)")
            if !same { return }
            var response = HTTP1ResponseParser(limits: limits)
            response.append(bytes[...])
            while let step = try? response.next(), step != .needMore {}
        }
    }

    @Test func largeBodiesAreReadInLinearTime() {
        let body = [UInt8](repeating: 7, count: 8 << 20)
        let head = Array("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: \(body.count)\r\n\r\n".utf8)
        let pieces = [head[...]] + stride(from: 0, to: body.count, by: 100).map { body[$0..<min(body.count, $0 + 100)] }
        let start = ContinuousClock.now
        #expect(parse(pieces, bodyLimit: 8 << 20).bodies == [body])
        // Quadratic copying would move 80,000 times 4 MiB: minutes.
        #expect(ContinuousClock.now - start < .seconds(20))
    }
}
