// The Prometheus project's own parser (PyPI `prometheus_client`, Tests/Oracles/metrics_oracle.py), and how to run it.

import Foundation
import TestOracles

/// A page as the parser reads it.
struct ParsedMetrics: Codable {
    struct Family: Codable {
        var type: String
        var help: String
        var samples: [Sample]
    }

    struct Sample: Codable {
        var name: String
        var labels: [String: String]
        var value: Double

        init(from decoder: any Decoder) throws {
            var list = try decoder.unkeyedContainer()
            name = try list.decode(String.self)
            labels = try list.decode([String: String].self)
            let text = try list.decode(String.self)
            guard let number = Double(text) else { throw NoReply() }
            value = number
        }
    }
}

enum MetricsOracle {
    private static let script = PythonOracle("metrics_oracle.py")

    static let isAvailable = script.isAvailable

    /// The families by name; nil if the parser refuses the page.
    static func parse(_ page: String) throws -> [String: ParsedMetrics.Family]? {
        let (status, output) = try script.run(["parse"], input: Data(page.utf8))
        return status == 0 ? try JSONDecoder().decode([String: ParsedMetrics.Family].self, from: output) : nil
    }
}
