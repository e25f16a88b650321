// All metrics at one moment: what was counted, and what can be asked for (docs/metrics.md lists them in the same order).

import HTTPServer
import KeywordPIR
import StateStore

/// Gathers the families of `/metrics`. Asking the store may wait for a disk, so this must not run on an event loop.
struct MetricsPage: Sendable {
    let service: LookupService
    /// Bytes of request bodies in memory now, and how many there may be.
    let bodies: @Sendable () -> (held: Int, limit: Int)
    /// Whether `/readyz` says so.
    let isReady: @Sendable () -> Bool

    private var metrics: ServiceMetrics { service.metrics }

    /// The page.
    func text() -> String { MetricsText.text(of: families(at: secondsSince1970(), process: ProcessReading.current())) }

    /// All families; those of the process only with a reading.
    func families(at now: Int, process: ProcessReading?) -> [MetricFamily] {
        requests + phases + connections + lines + keys + tokens + data(at: now) + (process.map(Self.families) ?? [])
    }

    private var requests: [MetricFamily] {
        let answered = metrics.requests.all.sorted { Self.order($0.key) < Self.order($1.key) }
        let refused = metrics.refusals.all.sorted {
            ($0.key.route.rawValue, $0.key.failure.rawValue) < ($1.key.route.rawValue, $1.key.failure.rawValue)
        }
        return [
            .counter(
                "veilring_http_requests_total", "Requests answered by the service.",
                answered.map { key, count in
                    MetricSample(
                        labels: [
                            LabelPair("route", key.route.labelText), LabelPair("status", "\(key.status)"),
                            LabelPair("protocol", key.version.labelText),
                        ], value: .integer(count))
                }),
            .gauge("veilring_http_requests_in_flight", "Requests being worked on.", metrics.requestsInFlight.value),
            .histogram(
                "veilring_http_request_duration_seconds", "From the last byte of a request to its answer.", by: "route",
                metrics.durations),
            .counter(
                "veilring_refusals_total", "Requests refused by the service.",
                refused.map { key, count in
                    MetricSample(
                        labels: [LabelPair("route", key.route.labelText), LabelPair("reason", key.failure.labelText)],
                        value: .integer(count))
                }),
            .counter(
                "veilring_queries_total", "Queries that arrived, each of a batch, by use case.",
                metrics.queries.all.sorted { $0.key < $1.key }.map { name, count in
                    MetricSample(labels: [LabelPair("use_case", name)], value: .integer(count))
                }),
            .counter(
                "veilring_unmatched_timestamps_total",
                "Queries whose timestamp matched no stored evaluation key.",
                service.unmatchedTimestamps.load(ordering: .relaxed)),
        ]
    }

    private static func order(_ key: ServiceMetrics.RequestKey) -> (String, Int, String) {
        (key.route.rawValue, key.status, key.version.rawValue)
    }

    private var phases: [MetricFamily] {
        [
            .histogram(
                "veilring_request_phase_seconds", "Parts of a request's way through the computing threads.", by: "phase",
                metrics.phases),
            .counter(
                "veilring_shared_scan_queries_total", "Queries answered together with others in one scan of their shard.",
                service.sharedScans.load(ordering: .relaxed)),
        ]
    }

    private var connections: [MetricFamily] {
        let (held, limit) = bodies()
        return [
            .gauge("veilring_http_connections", "Open connections.", metrics.connectionsOpen.value),
            .counter(
                "veilring_http_connections_accepted_total", "Connections accepted.", metrics.connectionsAccepted.value),
            .counter(
                "veilring_http_accept_pauses_total", "How often accepting paused for a moment.", by: "reason",
                metrics.acceptPauses),
            .counter(
                "veilring_http_refusals_total", "Requests and connections refused by the front itself.", by: "reason",
                metrics.frontRefusals),
            .counter(
                "veilring_http2_streams_refused_total", "HTTP/2 streams refused.", by: "reason", metrics.streamRefusals),
            .counter(
                "veilring_http2_connections_ended_total", "HTTP/2 connections that the server ended.",
                metrics.endings.all.sorted { $0.key.labelText < $1.key.labelText }.map { ending, count in
                    MetricSample(labels: [LabelPair("reason", ending.labelText)], value: .integer(count))
                }),
            .counter(
                "veilring_tls_handshakes_total", "TLS handshakes by how they ended.", by: "result", metrics.tlsHandshakes),
            .histogram(
                "veilring_tls_handshake_duration_seconds", "From a connection to the end of its TLS handshake.", by: "version",
                metrics.tlsDurations),
            .counter(
                "veilring_tls_resumptions_total", "TLS handshakes that resumed a session.", metrics.tlsResumptions.value),
            .gauge("veilring_http_body_bytes", "Bytes of request bodies in memory.", held),
            .gauge("veilring_http_body_limit_bytes", "Bytes of request bodies that may be in memory.", limit),
        ]
    }

