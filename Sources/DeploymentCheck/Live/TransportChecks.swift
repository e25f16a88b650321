// TLS, HTTP/2 and HTTP/1.1 as each host speaks them, and its clock (service.md 3.11, 5.2; field case F20).

import HTTPClient
import HTTPCore
import PrivacyPass

extension LiveCheck {
    /// URLs to look at, one for each host and port.
    private var hosts: [HTTPURL] {
        var urls: [HTTPURL] = []
        for url in [service, issuer, gateway].compactMap({ $0 }) where !urls.contains(where: { $0.authority == url.authority })
        {
            urls.append(url)
        }
        return urls
    }

    mutating func checkTransports() {
        for url in hosts {
            guard url.scheme == .https else {
                report.fail(.tls, "\(url.authority): cleartext", mend: "the vendor and the relay come by https only")
                checkHTTP1(url)
                continue
            }
            if checkHandshakes(url) {
                checkHTTP2(url)
                checkHTTP1(url)
            }
        }
    }

    /// Whether there is a server that speaks TLS.
    private mutating func checkHandshakes(_ url: HTTPURL) -> Bool {
        let probe: TLSProbe
        do throws(HTTPClientError) {
            probe = try TLSProbe(url, at: target.address, timeout: options.timeout)
        } catch {
            silent.insert(url.authority)
            report.fail(
                .tls, "\(url.authority): \(error)", mend: "is the name in DNS, the port open, a certificate there for it?")
            return false
        }
        for version in TLSVersion.allCases {
            do throws(HTTPClientError) {
                _ = try TLSProbe(url, at: target.address, only: version, timeout: options.timeout)
                report.ok(.tls, "\(url.authority): \(version.rawValue)")
            } catch {
                report.fail(
                    .tls, "\(url.authority): no \(version.rawValue): \(error)", mend: "let what ends TLS speak 1.2 and 1.3")
            }
        }
        if probe.applicationProtocol == "h2" {
            report.ok(.alpn, "\(url.authority): h2")
        } else {
            let agreed = probe.applicationProtocol.map { "it chose \($0)" } ?? "it chose nothing"
            report.fail(
                .alpn, "\(url.authority): h2 and http/1.1 were offered, and \(agreed)",
                mend: "let what ends TLS offer h2 (the vendor looks with `openssl s_client -alpn h2`)")
        }
        checkAddresses(url)
        report.judge(
            probe.certificates, host: url.host, place: url.authority, trust: options.trust, now: Int64(options.machine.now()))
        return true
    }

    /// Phones and the relay choose among a name's addresses; each must be as good.
    private mutating func checkAddresses(_ url: HTTPURL) {
        guard target.address == nil, AddressPrefix(url.host) == nil,
            let addresses = try? SocketAddress.resolve(host: url.host, port: UInt16(clamping: url.port)), addresses.count > 1
        else { return }
        for address in addresses {
            let place = ConnectAddress(host: address.host, port: address.port)
            do throws(HTTPClientError) {
                let probe = try TLSProbe(url, at: place, timeout: options.timeout)
                guard probe.applicationProtocol != "h2" else { continue }
                report.fail(
                    .alpn, "\(url.authority) at \(address.host): no h2", mend: "let every address lead to the same server")
            } catch {
                report.fail(
                    .tls, "\(url.authority) at \(address.host): \(error)", mend: "mend it, or take the address out of DNS")
            }
        }
    }

    private mutating func checkHTTP2(_ url: HTTPURL) {
        do throws(HTTPClientError) {
            let answer = try get(url, IssuerDirectory.path, versions: .http2)
            report.ok(.http2, "\(url.authority): answered with \(answer.status)")
        } catch {
            // What is left is looked at over the version that works.
            withoutHTTP2.insert(url.authority)
            report.fail(
                .http2, "\(url.authority): \(error)", mend: "an exchange over HTTP/2 must work, not only ALPN")
        }
    }

    private mutating func checkHTTP1(_ url: HTTPURL) {
        do throws(HTTPClientError) {
            let answer = try get(url, IssuerDirectory.path, versions: .http1)
            report.ok(.http1, "\(url.authority): answered with \(answer.status)")
        } catch {
            report.warn(.http1, "\(url.authority): \(error)", mend: "development builds may come by HTTP/1.1")
        }
    }

    // MARK: Clock

    mutating func checkClock() {
        guard let service else { return report.skip(.clock, "the service's URL cannot be used") }
        let before = options.machine.now()
        guard let answer = try? get(service, IssuerDirectory.path) else {
            return report.skip(.clock, "the service does not answer")
        }
        let after = options.machine.now()
        guard let text = answer.fields["date"], let there = HTTPDate.unixTime(text) else {
            return report.warn(.clock, "the answer has no date", mend: "look at the server's clock by hand")
        }
        // A date has whole seconds, so it is up to one second early.
        let early = before - Double(there + 1)
        let late = Double(there) - after
        let difference = max(early, late, 0)
        if difference > ConfigurationCheck.clockTolerance {
            report.fail(
                .clock, "it differs from this machine's by \(Int(difference)) s",
                mend: "set the clock that is wrong, and run a time service")
        } else if difference > ConfigurationCheck.clockNotice {
            report.warn(.clock, "it differs from this machine's by \(Int(difference)) s", mend: "run a time service on both")
        } else {
            report.ok(.clock, "as this machine's, within \(Int(difference.rounded(.up)) + 1) s")
        }
    }
}
