// Times and amounts of the server with shortened limits (service.md 7): slow, silent, vanished and too many peers; shutdown.

import Glibc
import HTTPClient
import HTTPCore
import HTTPServer
import Synchronization
import Testing

@Suite struct HTTPServerTimeTests {
    @Test func slowHeaderIs408() throws {
        var limits = HTTPLimits()
        limits.headerTime = .milliseconds(200)
        let server = try TestServer(limits: limits)
        var peer = try server.peer()
        defer { peer.close() }
        peer.send("GET / HTTP/1.1\r\nHos")
        let text = peer.receive()
        #expect(text.hasPrefix("HTTP/1.1 408 Request Timeout\r\n"))
        #expect(text.contains("connection: close"))
        #expect(server.log.events.contains(.refused(.headerTimeout)))
    }

    /// Bytes that trickle in must not extend the time.
    @Test func tricklingHeaderIs408() throws {
        var limits = HTTPLimits()
        limits.headerTime = .milliseconds(300)
        let server = try TestServer(limits: limits)
        var peer = try server.peer()
        defer { peer.close() }
        peer.send("GET / HTTP/1.1\r\nA: ")
        let cutOff = waitUntil {
            peer.send("b")
            return server.log.events.contains(.refused(.headerTimeout))
        }
        #expect(cutOff)
    }

    @Test func idleConnectionIsClosedSilently() throws {
        var limits = HTTPLimits()
        limits.idleTime = .milliseconds(200)
        let server = try TestServer(limits: limits)
        var peer = try server.peer()
        defer { peer.close() }
        #expect(peer.receive() == "")
    }

    @Test func stalledBodyIs408() throws {
        var limits = HTTPLimits()
        limits.bodyProgressTime = .milliseconds(200)
        let server = try TestServer(limits: limits)
        var peer = try server.peer()
        defer { peer.close() }
        peer.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\nabc")
        #expect(peer.receive().hasPrefix("HTTP/1.1 408 "))
        #expect(server.log.events.contains(.refused(.bodyTimeout)))
    }

    /// Progress enough in each window, but too long in all.
    @Test func endlessBodyIs408() throws {
        var limits = HTTPLimits()
        limits.bodyProgressTime = .milliseconds(200)
        limits.bodyTime = .milliseconds(600)
        limits.progressBytes = 0  // so that only the time in all can be what cuts it off
        let server = try TestServer(limits: limits)
        var peer = try server.peer()
        defer { peer.close() }
        peer.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10000000\r\n\r\n")
        let cutOff = waitUntil {
            peer.send("b")
            return server.log.events.contains(.refused(.bodyTimeout))
        }
        #expect(cutOff)
    }

    @Test func reluctantReaderIsClosed() throws {
        var limits = HTTPLimits()
        limits.writeProgressTime = .milliseconds(300)
        let server = try TestServer(
            ClosureHandler(serve: { $1.send(HTTPResponse(status: 200, body: [UInt8](repeating: 0, count: 16 << 20))) }),
            limits: limits)
        var peer = try server.peer()
        defer { peer.close() }
        peer.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(server.log.waitFor(.refused(.writeTimeout)))
        #expect(server.log.waitFor(.connectionClosed))
    }

    @Test func silentHandlerIs503() throws {
        var limits = HTTPLimits()
        limits.handlerTime = .milliseconds(200)
        let kept = Mutex<(HTTPRequest, HTTPReply)?>(nil)
        let server = try TestServer(
            ClosureHandler(serve: { request, reply in kept.withLock { $0 = (request, reply) } }), limits: limits)
        let answer = try server.client().send(HTTPRequest(method: "GET", path: "/"))
        #expect(answer.status == 503)
        kept.withLock { kept in
            #expect(kept?.0.isCancelled == true)
            kept?.1.send(HTTPResponse(status: 200))  // too late, and harmless
        }
    }

    @Test func vanishedClientCancelsTheRequest() throws {
        let kept = Mutex<(HTTPRequest, HTTPReply)?>(nil)
        let server = try TestServer(ClosureHandler(serve: { request, reply in kept.withLock { $0 = (request, reply) } }))
        var peer = try server.peer()
        peer.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(waitUntil { kept.withLock { $0 != nil } })
        #expect(kept.withLock { $0?.0.isCancelled } == false)
        peer.close()
        #expect(waitUntil { kept.withLock { $0?.0.isCancelled } == true })
        kept.withLock { kept in
            kept?.1.send(HTTPResponse(status: 200))
            kept = nil
        }
        #expect(server.log.waitFor(.connectionClosed))
    }

