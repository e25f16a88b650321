// The data folder: versions, the name of the current one, the lock of builds, what the running server says it serves
// (issue 2, items 5 and 6).
//
//     <data>/build.lock            held with flock(2) by the one build that runs
//     <data>/current               name of the current version; replaced by one rename, which is the act of publishing
//     <data>/serving.json          pid and version, written by the server
//     <data>/versions/<name>/      manifest.json and <use case>/<index>.shard; never changed once it has its name
//     <data>/versions/.building/   a build under way, or what a killed one left; the next build removes it

import CLinux
import Cryptography
import FoundationEssentials
import Glibc

/// What a running server says about itself.
public struct ServingRecord: Codable, Sendable, Equatable {
    /// Its process.
    public var pid: Int32
    /// Name of the version that it serves.
    public var version: String

    /// Makes a record.
    public init(pid: Int32, version: String) {
        self.pid = pid
        self.version = version
    }
}

/// The versions in a data folder.
public struct DirectoryVersions: Sendable {
    /// The data folder.
    public let data: String

    /// Does not touch the folder.
    public init(data: String) { self.data = data }

    var versionsFolder: String { data + "/versions" }
    var draftFolder: String { versionsFolder + "/.building" }
    private var currentFile: String { data + "/current" }
    private var servingFile: String { data + "/serving.json" }

    /// Folder of a version.
    public func folder(of version: String) -> String { versionsFolder + "/" + version }

    /// Names of the versions that have been completed, oldest first.
    public var names: [String] {
        DiskFolder.names(versionsFolder).compactMap { name in BuildManifest.number(ofVersion: name).map { ($0, name) } }
            .sorted { $0 < $1 }.map(\.1)
    }

    /// Name of the current version; nil if nothing has been published.
    ///
    /// Throws `DirectoryError` if the file that names it holds something else.
    public func current() throws -> String? {
        guard let bytes = try DiskFolder.read(currentFile, limit: 200) else { return nil }
        let name = String(decoding: bytes.filter { $0 > 0x20 }, as: UTF8.self)
        guard BuildManifest.number(ofVersion: name) != nil else {
            throw DirectoryError(.manifest, "\(currentFile): expected the name of a version, got something else")
        }
        return name
    }

    /// Bytes of the files of a version; 0 if there is no such version.
    public func bytes(of version: String) -> Int64 {
        var total: Int64 = 0
        for useCase in DiskFolder.names(folder(of: version)) {
            for name in DiskFolder.names(folder(of: version) + "/" + useCase) {
                var status = stat()
                guard stat(folder(of: version) + "/\(useCase)/\(name)", &status) == 0 else { continue }
                let (sum, isTooMuch) = total.addingReportingOverflow(Int64(max(0, status.st_size)))
                total = isTooMuch ? .max : sum
            }
        }
        return total
    }

    /// Makes a version the current one, by one rename.
    public func publish(_ version: String) throws {
        guard DiskFolder.exists(folder(of: version)) else {
            throw DirectoryError(.noVersion, "no version \(version) in \(data)")
        }
        try DiskFolder.replace(currentFile, with: Array((version + "\n").utf8))
    }

    /// What the server wrote last, if its process is alive.
    public func serving() -> ServingRecord? {
        guard let bytes = try? DiskFolder.read(servingFile, limit: 4096),
            let record = try? JSONDecoder().decode(ServingRecord.self, from: Data(bytes)), record.pid > 0,
            kill(record.pid, 0) == 0 || errno == EPERM
        else { return nil }
        return record
    }

    /// Called by the server when it has begun to serve a version.
    public func recordServing(_ record: ServingRecord) throws {
        let bytes: [UInt8]
        do { bytes = Array(try JSONEncoder().encode(record)) } catch { throw DirectoryError(.fileSystem, servingFile, error) }
        try DiskFolder.replace(servingFile, with: bytes)
    }

    /// Called by the server when it ends.
    public func forgetServing() { try? DiskFolder.remove(servingFile) }

    /// Takes the lock of builds; it ends with the object that is returned.
    ///
    /// Throws `DirectoryError` of kind `.busy` if another build holds it.
    func lock() throws -> AnyObject {
        try DiskFolder.create(versionsFolder)
        let file = try DiskFile.locking(data + "/build.lock")
        guard try file.lock() else {
            let size = min((try? file.size()) ?? 0, 20)
            let bytes = (try? file.read(size, at: 0)) ?? []
            let pid = String(decoding: bytes.filter { NumberText.isDigit($0) }, as: UTF8.self)
            throw DirectoryError(
                .busy, "\(data): another build is running" + (pid.isEmpty ? "" : " (process \(pid))") + "; wait for it to end")
        }
        try file.truncate()
        try file.write(Array("\(getpid())\n".utf8), at: 0)
        return file
    }

    /// Removes what a build left that did not come to its end: drafts, and versions behind the current one that were never
    /// published. Where the name of the current one is damaged (it is no name, or there is no such version) it cannot be told
    /// which those are, and every version stays. Only for the holder of the lock.
    func removeLeftovers() throws -> [String] {
        var removed: [String] = []
        var currentNumber = Int.max
        do {
            let name = try current()
            if name.map({ DiskFolder.exists(folder(of: $0)) }) ?? true {
                currentNumber = name.flatMap { BuildManifest.number(ofVersion: $0) } ?? 0
            }
        } catch {}
        let serving = serving()?.version
        for name in DiskFolder.names(versionsFolder) where name != serving {
            let number = BuildManifest.number(ofVersion: name)
            guard number.map({ $0 > currentNumber }) ?? name.hasPrefix(".building") else { continue }
            try DiskFolder.remove(folder(of: name))
            removed.append(name)
        }
        return removed
    }

    /// Removes versions that need not be kept: all but the newest `count` and those that ceased to be current less than
    /// `hours` ago and have a configuration that no newer version has. The current one and the one that is served stay.
    func retire(keeping count: Int, hours: Int, now: Int64) throws -> [String] {
        let keptAlways = Set([try current(), serving()?.version].compactMap { $0 })
        var removed: [String] = []
        var newerIDs: Set<String> = []
        var newerCreated = Int64.max
        for (age, name) in names.reversed().enumerated() {
            let manifest = try? BuildManifest.read(folder: folder(of: name), name: name)
            let ids = Set(manifest?.useCases.map { $0.name + " " + $0.configurationID } ?? [])
            let isRecent = newerCreated != .max && now - newerCreated < Int64(hours) * 3600
            let isNeeded = isRecent && !ids.isSubset(of: newerIDs)
            if age >= max(count, 1), !keptAlways.contains(name), !isNeeded {
                try DiskFolder.remove(folder(of: name))
                removed.append(name)
                continue
            }
            newerIDs.formUnion(ids)
            newerCreated = manifest?.created ?? newerCreated
        }
        if !removed.isEmpty { try DiskFolder.synchronize(versionsFolder) }
        return removed
    }
}
