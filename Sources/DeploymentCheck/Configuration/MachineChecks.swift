// Files, disk, clock and libraries of the machine (service.md 8.5, 9).

import CallerDirectory
import Glibc

extension ConfigurationCheck {
    /// Seconds by which clocks may differ (service.md 8.5).
    static let clockTolerance = 300.0
    /// Seconds from which a difference is worth a warning.
    static let clockNotice = 10.0
    /// Descriptors for files, databases and libraries beside connections.
    static let otherFiles = 256

    mutating func checkFileModes() {
        var isGood = true
        func mode(_ path: String) -> (mode: UInt32, isFolder: Bool)? {
            var status = stat()
            guard stat(path, &status) == 0 else { return nil }
            return (status.st_mode & 0o777, status.st_mode & S_IFMT == S_IFDIR)
        }
        var secrets: [(path: String, what: String)] = []
        if !configuration.access.users.isEmpty { secrets.append((configuration.file, "user tokens stand in it")) }
        if let file = configuration.access.sources.file { secrets.append((file, "user tokens stand in it")) }
        if let file = configuration.access.sources.signingSecret { secrets.append((file, "it signs user tokens")) }
        if let file = configuration.access.tokens.passphrase { secrets.append((file, "it opens the issuer's keys")) }
        for secret in secrets {
            guard let found = mode(secret.path) else {
                isGood = false
                report.fail(.fileModes, "\(secret.path) cannot be read", mend: "make it, or mend the configuration")
                continue
            }
            guard found.mode & 0o077 != 0 else { continue }
            isGood = false
            // Group and others of a configuration may be the operator's colleagues; a secret's file is refused at the start.
            let isRefused = secret.path != configuration.file
            let text = "\(secret.path) has mode \(String(found.mode, radix: 8)), and \(secret.what)"
            if isRefused || found.mode & 0o007 != 0 {
                report.fail(.fileModes, text, mend: "chmod 600 \(secret.path)")
            } else {
                report.warn(.fileModes, text, mend: "chmod 600 \(secret.path)")
            }
        }
        let state = configuration.data + "/state"
        // What stores and keys refuse, or silently narrow, at the start.
        let closed =
            [state, state + "/spent", configuration.access.tokens.keys, state + "/accounts.secret"]
            + ["keys", "users", "quotas"].map { "\(state)/\($0).sqlite" }
        for path in closed {
            guard let found = mode(path), found.mode & 0o077 != 0 else { continue }
            isGood = false
            report.fail(
                .fileModes, "\(path) has mode \(String(found.mode, radix: 8)), and is the server's own",
                mend: "chmod \(found.isFolder ? "700" : "600") \(path)")
        }
        for folder in [configuration.data, state, configuration.access.tokens.keys] {
            guard let found = mode(folder) else { continue }
            if !found.isFolder {
                isGood = false
                report.fail(.fileModes, "\(folder) is no folder", mend: "remove it: `veilring build` makes the folder")
            } else if access(folder, W_OK) != 0 {
                isGood = false
                report.fail(
                    .fileModes, "\(folder) cannot be written by this user",
                    mend: "give it to the user who runs `veilring serve`")
            } else if found.mode & 0o002 != 0 {
                isGood = false
                report.fail(.fileModes, "\(folder) can be written by everybody", mend: "chmod o-w \(folder)")
            }
        }
        if isGood { report.ok(.fileModes, "secrets are closed to others, and folders can be written") }
    }

    mutating func checkMachine() {
        let machine = options.machine
        checkDisk(machine)
        let wanted = configuration.limits.connections + Self.otherFiles
        if machine.openFiles < wanted {
            report.warn(
                .openFiles, "\(machine.openFiles) files, and \(configuration.limits.connections) connections are allowed",
                mend: "LimitNOFILE=65536 in the unit, or fewer `limits.connections`")
        } else {
            report.ok(.openFiles, "\(machine.openFiles) files")
        }
        if machine.now() < Double(machine.earliestTime) {
            report.fail(
                .clock, "it is before the day on which this program was written", mend: "set the clock, and run a time service")
        } else if machine.isClockDisciplined == false {
            report.warn(
                .clock, "no time service disciplines it, and keys are rotated by it", mend: "run chrony or systemd-timesyncd")
        } else {
            report.ok(.clock, machine.isClockDisciplined == nil ? "the kernel does not say who disciplines it" : "disciplined")
        }
        for library in machine.libraries {
            let text = "\(library.name) \(library.version.map(String.init).joined(separator: "."))"
            if library.version.lexicographicallyPrecedes(library.least) {
                report.fail(
                    .versions, text, mend: "\(library.least.map(String.init).joined(separator: ".")) or later is needed")
            } else {
                report.ok(.versions, text)
            }
        }
        let retention = configuration.retention
        if retention.versions < 2 || retention.hours < 24 {
            report.warn(
                .retention,
                "\(Self.counted(retention.versions, "version")), \(retention.hours) hours: phones ask for what they fetched before",
                mend: "retention: { versions: 2, hours: 48 }")
        } else {
            report.ok(.retention, "\(retention.versions) versions at least, \(retention.hours) hours")
        }
    }

    private mutating func checkDisk(_ machine: Machine) {
        guard let free = machine.freeBytes(configuration.data) else {
            return report.skip(.disk, "\(configuration.data) is not there", mend: "`veilring build` makes it")
        }
        let versions = DirectoryVersions(data: configuration.data)
        let name = (try? versions.current()) ?? nil
        let size = name.map { versions.bytes(of: $0) } ?? 0
        // A build writes a whole version beside the others before it is published.
        let text = "\(Self.megabytes(free)) free, a version takes \(Self.megabytes(size))"
        // Sizes come from the file system, which may be damaged.
        let needed = size.multipliedReportingOverflow(by: 3)
        if free.subtractingReportingOverflow(size).partialValue < 64 << 20 {
            report.fail(
                .disk, text, mend: "make room, or move `data`: a build needs a version's size beside those that are kept")
        } else if needed.overflow || free.subtractingReportingOverflow(needed.partialValue).partialValue < 1 << 30 {
            report.warn(.disk, text, mend: "make room for three versions and a gigabyte of keys and spent tokens")
        } else {
            report.ok(.disk, text)
        }
    }

    static func megabytes(_ bytes: Int64) -> String { "\(bytes / 1_000_000) MB" }
}
