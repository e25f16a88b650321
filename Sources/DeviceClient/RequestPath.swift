// How a device reaches a server: directly, or sealed through a relay and a gateway (RFC 9458; service.md 1.1, 3).

import HTTPClient
import HTTPCore
import ObliviousHTTP
import Synchronization

/// Through which machines a device's requests go.
public struct ObliviousRoute: Sendable, Equatable {
    /// The gateway: scheme, host and port; a path if its resource is not at `/`.
    public var gateway: String
    /// The relay before it; nil: the gateway is asked directly, which hides nothing from it.
    public var relay: String?
    /// Where the gateway's keys are, asked directly; nil: at the well-known path of whoever sealed requests go to.
    public var keys: String?
    /// Whether requests are sealed in the chunked form, a draft that a gateway may not take (service.md 3.10).
    public var isChunked: Bool

    /// A route.
    public init(gateway: String, relay: String? = nil, keys: String? = nil, isChunked: Bool = false) {
        self.gateway = gateway
        self.relay = relay
        self.keys = keys
        self.isChunked = isChunked
    }
}

/// Bytes that went over the legs of an oblivious path.
public struct ObliviousTraffic: Sendable, Equatable {
    /// Encapsulated requests: what relay and gateway see.
    public var sealedRequests = 0
    /// What was in them.
    public var plainRequests = 0
    /// Encapsulated answers.
    public var sealedResponses = 0
    /// What was in them.
    public var plainResponses = 0
    /// Requests.
    public var count = 0
    /// The largest encapsulated request and answer of each path inside.
    public var largest: [String: ObliviousSizes] = [:]
}

/// Bytes of encapsulated messages.
public struct ObliviousSizes: Sendable, Equatable {
    /// Of a request.
    public var request = 0
    /// Of an answer.
    public var response = 0

    /// Sizes.
    public init(request: Int = 0, response: Int = 0) {
        self.request = request
        self.response = response
    }

    /// The larger of each.
    public mutating func grow(to other: ObliviousSizes) {
        request = max(request, other.request)
        response = max(response, other.response)
    }
}

/// A way to one server.
enum RequestPath: Sendable {
    case direct(HTTPClient)
    case oblivious(ObliviousPath, HTTPURL)

    init(
        to url: HTTPURL, at address: ConnectAddress? = nil, through path: ObliviousPath?, trust: TLSTrust
    ) throws(DeviceError) {
        if let path {
            self = .oblivious(path, url)
            return
        }
        do throws(HTTPClientError) {
            self = .direct(try HTTPClient(url: url, at: address, trust: trust))
        } catch {
            // Only the trusted certificates can be wrong here.
            throw .untrusted(error)
        }
    }

    /// Sends a request whose authority is the server's; `step` is what errors name.
    func send(_ request: HTTPRequest, step: String, timeout: Duration) throws(DeviceError) -> HTTPResponse {
        switch self {
        case .direct(let client):
            do throws(HTTPClientError) {
                return try client.send(request, timeout: timeout)
            } catch {
                throw .network(step: step, error)
            }
        case .oblivious(let path, let url):
            var request = request
            request.scheme = url.scheme.rawValue
            request.authority = url.authority
            return try path.send(request, step: step, timeout: timeout)
        }
    }
}

/// A gateway, perhaps behind a relay.
public final class ObliviousPath: Sendable {
    private let client: HTTPClient
    private let resource: String
    private let keysClient: HTTPClient
    private let keysPath: String
    private let isChunked: Bool
    private let configuration = Mutex<KeyConfiguration?>(nil)
    private let counted = Mutex(ObliviousTraffic())

    /// A way through these machines; connects at the first request.
    ///
    /// - Throws: `DeviceError.invalidURL`, `untrusted`.
    public init(_ route: ObliviousRoute, at address: ConnectAddress? = nil, trust: TLSTrust = .system) throws(DeviceError) {
        let gateway = try ServiceConnection.url(route.gateway)
        let first = try route.relay.map { text throws(DeviceError) in try ServiceConnection.url(text) } ?? gateway
        let keys = try route.keys.map { text throws(DeviceError) in try ServiceConnection.url(text) }
        // A relay knows its gateway by itself.
        resource = first.path
        keysPath = keys?.path ?? KeyConfiguration.wellKnownPath
        isChunked = route.isChunked
        do throws(HTTPClientError) {
            // A relay is somewhere else.
            client = try Self.client(first, at: route.relay == nil ? address : nil, trust)
            keysClient = try keys.map { url throws(HTTPClientError) in try Self.client(url, at: address, trust) } ?? client
        } catch {
            throw .untrusted(error)
        }
    }

    /// A client for a URL's host.
    private static func client(
        _ url: HTTPURL, at address: ConnectAddress?, _ trust: TLSTrust
    ) throws(HTTPClientError) -> HTTPClient {
        guard let base = try? HTTPURL("\(url.scheme.rawValue)://\(url.authority)") else { throw .connectTimeout }
        return try HTTPClient(url: base, at: address, trust: trust)
    }

    /// What went through so far.
    public var traffic: ObliviousTraffic { counted.withLock { $0 } }

