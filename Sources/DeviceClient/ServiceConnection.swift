// Requests to the service with the fields that a device sends (service.md 1.6).

import HTTPClient
import HTTPCore
import PrivacyPass
import Protobuf

/// A device's connection to the service.
struct ServiceConnection: Sendable {
    private let way: RequestPath
    private let fields: HTTPFields
    private let timeout: Duration

    init(
        url: String, at address: ConnectAddress?, userAgent: String, identifier: String, trust: TLSTrust, path: ObliviousPath?,
        timeout: Duration
    ) throws(DeviceError) {
        let parsed = try Self.url(url)
        way = try RequestPath(to: parsed, at: address, through: path, trust: trust)
        fields = [
            "user-identifier": identifier, "user-agent": userAgent, "content-type": "application/x-protobuf",
        ]
        self.timeout = timeout
    }

    static func url(_ text: String) throws(DeviceError) -> HTTPURL {
        do throws(HTTPURLError) {
            return try HTTPURL(text)
        } catch {
            throw .invalidURL("\(error)")
        }
    }

    /// Posts a message; gives the bytes of the answer.
    func send(_ path: String, _ message: some ProtobufMessage, _ token: Token?) throws(DeviceError) -> [UInt8] {
        var fields = fields
        if let token { fields.append("authorization", PrivateTokenAuthorization.text(for: token)) }
        let response = try way.send(
            HTTPRequest(method: "POST", path: path, fields: fields, body: message.encoded()), step: path, timeout: timeout)
        guard response.status == 200 else {
            throw .refused(step: path, status: response.status, message: Self.message(in: response.body))
        }
        return response.body
    }

    /// The text of `{"error":{"message":"…"}}`, or the body itself: visible ASCII, at most 100 characters, for a terminal.
    static func message(in body: [UInt8]) -> String {
        let text = String(decoding: body.prefix(400).map { (0x20...0x7E).contains($0) ? $0 : UInt8(ascii: "?") }, as: UTF8.self)
        let mark = "\"message\":\""
        var rest = Substring(text)
        if text.hasPrefix("{"), let start = text.firstRange(of: mark) {
            rest = text[start.upperBound...].prefix { $0 != "\"" }
        }
        return String(rest.prefix(100))
    }
}