    private var lines: [MetricFamily] {
        let pools = [
            ("compute", service.computing.figures), ("clerk", service.clerks.figures),
            ("registrar", service.registrars.figures),
            ("signer", service.signers.figures), ("opener", service.openers.figures),
        ]
        func family(_ name: String, _ help: String, _ value: (WorkPool.Figures) -> MetricValue) -> MetricFamily {
            .gauge(name, help, pools.map { MetricSample(labels: [LabelPair("pool", $0)], value: value($1)) })
        }
        let waiting = pools.flatMap { pool, figures in
            WorkRank.allCases.map { rank in
                MetricSample(
                    labels: [LabelPair("pool", pool), LabelPair("rank", rank.labelText)],
                    value: .integer(figures.waiting[rank] ?? 0))
            }
        }
        return [
            .gauge("veilring_queue_length", "Work that waits for a thread.", waiting),
            family("veilring_queue_predicted_seconds", "Time until what waits and runs would be done.") {
                .real($0.predictedSeconds)
            },
            family("veilring_threads", "Threads.") { .integer($0.threads) },
            family("veilring_idle_threads", "Threads without work.") { .integer($0.idleThreads) },
            family("veilring_longest_run_seconds", "How long the work that runs longest has been running.") {
                .real($0.longestRun.seconds)
            },
        ]
    }

    private var keys: [MetricFamily] {
        let cache = service.decodedKeys.statistics
        var families: [MetricFamily] = []
        // A store that cannot answer now is seen by the missing samples.
        let stored = try? service.store.statistics()
        families.append(
            .gauge(
                "veilring_stored_keys", "Evaluation keys in the store.",
                stored.map { [MetricSample(value: .integer($0.count))] } ?? []))
        families.append(
            .gauge(
                "veilring_stored_key_bytes", "Bytes of the evaluation keys in the store.",
                stored.map { [MetricSample(value: .integer($0.bytes))] } ?? []))
        return families + [
            .gauge("veilring_decoded_keys", "Decoded evaluation keys in memory.", cache.count),
            .gauge("veilring_decoded_key_bytes", "Bytes of the decoded evaluation keys in memory.", cache.bytes),
            .gauge("veilring_decoded_key_limit_bytes", "Bytes that decoded evaluation keys may take.", cache.bound),
            .counter("veilring_decoded_key_hits_total", "Queries that found their key decoded.", cache.hits),
            .counter("veilring_decoded_key_misses_total", "Queries that did not find their key decoded.", cache.misses),
            .counter(
                "veilring_key_decodings_total", "Evaluation keys decoded, for queries and to check uploads.",
                service.keyDecodings.load(ordering: .relaxed)),
        ]
    }

    private func data(at now: Int) -> [MetricFamily] {
        let snapshot = service.snapshots.current
        let useCases = snapshot?.current.values.sorted { $0.name < $1.name } ?? []
        func each(_ value: (ServedUseCase) -> Int?) -> [MetricSample] {
            useCases.compactMap { useCase in
                value(useCase).map {
                    MetricSample(labels: [LabelPair("use_case", useCase.name)], value: .integer($0))
                }
            }
        }
        return [
            .gauge("veilring_ready", "1 if all use cases are loaded and the server is not stopping.", isReady() ? 1 : 0),
            .gauge(
                "veilring_data_info", "The data version in force.",
                snapshot.map { [MetricSample(labels: [LabelPair("version", $0.version)], value: .integer(1))] } ?? []),
            .gauge(
                "veilring_data_age_seconds", "Time since the data of a use case was built.",
                each { _ in snapshot?.created.map { max(0, now - $0) } }),
            .gauge("veilring_shards", "Shards of a use case.", each { $0.shards.count }),
            .gauge(
                "veilring_shards_out_of_service", "Shards whose payload is damaged.",
                each { $0.shards.count { $0.contents == nil } }),
            .counter("veilring_reloads_total", "Reloads by how they ended.", by: "result", metrics.reloads),
            .gauge(
                "veilring_build_info", "The program.",
                [
                    MetricSample(
                        labels: ProgramVersion.current.members.map { LabelPair($0.name, $0.text) }, value: .integer(1))
                ]),
        ]
    }

    /// Names that Prometheus gives these for every program.
    private static func families(_ process: ProcessReading) -> [MetricFamily] {
        [
            .counter(
                "process_cpu_seconds_total", "User and system time.",
                [MetricSample(value: .real(process.processorSeconds))]),
            .gauge("process_resident_memory_bytes", "Memory in use; pages of mapped shards count.", process.residentBytes),
            .gauge("process_virtual_memory_bytes", "Address space; mapped shards count in full.", process.virtualBytes),
            .gauge(
                "process_start_time_seconds", "Start of the process since 1970.",
                [MetricSample(value: .real(process.startSeconds))]),
            .gauge("process_threads", "Threads.", process.threads),
            .gauge("process_open_fds", "Open descriptors.", process.descriptors),
            .gauge("process_max_fds", "Descriptors that may be open.", process.mostDescriptors),
        ]
    }
}
