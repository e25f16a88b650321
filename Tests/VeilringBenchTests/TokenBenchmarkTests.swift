// A short measurement of tokens: every number is there, and is one.

import Testing

@testable import veilring_bench

@Suite("The benchmark of tokens")
struct TokenBenchmarkTests {
    @Test("a short run")
    func short() throws {
        var options = TokenBenchOptions()
        (options.rounds, options.spent, options.besideOpenSSL) = (1, 5000, false)
        let result = try TokenBenchmark(options: options).run()
        #expect(result.signaturesPerSecond > 1 && result.verificationsPerSecond > result.signaturesPerSecond)
        #expect(result.spendMicroseconds > 0 && result.spentBytesOnDisk > 5000 * 16)
        #expect(result.text.contains("blind signatures") && result.text.contains("spending"))
        #expect(try BenchProgram.json(result).contains("\"benchmark\" : \"tokens\""))
    }
}
