// Reads `listen`, `tls`, `admin`, `hosts` and `log` (service.md 1.1, 5.1, 5.2).

extension ConfigurationReader {
    static let listenForm = "\"host:port\", \"[v6 address]:port\", { address: …, tls: true or false } or a list of such"

    /// A listener with the place where it is written.
    struct PlacedListener {
        var listener: ListenerSettings
        var place: JSON5Value?
    }

    func readListen(hasCertificates: Bool) -> [ListenerSettings] {
        guard let value = section.value("listen") else {
            return [ListenerSettings(ListenAddress(host: "127.0.0.1", port: 8080), tls: hasCertificates)]
        }
        let items: [JSON5Value]
        if case .array(let elements) = value.kind { items = elements } else { items = [value] }
        if items.isEmpty {
            section.report("listen", expected: ConfigurationReader.listenForm, came: value.summary)
        }
        var result: [ListenerSettings] = []
        for item in items {
            guard let listener = readListener(item, hasCertificates: hasCertificates) else { continue }
            if listener.address.port != 0, result.contains(where: { $0.address == listener.address }) {
                section.report("listen", expected: "each address once", came: item.summary, at: item)
            }
            result.append(listener)
        }
        return result
    }

    private func readListener(_ item: JSON5Value, hasCertificates: Bool) -> ListenerSettings? {
        var text = item
        var tls = hasCertificates
        if case .object = item.kind {
            let known = ["address", "tls"]
            guard let inner = SettingsSection(item, path: section.path(of: "listen"), known: known, log: section.log) else {
                return nil
            }
            guard let address = inner.value("address") else {
                inner.report("address", expected: "\"host:port\"", came: "nothing")
                return nil
            }
            text = address
            tls = inner.bool("tls") ?? hasCertificates
            if tls && !hasCertificates {
                inner.report("tls", expected: "a certificate in the section `tls` to go with true", came: "none")
            }
        }
        guard case .string(let words) = text.kind, let address = ListenAddress(words) else {
            section.report("listen", expected: ConfigurationReader.listenForm, came: text.summary, at: text)
            return nil
        }
        if !tls, !address.isLoopback {
            section.log.notice(
                section.path(of: "listen"), text.position,
                hasCertificates
                    ? "\(address) is cleartext beyond loopback although certificates are there"
                    : "\(address) is cleartext beyond loopback: for use behind a proxy that ends TLS only")
        }
        return ListenerSettings(address, tls: tls)
    }

    // MARK: Certificates

    func readCertificates() -> [TLSCertificateSettings] {
        guard let value = section.value("tls") else { return [] }
        let items: [JSON5Value]
        if case .array(let elements) = value.kind { items = elements } else { items = [value] }
        if items.isEmpty {
            section.report("tls", expected: "{ certificate: …, key: … } or a list of such", came: value.summary)
        }
        var result: [TLSCertificateSettings] = []
        for item in items {
            guard let certificate = readCertificate(item, others: result) else { continue }
            result.append(certificate)
        }
        return result
    }

    private func readCertificate(_ item: JSON5Value, others: [TLSCertificateSettings]) -> TLSCertificateSettings? {
        let known = ["names", "certificate", "key"]
        guard let inner = SettingsSection(item, path: section.path(of: "tls"), known: known, log: section.log) else {
            return nil
        }
        var result = TLSCertificateSettings(certificate: "", key: "")
        for (name, path) in [
            ("certificate", \TLSCertificateSettings.certificate), ("key", \TLSCertificateSettings.key),
        ] {
            if let text = inner.string(name, expected: "the path of a PEM file") {
                result[keyPath: path] = FilePathText.resolve(text, in: directory)
            } else if inner.value(name) == nil {
                inner.report(name, expected: "the path of a PEM file", came: "nothing")
            }
        }
        if case .array(let names)? = inner.value("names")?.kind, names.isEmpty {
            // Written out, an empty list means what leaving it out means.
        } else {
            for (text, value) in inner.strings("names", expected: "a host name or a list of such") ?? [] {
                switch HostName.read(text) {
                case .failure(let problem): inner.report("names", expected: "\(problem)", came: value.summary, at: value)
                case .success(let name):
                    if result.names.contains(name) || others.contains(where: { $0.names.contains(name) }) {
                        inner.report("names", expected: "each host name once", came: value.summary, at: value)
                    }
                    result.names.append(name)
                }
            }
        }
        if inner.value("names") == nil || result.names.isEmpty, others.contains(where: \.names.isEmpty) {
            inner.report(
                "names", expected: "the host names of the certificate (one alone may have none: the default)", came: "none")
        }
        return result
    }

    // MARK: Admin, hosts, log

    func readAdmin(listen: [ListenerSettings]) -> AdminSettings {
        let expected = "\"host:port\" or \"off\""
        guard let text = section.string("admin", expected: expected), let value = section.value("admin") else {
            return AdminSettings()
        }
        if text == "off" { return AdminSettings(address: nil) }
        guard let address = ListenAddress(text) else {
            section.report("admin", expected: expected, came: value.summary)
            return AdminSettings()
        }
        if address.port != 0, listen.contains(where: { $0.address == address }) {
            section.report("admin", expected: "an address of its own, not one of `listen`", came: value.summary)
        }
        if !address.isLoopback {
            section.log.notice(
                "admin", value.position,
                "\(address) is beyond loopback: whoever reaches it sees metrics without being asked who")
        }
        return AdminSettings(address: address)
    }

    func readHosts(certificates: [TLSCertificateSettings]) -> HostSettings? {
        guard let hosts = section.section("hosts", known: HostSettings.keys) else { return nil }
        var result = HostSettings()
        for (name, path) in [
            ("service", \HostSettings.service), ("issuer", \HostSettings.issuer), ("gateway", \HostSettings.gateway),
        ] {
            guard let text = hosts.string(name, expected: "a host name"), let value = hosts.value(name) else { continue }
            switch HostName.read(text) {
            case .failure(let problem): hosts.report(name, expected: "\(problem)", came: value.summary)
            case .success(let host):
                result[keyPath: path] = host
                let isCovered = certificates.isEmpty || certificates.contains { $0.names.isEmpty || $0.names.contains(host) }
                if !isCovered {
                    hosts.log.notice(hosts.path(of: name), value.position, "no certificate under `tls` has the name \(host)")
                }
            }
        }
        if result.names.isEmpty, hosts.log.count == 0 {
            hosts.log.report(
                "hosts", hosts.position, expected: "a name for at least one of service, issuer and gateway", came: "none")
        }
        return result
    }

    func readLog() -> LogSettings {
        var settings = LogSettings()
        guard let log = section.section("log", known: LogSettings.keys) else { return settings }
        settings.format = log.choice("format", LogSettings.Format.allCases.map { ($0.rawValue, $0) })
        settings.level = log.choice("level", LogSettings.Level.allCases.map { ($0.rawValue, $0) }) ?? settings.level
        return settings
    }
}