    @Test func clientGoneInsideABody() throws {
        let server = try TestServer()
        var peer = try server.peer()
        peer.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\nabc")
        peer.close()
        #expect(server.log.waitFor(.connectionClosed))
        #expect(server.log.events.contains(.refused(.peerGone)))
    }

    /// A peer that only ends its sending side still gets its answers.
    @Test func halfClosedPeerIsAnswered() throws {
        let server = try TestServer()
        var peer = try server.peer()
        defer { peer.close() }
        peer.send("GET /1 HTTP/1.1\r\nHost: h\r\n\r\nGET /2 HTTP/1.1\r\nHost: h\r\n\r\n")
        peer.endWriting()
        let text = peer.receive()
        #expect(text.contains("x-path: /1"))
        #expect(text.contains("x-path: /2"))
    }

    @Test func drainIsBounded() throws {
        let server = try TestServer(ClosureHandler(admit: { _ in .respond(HTTPResponse(status: 401)) }))
        var peer = try server.peer()
        defer { peer.close() }
        peer.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000000\r\n\r\n")
        // More than the drain and all socket buffers: the server must cut off, not swallow.
        var broken = false
        for _ in 0..<1000 where !broken { broken = !peer.send([UInt8](repeating: 0, count: 1 << 16)) }
        #expect(broken)
    }

    @Test func bodyBudgetIs503AndComesBack() throws {
        var limits = HTTPLimits()
        limits.bufferedBodies = 1000
        let server = try TestServer(limits: limits)
        var holder = try server.peer()
        holder.send("POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 600\r\n\r\n")
        // Admitted, so that the budget is his and not the client's.
        #expect(holder.receive(until: "100 Continue\r\n\r\n").contains("100 Continue"))
        let client = try server.client()
        let request = HTTPRequest(method: "POST", path: "/", body: [UInt8](repeating: 0, count: 600))
        #expect(waitUntil { (try? client.send(request))?.status == 503 })
        #expect(server.log.events.contains(.refused(.bodyBudget)))
        #expect(try client.send(HTTPRequest(method: "GET", path: "/")).status == 200, "no body, no budget")
        holder.close()
        #expect(waitUntil { (try? client.send(request))?.status == 200 })
        for _ in 0..<5 { #expect(try client.send(request).status == 200, "each answer gives the budget back") }
    }

    /// Peers that announce long bodies and send nothing keep nobody out; what has arrived counts.
    @Test(arguments: ["Content-Length: 1000000", "Transfer-Encoding: chunked"])
    func announcedBodiesHoldNoBudget(framing: String) throws {
        var limits = HTTPLimits()
        limits.bufferedBodies = 1_000_000
        let server = try TestServer(ClosureHandler(admit: { _ in .readBody(limit: 1_000_000) }), limits: limits)
        var holders: [RawPeer] = []
        for _ in 0..<8 {
            var holder = try server.peer()
            holder.send("POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n\(framing)\r\n\r\n")
            #expect(holder.receive(until: "100 Continue\r\n\r\n").contains("100 Continue"))
            holders.append(holder)
        }
        let client = try server.client()
        let request = HTTPRequest(method: "POST", path: "/", body: [UInt8](repeating: 0, count: 600_000))
        #expect(try client.send(request).status == 200)
        // Half of a body that has really come is in the way of the next one.
        let half = framing.hasPrefix("T") ? "7a120\r\n" : ""
        holders[0].send(Array(half.utf8) + [UInt8](repeating: 0, count: 500_000))
        // The refusal comes while the client still sends, so it may see a broken connection instead of it.
        #expect(
            waitUntil {
                _ = try? client.send(request)
                return server.log.events.contains(.refused(.bodyBudget))
            })
        for index in holders.indices { holders[index].close() }
        #expect(waitUntil { (try? client.send(request))?.status == 200 })
    }

