// The connection preface of HTTP/2 (RFC 9113 section 3.4).

/// What a client that speaks HTTP/2 sends first.
public enum HTTP2Preface {
    /// The 24 bytes.
    public static let bytes = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
}
