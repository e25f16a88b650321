// Host names, listeners, certificates, and what the relay meets (service.md 1.1, 1.2, 3.11, 5.1, 5.2).

import CallerDirectory
import HTTPCore

extension ConfigurationCheck {
    mutating func checkHosts() {
        guard let hosts = configuration.hosts else {
            return report.fail(
                .hosts, "no `hosts`: sealed requests are answered for the addresses in `listen` only, and phones ask for names",
                mend:
                    "hosts: { service: \"service.example.net\", issuer: \"issuer.example.net\", gateway: \"gateway.example.net\" }"
            )
        }
        var isGood = true
        for (role, name) in [("service", hosts.service), ("issuer", hosts.issuer), ("gateway", hosts.gateway)] {
            guard let name else {
                isGood = false
                report.fail(
                    .hosts, "hosts.\(role) is not named, so the role is not served",
                    mend: "give it a name, or the name of another role")
                continue
            }
            guard let flaw = Self.flaw(ofPublicName: name) else { continue }
            isGood = false
            report.fail(.hosts, "hosts.\(role): \(name) \(flaw)", mend: "use a name that the whole world resolves")
        }
        guard isGood else { return }
        if hosts.names.count < 3 {
            return report.warn(
                .hosts, "\(Self.counted(hosts.names.count, "name")) for three roles: \(hosts.names.joined(separator: ", "))",
                mend: "three subdomains let each role move to a machine of its own later; a changed name needs a new approval")
        }
        report.ok(.hosts, hosts.names.joined(separator: ", "))
    }

    /// Why nobody outside can use a name; nil: nothing.
    static func flaw(ofPublicName name: String) -> String? {
        if AddressPrefix(name) != nil { return "is an address, and certificates and the relay need a name" }
        if name.hasSuffix(".") { return "ends with a dot" }
        let last = name.split(separator: ".").last.map(String.init) ?? ""
        if last.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
            return "is a number, and certificates and the relay need a name"
        }
        let local = ["localhost", "local", "internal", "intranet", "lan", "test", "invalid", "home", "corp", "private"]
        if !name.contains(".") || local.contains(last) || name.hasSuffix(".home.arpa") {
            return "is known on a local network only"
        }
        if ["example.com", "example.net", "example.org"].contains(where: { name == $0 || name.hasSuffix("." + $0) }) {
            return "is a name from documentation"
        }
        return nil
    }

    mutating func checkListeners() {
        let outside = configuration.listen.filter { !$0.address.isLoopback }
        let list = configuration.listen.map { "\($0)" + ($0.tls ? " (TLS)" : "") }.joined(separator: ", ")
        let open = outside.filter { !$0.tls }
        if open.isEmpty, let secure = outside.first {
            report.ok(.listeners, "\(list); phones and relay reach \(secure)")
        } else if outside.isEmpty {
            report.warn(
                .listeners, "\(list): on loopback only, so something in front has to end TLS and speak HTTP/2 with the relay",
                mend: "listen on 0.0.0.0:443 with `tls`, or look at what is in front by `veilring check --url …`")
        } else {
            report.fail(
                .listeners, "\(open.map(\.description).joined(separator: ", ")): in cleartext beyond loopback",
                mend: "give the listener `tls: true` and the file `tls`")
        }
        guard let admin = configuration.admin.address else {
            return report.warn(
                .adminListener, "there is none, so nobody sees metrics or readiness", mend: "admin: \"127.0.0.1:9090\"")
        }
        if admin.isLoopback {
            report.ok(.adminListener, "\(admin), loopback only")
        } else {
            report.warn(
                .adminListener, "\(admin) is not loopback: metrics are for you, not for everyone",
                mend: "admin: \"127.0.0.1:9090\", or close the port to others by a firewall")
        }
    }

    mutating func checkCertificates() {
        guard !configuration.tls.isEmpty else {
            return report.skip(
                .certificate, "no `tls` in the configuration", mend: "look from outside: `veilring check --url …`")
        }
        do throws(TLSError) {
            // What the server will do at its start.
            _ = try TLSServerContext(
                certificates: configuration.tls.map {
                    TLSCertificateFiles(names: $0.names, certificate: $0.certificate, key: $0.key)
                })
        } catch {
            return report.fail(.certificate, "\(error)", mend: "give `tls` a chain and its own unencrypted key, mode 0600")
        }
        for host in configuration.hosts?.names ?? [] {
            guard let files = Self.certificate(for: host, in: configuration.tls) else {
                report.fail(
                    .certificate, "\(host): no entry of `tls` is for this name", mend: "add a certificate with this name")
                continue
            }
            do throws(TLSError) {
                let chain = try CertificateChain(pem: files.certificate)
                judge(chain, host: host, place: files.certificate)
            } catch {
                report.fail(.certificate, "\(error)", mend: "write the certificate and those of its authorities, in PEM form")
            }
        }
    }

    private mutating func judge(_ chain: CertificateChain, host: String, place: String) {
        report.judge(chain, host: host, place: place, trust: options.trust, now: now)
    }

    /// The entry whose names have the host, as the server chooses.
    private static func certificate(for host: String, in entries: [TLSCertificateSettings]) -> TLSCertificateSettings? {
        if entries.count == 1 { return entries.first }
        let parent = host.split(separator: ".").dropFirst().joined(separator: ".")
        return entries.first { $0.names.contains(host) } ?? entries.first { $0.names.contains("*." + parent) }
            ?? entries.first { $0.names.isEmpty }
    }

    mutating func checkRelayConnections() {
        let limits = configuration.limits
        guard limits.connectionsPerAddress < limits.connections else {
            return report.ok(.relayConnections, "an address may have as many connections as there are")
        }
        guard limits.exemptPrefixes.isEmpty else {
            return report.ok(
                .relayConnections, "\(Self.counted(limits.exemptPrefixes.count, "network")) without a limit for each address")
        }
        report.warn(
            .relayConnections,
            "each address may have \(limits.connectionsPerAddress) connections, the relay's too: all phones come by its few",
            mend: "limits: { exemptPrefixes: [the relay's networks] }, or as many connectionsPerAddress as connections")
    }
}