    /// Answers that nobody takes are bounded too.
    @Test func waitingAnswersAreBounded() throws {
        var limits = HTTPLimits()
        limits.bufferedBodies = 20 << 20
        let body = [UInt8](repeating: 97, count: 12 << 20)  // more than the sockets take
        let server = try TestServer(
            ClosureHandler(serve: { _, reply in reply.send(HTTPResponse(status: 200, body: body)) }), limits: limits)
        var holder = try server.peer()
        holder.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(holder.receive(until: "\r\n\r\n").hasPrefix("HTTP/1.1 200"))
        let client = try server.client()
        let refused = try client.send(HTTPRequest(method: "GET", path: "/"))
        #expect(refused.status == 503 && refused.fields["retry-after"] != nil)
        holder.close()
        #expect(waitUntil { (try? client.send(HTTPRequest(method: "GET", path: "/")))?.status == 200 })
        for _ in 0..<3 {
            #expect(try client.send(HTTPRequest(method: "GET", path: "/")).status == 200, "each answer gives it back")
        }
    }

    @Test func connectionLimitPausesAccepting() throws {
        var limits = HTTPLimits()
        limits.connections = 2
        let server = try TestServer(limits: limits)
        var first = try server.peer()
        let second = try server.client()
        #expect(try second.send(HTTPRequest(method: "GET", path: "/")).status == 200)
        let third = try server.client()
        let waiter = TestThread { _ = try? third.send(HTTPRequest(method: "GET", path: "/third")) }
        #expect(server.log.waitFor(.acceptPaused(.connections)))
        first.close()
        waiter.join()
        #expect(server.log.events.filter { $0 == .connectionAccepted }.count == 3)
    }

    @Test func shutdownFinishesRunningRequests() throws {
        let kept = Mutex<HTTPReply?>(nil)
        // One loop: with two, the busy one may learn of the shutdown just after its answer.
        let server = try TestServer(
            ClosureHandler(serve: { _, reply in kept.withLock { $0 = reply } }), threads: 1)
        var idle = try server.peer()
        defer { idle.close() }
        var busy = try server.peer()
        defer { busy.close() }
        busy.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(waitUntil { kept.withLock { $0 != nil } })
        let stopping = TestThread { server.server.shutdown(drain: .seconds(20)) }
        #expect(idle.receive() == "", "idle connections end at once")
        #expect(throws: HTTPClientError.self) { try server.client().send(HTTPRequest(method: "GET", path: "/")) }
        kept.withLock { reply in
            reply?.send(HTTPResponse(status: 200, body: Array("done".utf8)))
            reply = nil
        }
        let text = busy.receive()
        #expect(text.hasSuffix("done"))
        #expect(text.contains("connection: close"))
        busy.close()
        stopping.join()
        let log = server.log.events
        #expect(log.filter { $0 == .connectionAccepted }.count == log.filter { $0 == .connectionClosed }.count)
    }

    /// An answer that was under way when the server was told to stop ends its connection, though it did not say so.
    @Test func shutdownEndsAConnectionAfterItsAnswer() throws {
        let isSent = Mutex(false)
        let body = [UInt8](repeating: 97, count: 12 << 20)  // more than the sockets take
        let server = try TestServer(
            ClosureHandler(serve: { _, reply in
                reply.send(HTTPResponse(status: 200, body: body))
                isSent.withLock { $0 = true }
            }), threads: 1)
        var peer = try server.peer()
        defer { peer.close() }
        peer.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(waitUntil { isSent.withLock { $0 } })
        let stopping = TestThread { server.server.shutdown(drain: .seconds(20)) }
        // What is read is less than the answer, so the server is still writing when it stops listening.
        #expect(peer.receive(until: "\r\n\r\n").hasPrefix("HTTP/1.1 200"))
        #expect(waitUntil { (try? server.client().send(HTTPRequest(method: "GET", path: "/"))) == nil })
        let rest = peer.receive()
        #expect(rest.utf8.count > 1 << 20 && !rest.hasSuffix(">"), "the answer is whole, and the connection ends")
        peer.close()
        stopping.join()
    }

    @Test func shutdownIsForcedAtItsEnd() throws {
        let kept = Mutex<(HTTPRequest, HTTPReply)?>(nil)
        let server = try TestServer(ClosureHandler(serve: { request, reply in kept.withLock { $0 = (request, reply) } }))
        var peer = try server.peer()
        defer { peer.close() }
        peer.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(waitUntil { kept.withLock { $0 != nil } })
        let start = ContinuousClock.now
        server.server.shutdown(drain: .milliseconds(300))
        #expect(ContinuousClock.now - start >= .milliseconds(300))
        #expect(ContinuousClock.now - start < .seconds(10))
        #expect(kept.withLock { $0?.0.isCancelled } == true)
        #expect(!peer.receive().contains("HTTP/1.1"))
        server.server.shutdown(drain: .zero)  // again: nothing happens
    }
}
