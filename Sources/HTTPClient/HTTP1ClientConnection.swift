// HTTP/1.1 on one connection of a client.

import CLinux
import HTTPCore

struct HTTP1ClientConnection: ClientConnection {
    private var transport: any ByteTransport
    private var parser: HTTP1ResponseParser
    private var scratch = [UInt8](repeating: 0, count: 64 * 1024)

    /// Takes over an open transport.
    init(_ transport: any ByteTransport, limits: HTTPLimits) {
        self.transport = transport
        parser = HTTP1ResponseParser(limits: limits)
    }

    mutating func close() { transport.close() }

    /// Also when the server has sent something unasked for.
    func isStale() -> Bool { parser.bufferedBytes > 0 || clinux_poll(transport.descriptor, Int32(CLINUX_READ), 0) != 0 }

    var mayRetry: Bool { !parser.hasReceivedBytes }

    mutating func exchange(
        _ request: HTTPRequest, deadline: ContinuousClock.Instant
    ) throws(HTTPClientError) -> (HTTPResponse, reusable: Bool) {
        let chunks: [[UInt8]]
        do throws(HTTPSerializationError) {
            chunks = try Self.serialize(request)
        } catch {
            throw .invalidRequest(error)
        }
        parser.expect(method: request.method)
        var index = 0
        var offset = 0
        var canWrite = true
        var broken = false
        while true {
            while canWrite, index < chunks.count {
                let chunk = chunks[index]
                guard offset < chunk.count else {
                    index += 1
                    offset = 0
                    continue
                }
                switch transport.write(chunk[offset...], more: index + 1 < chunks.count) {
                case .bytes(let count): offset += count
                case .needsWritable, .needsReadable: canWrite = false  // TLS may want to read first
                case .ended, .failed:
                    // The server may have answered before it closed; the answer is read below.
                    index = chunks.count
                    broken = true
                }
            }
            let ready = ClientTransport.wait(transport, writing: index < chunks.count, deadline)
            if ready == 0 { throw .timeout }
            if ready & Int32(CLINUX_WRITE) != 0 || transport.writeNeedsReadable { canWrite = true }
            guard ready & Int32(CLINUX_READ | CLINUX_FAILED) != 0 || transport.readNeedsWritable else { continue }
            if let (response, keepsAlive) = try read() {
                let closes = request.fields.list("connection", contains: "close")
                return (response, keepsAlive && !broken && !closes && index == chunks.count)
            }
        }
    }

    /// One read; the answer if it is complete now.
    private mutating func read() throws(HTTPClientError) -> (HTTPResponse, Bool)? {
        do throws(HTTPParseError) {
            switch transport.read(into: &scratch) {
            case .bytes(let count): parser.append(scratch[..<count])
            case .needsReadable, .needsWritable: return nil
            case .ended: return (try parser.end(), false)
            case .failed: throw .truncated
            }
            while true {
                switch try parser.next() {
                case .needMore: return nil
                case .interim: continue
                case .response(let response, let keepsAlive): return (response, keepsAlive)
                }
            }
        } catch {
            throw error == .truncated ? .connectionLost : .invalidResponse(error)
        }
    }

    private static func serialize(_ request: HTTPRequest) throws(HTTPSerializationError) -> [[UInt8]] {
        let chunked = request.fields.list("transfer-encoding", contains: "chunked")
        let closes = request.fields.list("connection", contains: "close")
        let start = try HTTP1Serializer.requestHead(
            request.head, contentLength: request.body.count, chunked: chunked, closes: closes)
        let body = chunked ? HTTP1Serializer.chunks(request.body) : request.body
        return body.count <= 16 * 1024 ? [start + body] : [start, body]
    }
}
