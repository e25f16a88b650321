// Certificates of a running server (service.md 5.2): read at start, again when the files change, and once a day, so that no
// key of a session ticket lives longer. What cannot be read leaves those in force.

import Dispatch
import HTTPCore
import Synchronization

/// Watches certificate files, and hands what was read to the front.
final class CertificateKeeper: Sendable {
    /// How often files are looked at. Polling, since it sees exchanged links and mounted secrets alike.
    static let interval: Duration = .seconds(2)
    /// The longest life of a context, and of its keys for session tickets.
    private static let longestLife: Duration = .seconds(24 * 3600)

    private struct State {
        var files: [TLSCertificateFiles]
        var current: TLSServerContext
        /// The last failure, and whether it was told.
        var failure: TLSError?
        var isTold = false
    }

    private let state: Mutex<State>
    private let log: any LogWriter
    private let install: @Sendable (TLSServerContext) -> Void

    /// Takes what is in force; `install` puts another context in force.
    init(
        files: [TLSCertificateFiles], current: TLSServerContext, log: any LogWriter,
        install: @escaping @Sendable (TLSServerContext) -> Void
    ) {
        state = Mutex(State(files: files, current: current))
        self.log = log
        self.install = install
    }

    /// Reads again if a file has changed or a day is over, or if `files` names others.
    func check(files: [TLSCertificateFiles]? = nil) {
        let outcome = state.withLock { state -> LogEvent? in
            let wanted = files ?? state.files
            let isOld = state.current.made.duration(to: .now) > Self.longestLife
            guard wanted != state.files || isOld || state.current.isOutdated else {
                state.failure = nil
                return nil
            }
            do throws(TLSError) {
                let fresh = try TLSServerContext(certificates: wanted)
                state = State(files: wanted, current: fresh)
                // Under the lock, so that of two at the same time the later one is in force.
                install(fresh)
                return .certificatesLoaded(count: wanted.count, expires: LogText.time(Int(fresh.expires)))
            } catch {
                // Between writing the certificate and writing the key they do not match: only what lasts is told.
                let lasts = state.failure == error || files != nil
                if state.failure == error, state.isTold { return nil }
                state.failure = error
                state.isTold = lasts
                return !lasts ? nil : .certificatesNotLoaded(reason: "\(error)")
            }
        }
        if let outcome { log.note(outcome) }
    }
}
