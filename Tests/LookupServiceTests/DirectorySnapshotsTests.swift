// From rows through `build` to answers: snapshots of a data folder, reload, a shard with a bad block.

import CallerDirectory
import DeviceClient
import FoundationEssentials
import Glibc
import StateStore
import Testing

@testable import LookupService

@Suite("Snapshots of a data folder", .serialized)
struct DirectorySnapshotsTests {
    private let folder =
        FileManager.default.temporaryDirectory.path + "/veilring-directory-\(getpid())-\(UInt64.random(in: 0 ... .max))"

    private func configuration(_ rows: String) throws -> VeilringConfiguration {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try Data(rows.utf8).write(to: URL(filePath: folder + "/callers.csv"))
        let text = """
            { data: "var", region: "TW", listen: "127.0.0.1:0", authentication: "none",
              useCases: { "net.example.test.identity": { kind: "identity", source: "callers.csv" },
                          "net.example.test.block": { kind: "block", source: "callers.csv" } } }
            """
        return try VeilringConfiguration.parse(Array(text.utf8), file: "veilring.json5", directory: folder)
    }

    private func build(_ name: String) throws -> VeilringConfiguration {
        let rows = """
            number,name,company,title,category,block,cache_minutes
            +14085551212,\(name),,,person,no,60
            +1 650 555 0199,,,,,yes,

            """
        let configuration = try configuration(rows)
        _ = try DirectoryBuilder(configuration: configuration).run()
        return configuration
    }

    @Test("built, served, looked up, built again, reloaded; a bad block takes its shard out")
    func wholeWay() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let data = try build("Johnny").data
        let log = MemoryLog()
        let snapshots = DirectorySnapshots(log: log)
        let running = try RunningServer(dataFolder: data) { try snapshots.load(data: data) }
        var device = try Device(serviceURL: running.url, app: "net.example.test")
        let present = try device.prepare([device.blockUseCase, device.identityUseCase])
        #expect(present.count == 2)
        let known = try device.lookUp("+14085551212", in: present)
        #expect(known.name == "Johnny" && known.category == .person && known.cacheMinutes == 60 && known.found && !known.block)
        let blocked = try device.lookUp("+16505550199", in: present)
        #expect(blocked.found && blocked.block && blocked.name == nil)
        #expect(!(try device.lookUp("+886900000000", in: present)).found)

        _ = try build("Jenny")
        #expect(running.server.reload())
        #expect(DirectoryVersions(data: data).serving()?.version == running.server.service.version)
        #expect(try device.lookUp("+14085551212", in: present).name == "Jenny")

        // Damage every payload: the last byte of each shard file belongs to it or to its index, so write in the middle.
        let version = try #require(running.server.service.version)
        let versionFolder = DirectoryVersions(data: data).folder(of: version) + "/net.example.test.identity"
        for name in try FileManager.default.contentsOfDirectory(atPath: versionFolder) {
            let descriptor = open(versionFolder + "/" + name, O_RDWR)
            try #require(descriptor >= 0)
            let middle = lseek(descriptor, 0, SEEK_END) / 2
            var byte: [UInt8] = [0]
            try #require(pread(descriptor, &byte, 1, middle) == 1)
            byte[0] ^= 1
            try #require(pwrite(descriptor, byte, 1, middle) == 1)
            close(descriptor)
        }
        #expect(running.server.reload())
        let end = ContinuousClock.now.advanced(by: .seconds(20))
        while !log.lines.contains(where: { $0.contains("has bad blocks: 0") }) && ContinuousClock.now < end { usleep(5000) }
        #expect(log.lines.contains { $0.contains("has bad blocks: 0") })
        #expect(throws: DeviceError.self) { try device.lookUp("+14085551212", in: present) }
    }

    @Test("an empty data folder cannot be loaded, and says what to do")
    func nothingBuilt() throws {
        #expect(throws: DirectoryError.self) { try DirectorySnapshots(log: MemoryLog()).load(data: folder + "/none") }
    }
}
