// veilring: private caller lookup. This file knows the list of commands; each has a file of its own.

import Glibc

let program = Program(commands: [
    DemoCommand(), BuildCommand(), ServeCommand(), LookupCommand(), UsersCommand(), KeysCommand(), CheckCommand(),
    RelayCommand(),
])
let status = program.run(Array(CommandLine.arguments.dropFirst()), output: StandardOutput())
exit(status.rawValue)
