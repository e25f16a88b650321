// `veilring-bench`: measures the engine on data of its own.

import Foundation

var benchmark = EngineBenchmark()
var arguments = CommandLine.arguments.dropFirst()
guard arguments.popFirst() == "engine" else {
    print(
        "usage: veilring-bench engine [--rows N --value-bytes B --parameters P --hash-functions H --dimensions D --threads T --repeat R]"
    )
    exit(2)
}
while let option = arguments.popFirst() {
    guard let text = arguments.popFirst() else { exit(2) }
    switch (option, Int(text)) {
    case ("--parameters", _): benchmark.set = text
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
