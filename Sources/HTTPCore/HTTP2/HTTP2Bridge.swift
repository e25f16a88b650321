// The only file that touches libnghttp2: a session as an object, its callbacks as calls of an owner. Pointers of the library
// never leave it; what the library hands over is copied. Everything of a session runs on one thread.

import CNghttp2

/// A frame in the terms of RFC 9113 section 4.1.
struct HTTP2Frame {
    let type: UInt8
    let flags: UInt8
    let stream: Int32
    let length: Int
    /// The code that RST_STREAM and GOAWAY carry, 0 for others.
    var code: UInt32 = 0
    /// The last stream of GOAWAY.
    var lastStream: Int32 = 0
    /// INITIAL_WINDOW_SIZE of SETTINGS.
    var initialWindow: Int?

    static let data: UInt8 = 0
    static let headers: UInt8 = 1
    static let priority: UInt8 = 2
    static let reset: UInt8 = 3
    static let settings: UInt8 = 4
    static let ping: UInt8 = 6
    static let goAway: UInt8 = 7
    static let windowUpdate: UInt8 = 8
    static let continuation: UInt8 = 9
    /// The flag of padding.
    static let padded: UInt8 = 8

    var endsStream: Bool { (type == Self.data || type == Self.headers) && flags & 1 != 0 }
    var isAcknowledgement: Bool { (type == Self.settings || type == Self.ping) && flags & 1 != 0 }
}

/// Settings (RFC 9113 section 6.5.2, RFC 9218 section 2.1).
enum HTTP2Setting: Int32 {
    case headerTableSize = 1
    case enablePush = 2
    case concurrentStreams = 3
    case initialWindowSize = 4
    case maxFrameSize = 5
    case maxHeaderListSize = 6
    case noOldPriorities = 9
}

/// What the owner of a session makes of a field.
enum HTTP2FieldVerdict {
    case take
    case skip
    /// The connection cannot go on.
    case stop
}

/// Whoever drives a session. The calls come while `receive` or `nextOutput` runs; none may use the session for that.
protocol HTTP2BridgeOwner: AnyObject {
    /// A header section begins.
    func headersBegan(_ stream: Int32)
    /// A field of these sizes was decoded.
    func judgeField(_ stream: Int32, nameLength: Int, valueLength: Int) -> HTTP2FieldVerdict
    /// A field that was judged to be taken, bytes as ISO 8859-1.
    func field(_ stream: Int32, _ name: String, _ value: String)
    /// A frame is complete and valid; header sections with all of their CONTINUATION.
    func frameReceived(_ frame: HTTP2Frame)
    /// Bytes of a body, and whether their frame has padding.
    func dataReceived(_ stream: Int32, _ bytes: [UInt8], isPadded: Bool)
    /// A frame was put into the output.
    func frameSent(_ frame: HTTP2Frame)
    /// The next bytes of the body that a stream sends, at most this many, and whether they are the last; nil resets the stream.
    func bodyBytes(_ stream: Int32, atMost count: Int) -> (ArraySlice<UInt8>, ends: Bool)?
    /// A stream has ended.
    func streamClosed(_ stream: Int32, code: UInt32)
}

final class HTTP2Bridge {
    enum Role {
        case server
        case client
    }

    weak var owner: (any HTTP2BridgeOwner)?
    private let session: OpaquePointer

    /// Nil if the library has no memory.
    init?(_ role: Role, limits: HTTP2Limits) {
        var callbacks: OpaquePointer?
        var option: OpaquePointer?
        guard nghttp2_session_callbacks_new(&callbacks) == 0, let callbacks else { return nil }
        defer { nghttp2_session_callbacks_del(callbacks) }
        guard nghttp2_option_new(&option) == 0, let option else { return nil }
        defer { nghttp2_option_del(option) }
        Self.set(callbacks)
        Self.set(option, limits)
        var made: OpaquePointer?
        // The object's address is not known before all of it is set, so the session learns it afterwards.
        let status =
            role == .server
            ? nghttp2_session_server_new2(&made, callbacks, nil, option)
            : nghttp2_session_client_new2(&made, callbacks, nil, option)
        guard status == 0, let made else { return nil }
        session = made
        nghttp2_session_set_user_data(made, Unmanaged.passUnretained(self).toOpaque())
    }

    deinit { nghttp2_session_del(session) }

    // Bytes.

    /// Takes received bytes; nil if all is well, or the code that the connection must end with at once. The session must not
    /// be used for input or output after that.
    func receive(_ bytes: ArraySlice<UInt8>) -> HTTP2ErrorCode? {
        if bytes.isEmpty { return nil }
        let taken = bytes.withUnsafeBufferPointer { nghttp2_session_mem_recv(session, $0.baseAddress, $0.count) }
        if taken >= 0 { return nil }
        switch Int32(clamping: taken) {
        case NGHTTP2_ERR_BAD_CLIENT_MAGIC.rawValue: return .protocolError
        case NGHTTP2_ERR_NOMEM.rawValue: return .internalError
        // The library's own limits, and the owner's (CALLBACK_FAILURE).
        default: return .enhanceYourCalm
        }
    }

