// The floors of the house (CONTRIBUTING.md): a target imports only what stands below it.

enum Floors {
    /// From the ground to the roof; targets of one floor do not import each other.
    static let all: [[String]] = [
        ["COpenSSL", "CNghttp2", "CSQLite", "CPhoneNumber", "CLinux", "CProcessor", "CAllocationCount"],
        ["RingKernels", "RingKernelsAVX2"],
        ["RingMath", "Protobuf", "Cryptography"],
        ["BFV", "LookupMessages"],
        ["KeywordPIR", "PrivacyPass", "ObliviousHTTP", "HTTPCore", "CardBook"],
        ["CallerDirectory", "HTTPServer", "HTTPClient", "StateStore"],
        ["LookupService", "DeviceClient", "HostileInput"],
        ["DeploymentCheck"],
        ["veilring", "veilring-bench", "veilring-fuzz"],
        ["TestCertificates", "TestVectors", "TestOracles"],
    ]

    /// Doors to a system library that only these targets open.
    static let doors: [String: Set<String>] = [
        "COpenSSL": ["Cryptography", "HTTPCore"],
        "CNghttp2": ["HTTPCore"],
        "CPhoneNumber": ["CallerDirectory"],
        "CAllocationCount": ["veilring-bench"],
    ]

    /// Modules of the toolchain that sources may import; the last one names processor instructions.
    static let toolchain: Set<String> = [
        "Foundation", "FoundationEssentials", "Glibc", "Musl", "Dispatch", "Synchronization", "_Builtin_intrinsics",
    ]

    /// Which floor a target is on, from 0.
    static func number(of target: String) -> Int? {
        all.firstIndex { $0.contains(target) }
    }

    /// What is wrong with the dependencies of a manifest.
    static func findings(in manifest: Manifest) -> [Finding] {
        var result: [Finding] = []
        for target in manifest.targets where target.kind != "testTarget" {
            guard let floor = number(of: target.name) else {
                result.append(Finding(path: "Package.swift", line: 1, reason: "\(target.name) is on no floor"))
                continue
            }
            for dependency in target.dependencies where (number(of: dependency) ?? .max) >= floor {
                result.append(Finding(path: "Package.swift", line: 1, reason: "\(dependency) is not below \(target.name)"))
            }
        }
        return result
    }

    /// Where the table of CONTRIBUTING.md (`| floor | target | holds | may import |`) and the manifest differ. A cell of imports
    /// that is prose (for the roof) is taken on trust.
    static func findings(inMap map: SourceFile, of manifest: Manifest) -> [Finding] {
        var missing = Dictionary(manifest.targets.filter { $0.kind != "testTarget" }.map { ($0.name, $0) }) { first, _ in first
        }
        var result: [Finding] = []
        for (index, line) in map.lines.enumerated() where line.hasPrefix("| ") {
            let cells = line.split(separator: "|").map { String($0).trimmed }
            guard cells.count == 4 else { continue }
            let isList = !cells[3].isEmpty && cells[3].split(separator: " ").allSatisfy { $0.hasPrefix("`") || $0 == "–" }
            for name in cells[1].between("`") {
                guard let target = missing.removeValue(forKey: name) else {
                    result.append(
                        Finding(path: map.path, line: index + 1, reason: "\(name) is not in Package.swift, or twice here"))
                    continue
                }
                if isList, Set(cells[3].between("`")) != Set(target.dependencies) {
                    result.append(
                        Finding(path: map.path, line: index + 1, reason: "\(name) has other imports in Package.swift"))
                }
            }
        }
        return result
            + missing.keys.sorted().map { Finding(path: map.path, line: 1, reason: "\($0) is missing from the map") }
    }

    /// What is wrong with the imports of a file of `target`: every module is of the toolchain or a declared dependency.
    static func findings(in file: SourceFile, of target: Manifest.Target) -> [Finding] {
        Rules.imports(of: file).compactMap { module, line in
            if let door = doors[module], !door.contains(target.name) {
                return Finding(
                    path: file.path, line: line, reason: "only \(door.sorted().joined(separator: ", ")) may import \(module)")
            }
            if toolchain.contains(module) || target.dependencies.contains(module) { return nil }
            return Finding(
                path: file.path, line: line, reason: "\(target.name) may not import \(module): Package.swift does not say so")
        }
    }
}

extension String {
    /// The texts between pairs of a mark.
    func between(_ mark: Character) -> [String] {
        let parts = split(separator: mark, omittingEmptySubsequences: false)
        return stride(from: 1, to: parts.count, by: 2).map { String(parts[$0]) }
    }
}
