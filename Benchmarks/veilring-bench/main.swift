// `veilring-bench`: measures the engine on data of its own.

import BFV
import Foundation
import KeywordPIR

var benchmark = EngineBenchmark()
var arguments = CommandLine.arguments.dropFirst()
let command = arguments.popFirst()
if command == "costs" {
    for name in ["n_4096_logq_27_28_28_logt_5", "n_8192_logq_3x55_logt_24"] {
        print(name, try OperationCosts.measured(ParameterSet.named(name)))
    }
    exit(0)
}
guard command == "engine" else {
    print(
        "usage: veilring-bench engine [--rows N --value-bytes B --parameters P --hash-functions H --dimensions D --threads T --repeat R]"
    )
    exit(2)
}
while let option = arguments.popFirst() {
    guard let text = arguments.popFirst() else { exit(2) }
    switch (option, Int(text)) {
    case ("--parameters", _): benchmark.set = text
    case ("--plan", _):
        guard let plan = DimensionRule(rawValue: text) else { exit(2) }
        benchmark.plan = plan
    case ("--split", _): benchmark.split = text.split(separator: "x").compactMap { Int($0) }
    case ("--rows", let n?): benchmark.rows = n
    case ("--value-bytes", let n?): benchmark.valueBytes = n
    case ("--hash-functions", let n?): benchmark.hashFunctions = n
    case ("--dimensions", let n?): benchmark.dimensionCount = n
    case ("--threads", let n?): benchmark.threads = n
    case ("--repeat", let n?): benchmark.repeats = n
    default:
        print("unknown option \(option) or no number: \(text)")
        exit(2)
    }
}
try benchmark.run()
