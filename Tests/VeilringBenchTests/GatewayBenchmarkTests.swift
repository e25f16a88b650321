// A short measurement of the gateway: every number is there, and sealed requests get the answers of direct ones.

import Testing

@testable import veilring_bench

@Suite("The benchmark of the gateway")
struct GatewayBenchmarkTests {
    @Test("a short run")
    func short() throws {
        var options = GatewayBenchOptions()
        options.pairs = 4
        let result = try GatewayBenchmark(options: options).run()
        #expect((20_000...40_000).contains(result.query.requestBytes) && result.query.answerBytes > 10_000)
        #expect(result.query.direct > result.refusal.direct && result.refusal.direct > 0)
        #expect(result.query.alone > result.query.agreement && result.query.agreement > 0)
        #expect(result.text.contains("query, in chunks") && result.text.contains("X25519"))
        #expect(try BenchProgram.json(result).contains("\"benchmark\" : \"gateway\""))
    }
}
