// Listeners, certificates, admin, hosts, log and limits in the configuration file: what is read, what is refused and where,
// what gets a notice (issue 4; field case F21).

import Testing

@testable import CallerDirectory

@Suite("Listeners, certificates, names and limits in the configuration")
struct NetworkSettingsTests {
    private func parse(_ text: String, environment: [String: String] = [:]) throws -> VeilringConfiguration {
        let start = "{ data: 'd', authentication: 'none', allowUnauthenticated: true, "
        let end = ",\n useCases: { u: { kind: 'keyword', source: 'r.binpb' } } }"
        return try VeilringConfiguration.parse(
            Array((start + text + end).utf8), file: "v", directory: "/etc/veilring", environment: environment)
    }

    private func errors(_ text: String, environment: [String: String] = [:]) -> [String] {
        do {
            _ = try parse(text, environment: environment)
            return []
        } catch {
            return (error as? ConfigurationError)?.findings.map(\.description) ?? ["\(error)"]
        }
    }

    @Test func listenersTakeTLSFromTheCertificates() throws {
        let text = """
            listen: ['0.0.0.0:443', { address: '[::1]:80', tls: false }, { address: '0.0.0.0:81', tls: false }, '127.0.0.1:8443'],
            tls: { certificate: 'c.pem', key: '/keys/k.pem' }
            """
        let configuration = try parse(text)
        #expect(configuration.listen.map(\.description) == ["0.0.0.0:443", "[::1]:80", "0.0.0.0:81", "127.0.0.1:8443"])
        #expect(configuration.listen.map(\.tls) == [true, false, false, true])
        #expect(
            configuration.tls == [TLSCertificateSettings(certificate: "/etc/veilring/c.pem", key: "/keys/k.pem")])
        #expect(configuration.notices.count == 1)
        #expect(configuration.notices[0].contains("0.0.0.0:81 is cleartext beyond loopback although"))
        let clear = try parse("listen: '10.0.0.1:80'")
        #expect(clear.listen.map(\.tls) == [false] && clear.notices.count == 1)
        let unused = try parse("tls: { certificate: 'c', key: 'k' }, listen: { address: '127.0.0.1:1', tls: false }")
        #expect(unused.notices.map { $0.hasSuffix("tls: no listener uses it") } == [true])
    }

    @Test func certificatesByName() throws {
        let text = """
            tls: [{ names: ['A.example', 'b.example'], certificate: 'a', key: 'ak' }, { certificate: 'd', key: 'dk' },
                  { names: 'c.example', certificate: 'c', key: 'ck' }]
            """
        #expect(try parse(text).tls.map(\.names) == [["a.example", "b.example"], [], ["c.example"]])
        let environment = ["VEILRING_TLS_CERTIFICATE": "x.pem", "VEILRING_TLS_KEY": "y.pem"]
        let overridden = try parse("tls: { certificate: 'c', key: 'k' }", environment: environment)
        #expect(overridden.tls.map(\.certificate) == ["/etc/veilring/x.pem"])
        #expect(try parse("region: 'TW'", environment: environment).listen.map(\.tls) == [true])
        let wrong = errors(text, environment: environment)
        #expect(wrong.count == 2 && wrong[0].hasPrefix("environment variable VEILRING_TLS_CERTIFICATE: expected"))
    }

    @Test func adminHostsAndLog() throws {
        let standard = try parse("region: 'TW'")
        #expect(standard.admin == AdminSettings() && standard.admin.isDefault && standard.hosts == nil)
        #expect(standard.log == LogSettings() && standard.log.format == nil)
        let off = try parse("admin: 'off', log: { format: 'json', level: 'warning' }, hosts: { service: 'S.Example' }")
        #expect(off.admin == AdminSettings(address: nil) && off.log.format == .json && off.log.level == .warning)
        #expect(off.hosts == HostSettings(service: "s.example"))
        let open = try parse(
            "admin: '10.0.0.1:9', hosts: { service: 'a.example', issuer: 'b.example', gateway: 'a.example' }",
            environment: ["VEILRING_HOSTS_ISSUER": "c.example", "VEILRING_LOG_LEVEL": "debug"])
        #expect(open.notices.count == 1 && open.notices[0].contains("10.0.0.1:9 is beyond loopback"))
        #expect(open.hosts?.names == ["a.example", "c.example"] && open.log.level == .debug)
        let uncovered = try parse(
            "hosts: { service: 'b.example' }, tls: { names: 'a.example', certificate: 'c', key: 'k' }")
        #expect(uncovered.notices.map { $0.contains("no certificate under `tls` has the name b.example") } == [true])
    }

    @Test func limits() throws {
        let configuration = try parse(
            """
            limits: { queuedMilliseconds: 250, exemptPrefixes: ['10.0.0.0/8', '2001:db8::/32', '::1'], connections: 7,
                      http: { headerSeconds: 3, bufferedBodyBytes: 1048576 } }
            """, environment: ["VEILRING_LIMITS_HTTP_HTTP2_STREAMS": "9", "VEILRING_LIMITS_QUERY_THREADS": "2"])
        let limits = configuration.limits
        #expect(limits.queuedMilliseconds == 250 && limits.connections == 7 && limits.queryThreads == 2)
        #expect(limits.exemptPrefixes == ["10.0.0.0/8", "2001:db8::/32", "::1"])
        #expect(limits.http.headerSeconds == 3 && limits.http.bufferedBodyBytes == 1 << 20 && limits.http.http2Streams == 9)
        #expect(LimitSettings.fields.allSatisfy { field in field.value(in: LimitSettings()).map(field.range.contains) ?? true })
        #expect(
            HTTPLimitSettings.fields.allSatisfy { field in
                field.value(in: HTTPLimitSettings()).map(field.range.contains) ?? true
            })
    }

    @Test(arguments: [
        ("listen: []", "v:1:74: expected listen: "),
        ("listen: { address: '127.0.0.1:1', tls: true }", "v:1:105: expected listen.tls: a certificate in the section `tls`"),
        ("listen: { address: '127.0.0.1:1', tsl: false }", "(did you mean \"tls\"?), got \"tsl\""),
        ("listen: ['127.0.0.1:1', { address: '127.0.0.1:1' }]", "listen: each address once"),
        ("tls: { certificate: 'c' }", "tls.key: the path of a PEM file, got nothing"),
        ("tls: { certificate: 'c', key: 'k', name: 'x' }", "(did you mean \"names\"?)"),
        ("tls: []", "expected tls: { certificate: …, key: … }"),
        ("tls: [{ certificate: 'c', key: 'k' }, { certificate: 'd', key: 'l' }]", "tls.names: the host names"),
        (
            "tls: [{ names: 'a', certificate: 'c', key: 'k' }, { names: ['b', 'A'], certificate: 'd', key: 'l' }]",
            "once, got \"A\""
        ),
        ("tls: { names: '*.example', certificate: 'c', key: 'k' }", "list the names one by one"),
        ("admin: 'of'", "expected admin: \"host:port\" or \"off\", got \"of\""),
        ("admin: '127.0.0.1:8080'", "an address of its own"),
        ("log: { format: 'jsn' }", "(did you mean \"json\"?)"), ("log: { level: 'warn' }", "log.level: \"debug\", \"info\""),
        ("hosts: {}", "a name for at least one"), ("hosts: { servce: 'a' }", "(did you mean \"service\"?)"),
        ("limits: { http: { idleSecond: 1 } }", "limits.http: a known key (did you mean \"idleSeconds\"?)"),
        ("limits: { http: { idleSeconds: 0 } }", "limits.http.idleSeconds: an integer from 1 to 86400, got 0"),
        ("limits: { exemptPrefixes: ['10.0.0.1/8'] }", "no bit set behind the length, got \"10.0.0.1/8\""),
        ("limits: { exemptPrefixes: ['2001:db8::1/64'] }", "no bit set"),
        ("limits: { exemptPrefixes: ['::/129'] }", "no bit set"),
        ("limits: { exemptPrefixes: ['host'] }", "no bit set"), ("limits: { exemptPrefixes: ['10.0.0.0/'] }", "no bit set"),
    ])
    func everyErrorHasItsPlace(text: String, expected: String) {
        let found = errors(text)
        #expect(found.count == 1 && found[0].contains(expected), "\(found)")
    }

    /// Field case F21, and forms that browsers and DNS tools let pass.
    @Test(arguments: [
        ("https://example.net/lookup", "without scheme (did you mean \"example.net\"?)"),
        ("http://example.net:8080", "without scheme (did you mean \"example.net\"?)"),
        ("https://service.example.net/", "without scheme (did you mean \"service.example.net\"?)"),
        ("example.net/lookup", "without path or slash"), ("example.net/", "(did you mean \"example.net\"?)"),
        ("example.net:443", "without port"), ("example.net.", "without dot at its end (did you mean \"example.net\"?)"),
        ("exa mple.net", "letters, digits and hyphens"), ("a..b", "letters, digits and hyphens"),
        ("-a.example", "letters, digits and hyphens"), ("名.example", "xn--"), ("[::1]", "without port"),
        ("*.example.net", "a whole host name"), (".", "without dot at its end"),
        (String(repeating: "a", count: 64) + ".example", "letters, digits and hyphens"),
    ])
    func whatIsNoHostName(text: String, reason: String) {
        let found = errors("hosts: { service: '\(text)' }")
        #expect(found.count == 1 && found[0].contains("hosts.service: a ") && found[0].contains(reason), "\(found)")
    }
}
