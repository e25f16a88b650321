// A process out of descriptors must neither spin nor lose its listeners. The limit is the process's own, so this runs only
// when asked for: (ulimit -n 64; swift test --filter DescriptorTests).

import Glibc
import HTTPCore
import HTTPServer
import Testing

private var softLimit: rlim_t {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    return limit.rlim_cur
}

private var processorTime: Double {
    var usage = rusage()
    getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    return Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6
}

@Suite struct DescriptorTests {
    @Test(.enabled(if: softLimit <= 128, "needs ulimit -n of at most 128"))
    func acceptPausesAndComesBack() throws {
        let server = try TestServer()
        var first = try server.peer()
        first.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(first.receive(until: "\r\n\r\n").contains(" 200 "))
        // One client socket that waits in the backlog, then every descriptor that is left.
        let waiting = try SocketAddress.resolve(host: "127.0.0.1", port: server.port)[0]
        var hogs: [Int32] = []
        let late = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        while case let hog = dup(0), hog >= 0 { hogs.append(hog) }
        Sockets.close(late)
        let client = try Sockets.connect(waiting)
        #expect(server.log.waitFor(.acceptPaused(.descriptors)))
        let before = processorTime
        usleep(500_000)
        #expect(processorTime - before < 0.2, "accepting must not spin")
        first.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(first.receive(until: "\r\n\r\n").contains(" 200 "), "open connections go on")
        for hog in hogs { Sockets.close(hog) }
        #expect(waitUntil { server.log.events.filter { $0 == .connectionAccepted }.count == 2 })
        Sockets.close(client)
        first.close()
    }
}