extension CheckReport {
    /// Days before a certificate's end from which it is worth a warning.
    static let certificateNotice: Int64 = 14
    /// Days for which a public authority's certificate may be valid.
    static let longestValidity: Int64 = 398

    /// Judges certificates as a phone does.
    mutating func judge(_ chain: CertificateChain, host: String, place: String, trust: TLSTrust, now: Int64) {
        let flaws: [CertificateFlaw]
        do throws(TLSError) {
            flaws = try chain.flaws(host: host, trust: trust, at: now)
        } catch {
            return fail(.certificate, "\(host): \(error)", mend: "give --ca a file of certificates in PEM form")
        }
        for flaw in flaws { fail(.certificate, "\(host): \(flaw) (\(place))", mend: Self.remedy(flaw)) }
        guard flaws.isEmpty, let end = chain.validity?.upperBound else { return }
        let days = (end - now) / ConfigurationCheck.day
        if trust == .system, let start = chain.validity?.lowerBound,
            (end - start) / ConfigurationCheck.day > Self.longestValidity
        {
            warn(
                .certificate, "\(host): it is valid for more than \(Self.longestValidity) days (\(place))",
                mend: "phones refuse such a certificate of a public authority")
        } else if days < Self.certificateNotice {
            warn(
                .certificate, "\(host): it expires in \(days) days (\(place))",
                mend: "renew it; a running server notices by itself")
        } else {
            let count = ConfigurationCheck.counted(chain.certificates.count, "certificate")
            ok(
                .certificate,
                "\(host): \(count), \(days) days left" + (trust == .system ? "" : ", not judged by public authorities"))
        }
    }

    private static func remedy(_ flaw: CertificateFlaw) -> String {
        switch flaw {
        case .missing: "give the host a certificate"
        case .otherName: "get a certificate for this name"
        case .expired: "renew it"
        case .notYetValid: "wait, or look at this machine's clock"
        case .selfSigned, .untrustedAuthority: "get it from a public authority: phones and the relay trust no other"
        case .incomplete: "append the authority's certificates to the file (often called fullchain)"
        case .other: "get another certificate"
        }
    }
}