    /// Appends frames to `output` until it has at least `limit` bytes or nothing is left to send.
    func output(into output: inout [UInt8], limit: Int) -> HTTP2ErrorCode? {
        while output.count < limit {
            var bytes: UnsafePointer<UInt8>?
            let count = nghttp2_session_mem_send(session, &bytes)
            if count < 0 { return .internalError }
            guard count > 0, let bytes else { return nil }
            output.append(contentsOf: UnsafeBufferPointer(start: bytes, count: count))
        }
        return nil
    }

    /// Whether the library has something to send now.
    var wantsWrite: Bool { nghttp2_session_want_write(session) != 0 }
    /// Whether the library waits for something of the peer.
    var wantsRead: Bool { nghttp2_session_want_read(session) != 0 }
    /// Frames that wait to be sent.
    var queuedFrames: Int { nghttp2_session_get_outbound_queue_size(session) }

    // Frames.

    /// SETTINGS, and the window of the connection.
    func submitSettings(_ entries: [(id: HTTP2Setting, value: Int)], connectionWindow: Int) {
        let list = entries.map { nghttp2_settings_entry(settings_id: $0.id.rawValue, value: UInt32(clamping: $0.value)) }
        _ = list.withUnsafeBufferPointer {
            nghttp2_submit_settings(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), $0.baseAddress, $0.count)
        }
        _ = nghttp2_session_set_local_window_size(
            session, UInt8(NGHTTP2_FLAG_NONE.rawValue), 0, Int32(clamping: connectionWindow))
    }

    /// The answer of a stream; its body is asked from the owner. False if the stream cannot take it.
    func submitResponse(_ stream: Int32, _ fields: [HTTP2Field], hasBody: Bool) -> Bool {
        withNative(fields) { list, count in
            var provider = Self.provider
            return hasBody
                ? nghttp2_submit_response(session, stream, list, count, &provider)
                : nghttp2_submit_response(session, stream, list, count, nil)
        } == 0
    }

    /// An interim answer.
    func submitInterim(_ stream: Int32, _ fields: [HTTP2Field]) {
        _ = withNative(fields) { list, count in
            nghttp2_submit_headers(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream, nil, list, count, nil)
        }
    }

    /// A request; its body is asked from the owner. The new stream, or nil if the connection takes no more.
    func submitRequest(_ fields: [HTTP2Field], hasBody: Bool) -> Int32? {
        let stream = withNative(fields) { list, count in
            var provider = Self.provider
            return hasBody
                ? nghttp2_submit_request(session, nil, list, count, &provider, nil)
                : nghttp2_submit_request(session, nil, list, count, nil, nil)
        }
        return stream > 0 ? stream : nil
    }

    func reset(_ stream: Int32, _ code: HTTP2ErrorCode) {
        _ = nghttp2_submit_rst_stream(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream, code.rawValue)
    }

    func ping() { _ = nghttp2_submit_ping(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), nil) }

    /// GOAWAY with the highest stream id: the peer should begin nothing more, but nothing is refused yet.
    func shutdownNotice() { _ = nghttp2_submit_shutdown_notice(session) }

    /// GOAWAY with the last stream that is served.
    func goAway(_ code: HTTP2ErrorCode) {
        _ = nghttp2_submit_goaway(
            session, UInt8(NGHTTP2_FLAG_NONE.rawValue), lastStream, code.rawValue, nil, 0)
    }

    /// GOAWAY, after which nothing is sent or taken.
    func terminate(_ code: HTTP2ErrorCode) { _ = nghttp2_session_terminate_session(session, code.rawValue) }

    /// The last stream of the peer that was taken.
    var lastStream: Int32 { nghttp2_session_get_last_proc_stream_id(session) }

    // Flow control.

    /// Bytes of a stream were used: the peer may send as many more.
    func consume(_ stream: Int32, _ count: Int) { _ = nghttp2_session_consume(session, stream, count) }

    /// What the peer lets a stream send; 0 if the stream has ended.
    func sendWindow(_ stream: Int32) -> Int { max(0, Int(nghttp2_session_get_stream_remote_window_size(session, stream))) }

    /// What the peer lets the connection send.
    var sendWindow: Int { max(0, Int(nghttp2_session_get_remote_window_size(session))) }

    // Native forms.

    private func withNative(_ fields: [HTTP2Field], _ body: (UnsafePointer<nghttp2_nv>?, Int) -> Int32) -> Int32 {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(fields.reduce(0) { $0 + $1.name.utf8.count + $1.value.count })
        for field in fields {
            bytes += field.name.utf8
            bytes += field.value
        }
        return bytes.withUnsafeMutableBufferPointer { all in
            var list: [nghttp2_nv] = []
            list.reserveCapacity(fields.count)
            var place = all.baseAddress
            for field in fields {
                let name = place
                let value = name.map { $0 + field.name.utf8.count }
                place = value.map { $0 + field.value.count }
                list.append(
                    nghttp2_nv(
                        name: name, value: value, namelen: field.name.utf8.count, valuelen: field.value.count,
                        flags: UInt8(NGHTTP2_NV_FLAG_NONE.rawValue)))
            }
            return list.withUnsafeBufferPointer { body($0.baseAddress, $0.count) }
        }
    }

    private static let provider: nghttp2_data_provider = {
        var provider = nghttp2_data_provider()
        provider.read_callback = { _, stream, buffer, length, flags, _, context in
            guard let owner = HTTP2Bridge.owner(context), let buffer, let flags else {
                return Int(NGHTTP2_ERR_CALLBACK_FAILURE.rawValue)
            }
            guard let (bytes, ends) = owner.bodyBytes(stream, atMost: length) else {
                return Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue)
            }
            let count = min(bytes.count, length)
            bytes.withUnsafeBufferPointer { source in
                if let base = source.baseAddress { buffer.update(from: base, count: count) }
            }
            if ends { flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
            return count
        }
        return provider
    }()

    private static func owner(_ context: UnsafeMutableRawPointer?) -> (any HTTP2BridgeOwner)? {
        context.flatMap { Unmanaged<HTTP2Bridge>.fromOpaque($0).takeUnretainedValue().owner }
    }

    private static func frame(_ head: nghttp2_frame_hd) -> HTTP2Frame {
        HTTP2Frame(type: head.type, flags: head.flags, stream: head.stream_id, length: head.length)
    }

    private static func frame(_ native: UnsafePointer<nghttp2_frame>) -> HTTP2Frame {
        var frame = frame(native.pointee.hd)
        if frame.type == HTTP2Frame.reset { frame.code = native.pointee.rst_stream.error_code }
        if frame.type == HTTP2Frame.goAway {
            frame.code = native.pointee.goaway.error_code
            frame.lastStream = native.pointee.goaway.last_stream_id
        }
        if frame.type == HTTP2Frame.settings {
            let entries = UnsafeBufferPointer(start: native.pointee.settings.iv, count: native.pointee.settings.niv)
            let last = entries.last { $0.settings_id == HTTP2Setting.initialWindowSize.rawValue }
            frame.initialWindow = last.map { Int($0.value) }
        }
        return frame
    }

    private static func set(_ option: OpaquePointer, _ limits: HTTP2Limits) {
        nghttp2_option_set_no_auto_window_update(option, 1)
        // The owner counts resets too and gives the better error code; this is what holds if it should not.
        nghttp2_option_set_stream_reset_rate_limit(
            option, UInt64(clamping: limits.resetBurst + limits.resetRate + 1), UInt64(clamping: limits.resetRate))
        // The owner counts these as well, and decides: the library counts a frame again for each piece that its head comes in.
        nghttp2_option_set_max_continuations(option, min(max(0, limits.continuations), 1 << 16) * 10)
        nghttp2_option_set_max_outbound_ack(option, max(1, limits.outstandingAcknowledgements))
        nghttp2_option_set_max_settings(option, max(1, limits.settingsEntries))
        nghttp2_option_set_max_reserved_remote_streams(option, 0)
    }

    private static func set(_ callbacks: OpaquePointer) {
        nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks) { _, frame, context in
            if let frame { HTTP2Bridge.owner(context)?.headersBegan(frame.pointee.hd.stream_id) }
            return 0
        }
        nghttp2_session_callbacks_set_on_header_callback(callbacks) {
            _, frame, name, nameLength, value, valueLength, _, context in
            guard let owner = HTTP2Bridge.owner(context), let stream = frame?.pointee.hd.stream_id else { return 0 }
            switch owner.judgeField(stream, nameLength: nameLength, valueLength: valueLength) {
            case .take:
                owner.field(
                    stream, HTTPSyntax.text(UnsafeBufferPointer(start: name, count: nameLength)),
                    HTTPSyntax.text(UnsafeBufferPointer(start: value, count: valueLength)))
                return 0
            case .skip: return 0
            case .stop: return NGHTTP2_ERR_CALLBACK_FAILURE.rawValue
            }
        }
        // A field that breaks the rules makes the message malformed; the library would only drop it (RFC 9113 section 8.2.1).
        nghttp2_session_callbacks_set_on_invalid_header_callback(callbacks) { _, _, _, _, _, _, _, _ in
            NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue
        }
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { _, frame, context in
            if let frame { HTTP2Bridge.owner(context)?.frameReceived(HTTP2Bridge.frame(frame)) }
            return 0
        }
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) { _, flags, stream, bytes, count, context in
            HTTP2Bridge.owner(context)?.dataReceived(
                stream, Array(UnsafeBufferPointer(start: bytes, count: count)), isPadded: flags & HTTP2Frame.padded != 0)
            return 0
        }
        nghttp2_session_callbacks_set_on_frame_send_callback(callbacks) { _, frame, context in
            if let frame { HTTP2Bridge.owner(context)?.frameSent(HTTP2Bridge.frame(frame)) }
            return 0
        }
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) { _, stream, code, context in
            HTTP2Bridge.owner(context)?.streamClosed(stream, code: code)
            return 0
        }
    }
}
