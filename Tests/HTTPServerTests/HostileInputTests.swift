// Mutated requests thrown at a running server: every connection must end by itself, and the server must go on serving.
// VEILRING_FUZZ_ITERATIONS and VEILRING_FUZZ_SEED lengthen and repeat it.

import Foundation
import HTTPClient
import HTTPCore
import HTTPServer
import Testing

/// SplitMix64, so that a failure can be repeated from its seed.
private struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ word >> 30) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ word >> 27) &* 0x94D0_49BB_1331_11EB
        return word ^ word >> 31
    }
}

@Suite struct HostileInputTests {
    @Test func serverSurvivesMutations() throws {
        let environment = ProcessInfo.processInfo.environment
        let rounds = environment["VEILRING_FUZZ_ITERATIONS"].flatMap { Int($0) } ?? 400
        let seed = environment["VEILRING_FUZZ_SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: 0...UInt64.max)
        var random = SeededGenerator(state: seed)
        let server = try TestServer()
        let client = try server.client()
        let corpus = [
            "GET / HTTP/1.1\r\nHost: h\r\n\r\nHEAD /2 HTTP/1.1\r\nHost: h\r\n\r\n",
            "POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\nhello",
            "POST /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\nGET / HTTP/1.0\r\n\r\n",
        ].map { Array($0.utf8) }
        for round in 0..<rounds {
            var bytes = corpus.randomElement(using: &random) ?? []
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let place = Int.random(in: 0..<max(1, bytes.count), using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: bytes.insert(UInt8.random(in: 0...255, using: &random), at: place)
                case 1: bytes.removeSubrange(place..<min(bytes.count, place + Int.random(in: 0...6, using: &random)))
                default: if place < bytes.count { bytes[place] = UInt8.random(in: 0...255, using: &random) }
                }
            }
            var peer = try server.peer()
            let half = Int.random(in: 0...bytes.count, using: &random)
            peer.send(Array(bytes[..<half]))
            peer.send(Array(bytes[half...]))
            peer.endWriting()
            let text = peer.receive()
            peer.close()
            let ended = !text.hasSuffix("<timeout>") && (text.isEmpty || text.hasPrefix("HTTP/1.1 "))
            #expect(ended, "seed \(seed), round \(round), input \(bytes)")
            if !ended { return }
        }
        #expect(try client.send(HTTPRequest(method: "GET", path: "/")).status == 200)
        client.closeConnection()
        #expect(
            waitUntil {
                let events = server.log.events
                return events.filter { $0 == .connectionAccepted }.count == events.filter { $0 == .connectionClosed }.count
            }, "no connection is left behind")
    }
}
