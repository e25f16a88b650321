// `veilring-bench`: measures the engine and the build on data of its own, and compares what was measured.

import Glibc

exit(BenchProgram().run(Array(CommandLine.arguments.dropFirst())))