    /// Sends a request with scheme and authority, sealed; fetches the gateway's keys where that is needed.
    ///
    /// - Parameters:
    ///   - step: what errors name.
    ///   - timeout: for each request that this takes.
    /// - Throws: `DeviceError.network`, `refused` (by relay or gateway, not by the server inside), `malformedAnswer`, `cannotEncrypt`.
    public func send(_ request: HTTPRequest, step: String, timeout: Duration) throws(DeviceError) -> HTTPResponse {
        let (key, isFresh) = try currentKey(timeout: timeout)
        do throws(DeviceError) {
            return try send(request, sealedFor: key, step: step, timeout: timeout)
        } catch {
            // The gateway does not know the key any more.
            guard !isFresh, case .refused(_, 400, _) = error else { throw error }
        }
        configuration.withLock { $0 = nil }
        return try send(request, sealedFor: try currentKey(timeout: timeout).key, step: step, timeout: timeout)
    }

    private func send(
        _ request: HTTPRequest, sealedFor key: KeyConfiguration, step: String, timeout: Duration
    ) throws(DeviceError) -> HTTPResponse {
        let plain: [UInt8]
        let sealed: SealedForm
        do {
            plain = try BinaryRequest(
                method: request.method, scheme: request.scheme, authority: request.authority,
                path: request.path + (request.query.map { "?" + $0 } ?? ""),
                fields: request.fields.map { BinaryField($0.name, $0.value) }, content: request.body[...]
            ).encoded(BinaryEncoding(framing: isChunked ? .indeterminateLength(chunk: 16 << 10) : .knownLength))
            sealed = try isChunked ? SealedForm(chunking: plain, for: key) : SealedForm(plain, for: key)
        } catch {
            throw .cannotEncrypt(reason: "\(error)")
        }
        let answer = try post(sealed, timeout: timeout)
        do {
            let opened = try sealed.openAnswer(answer)
            let inner = try BinaryResponse(decoding: opened)
            counted.withLock { traffic in
                traffic.count += 1
                traffic.plainRequests += plain.count
                traffic.sealedRequests += sealed.bytes.count
                traffic.plainResponses += opened.count
                traffic.sealedResponses += answer.count
                traffic.largest[request.path, default: ObliviousSizes()].grow(
                    to: ObliviousSizes(request: sealed.bytes.count, response: answer.count))
            }
            var fields: HTTPFields = [:]
            for field in inner.fields { fields.append(field.name, field.value) }
            return HTTPResponse(status: inner.status, fields: fields, body: Array(inner.content))
        } catch {
            throw .malformedAnswer(step: step)
        }
    }

    private func post(_ sealed: SealedForm, timeout: Duration) throws(DeviceError) -> [UInt8] {
        let request = HTTPRequest(
            method: "POST", path: resource, fields: ["content-type": sealed.requestType], body: sealed.bytes)
        let response = try exchange(request, with: client, step: "gateway", timeout: timeout)
        guard response.status == 200 else {
            throw .refused(
                step: "gateway", status: response.status, message: ServiceConnection.message(in: response.body))
        }
        guard response.fields["content-type"] == sealed.responseType else { throw .malformedAnswer(step: "gateway") }
        return response.body
    }

    /// The gateway's key, and whether it was fetched just now.
    private func currentKey(timeout: Duration) throws(DeviceError) -> (key: KeyConfiguration, isFresh: Bool) {
        if let key = configuration.withLock({ $0 }) { return (key, false) }
        let request = HTTPRequest(method: "GET", path: keysPath, fields: ["accept": "application/ohttp-keys"])
        let response = try exchange(request, with: keysClient, step: keysPath, timeout: timeout)
        guard response.status == 200 else {
            throw .refused(step: keysPath, status: response.status, message: ServiceConnection.message(in: response.body))
        }
        guard let list = try? KeyConfiguration.decodeList(response.body),
            let key = list.first(where: { $0.preferredAEAD != nil })
        else { throw .malformedAnswer(step: keysPath) }
        configuration.withLock { $0 = key }
        return (key, true)
    }

    private func exchange(
        _ request: HTTPRequest, with client: HTTPClient, step: String, timeout: Duration
    ) throws(DeviceError) -> HTTPResponse {
        do throws(HTTPClientError) {
            return try client.send(request, timeout: timeout)
        } catch {
            throw .network(step: step, error)
        }
    }
}

/// A request that is sealed in one of the two forms, with what opens its answer.
struct SealedForm {
    let bytes: [UInt8]
    let requestType: String
    let responseType: String
    /// The Binary HTTP message in an answer, which is complete.
    let openAnswer: ([UInt8]) throws -> ArraySlice<UInt8>

    /// One sealed message.
    init(_ plain: [UInt8], for key: KeyConfiguration) throws(EncapsulationError) {
        let sealed = try key.encapsulate(plain)
        bytes = sealed.bytes
        (requestType, responseType) = ("message/ohttp-req", "message/ohttp-res")
        openAnswer = { try sealed.responseOpener.open($0) }
    }

    /// Sealed in pieces.
    init(chunking plain: [UInt8], for key: KeyConfiguration) throws {
        var sealer = try key.encapsulateChunked()
        bytes = try sealer.seal(plain[...], isFinal: true)
        // The client has bounded the answer.
        var limits = ChunkLimits()
        limits.total = HTTPLimits().clientResponseBody
        let opener = sealer.responseOpener(limits: limits)
        (requestType, responseType) = ("message/ohttp-chunked-req", "message/ohttp-chunked-res")
        openAnswer = { answer in
            var opener = opener
            let beginning = try opener.append(answer[...])
            return (beginning + (try opener.finish()))[...]
        }
    }
}
