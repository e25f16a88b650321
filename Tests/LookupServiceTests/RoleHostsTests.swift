// Names and roles: each host answers its own routes, an unknown one is told that it came to the wrong place (service.md 1.1,
// 1.5; RFC 9110 15.5.20; field case F21).

import HTTPCore
import HTTPServer
import Synchronization
import Testing

@testable import LookupService

@Suite("Routing by host")
struct RoleHostsTests {
    /// The status with which a request for a path is met at a host; nil: its body is read.
    private func status(_ host: String, _ path: String = "/queries", hosts: RoleHosts?, method: String = "POST") throws -> Int?
    {
        var options = ServiceOptions()
        options.hosts = hosts
        let subject = try ServiceUnderTest(options: options)
        let head = HTTPRequestHead(
            method: method, authority: host, path: path, fields: ServiceUnderTest.fields, contentLength: 0)
        switch subject.service.begin(head) {
        case .respond(let response): return response.status
        case .readBody: return nil
        }
    }

    private static let three = RoleHosts([
        .service: "service.example", .issuer: "Issuer.Example", .gateway: "gateway.example",
    ])

    @Test(
        "the service's name answers, whatever its case, port and dot",
        arguments: [
            "service.example", "SERVICE.example", "service.example:443", "service.example.", "service.example.:8443",
        ])
    func own(host: String) throws {
        #expect(try status(host, hosts: Self.three) == nil)
        #expect(try status(host, "/none", hosts: Self.three) == 404)
        #expect(try status(host, hosts: Self.three, method: "GET") == 405)
    }

    @Test("the name of another role knows none of the service's routes")
    func others() throws {
        for path in ["/queries", "/key", "/config", "/none"] {
            #expect(try status("issuer.example", path, hosts: Self.three) == 404)
            #expect(try status("gateway.example:443", path, hosts: Self.three) == 404)
        }
    }

    @Test(
        "a name of somebody else is misdirected",
        arguments: [
            "other.example", "", "127.0.0.1:8080", "[::1]:80", "service.example..", "service.example:x", "a.service.example",
            ".",
        ])
    func unknown(host: String) throws {
        #expect(try status(host, hosts: Self.three) == 421)
        #expect(try status(host, "/none", hosts: Self.three) == 421)
    }

    @Test("without names every host answers everything, and one name may play all roles")
    func together() throws {
        #expect(try status("127.0.0.1:8080", hosts: nil) == nil)
        #expect(try status("", hosts: nil) == nil)
        let one = RoleHosts([.service: "a.example", .issuer: "a.example"])
        #expect(try status("a.example", hosts: one) == nil)
        #expect(try status("b.example", hosts: one) == 421)
        #expect(one.roles(of: "A.example") == [.service, .issuer])
        let addresses = RoleHosts([.service: "127.0.0.1", .issuer: "[::1]"])
        #expect(addresses.roles(of: "127.0.0.1:80") == [.service] && addresses.roles(of: "[::1]:80") == [.issuer])
    }

    @Test("the whole request is held to it too, not only its head")
    func handled() throws {
        var options = ServiceOptions()
        options.hosts = Self.three
        let subject = try ServiceUnderTest(options: options)
        #expect(subject.call("/queries").status == 421)
        let status = Mutex(0)
        subject.service.handle(
            HTTPRequest(method: "POST", authority: "issuer.example", path: "/key", fields: ServiceUnderTest.fields),
            reply: HTTPReply { response in status.withLock { $0 = response.status } })
        #expect(status.withLock { $0 } == 404)
    }
}
