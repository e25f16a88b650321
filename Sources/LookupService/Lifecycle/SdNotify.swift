// Messages to the service manager, as sd_notify(3) describes them: one datagram with a field a line, to the socket that the
// environment names. Without such a socket nothing happens, so the program runs the same from a shell.

import Glibc
import HTTPCore

/// Tells the service manager how the server does.
public struct SdNotify: Sendable {
    /// How often a sign of life is expected; nil: not at all.
    public let watchdogInterval: Duration?
    private let socket: String?

    /// The manager that the environment names (`NOTIFY_SOCKET`, `WATCHDOG_USEC`, `WATCHDOG_PID`); none if it names none.
    ///
    /// - process: the own process id.
    public init(environment: [String: String], process: Int32 = getpid()) {
        let path = environment["NOTIFY_SOCKET"] ?? ""
        // "@" stands for the abstract name space; other forms (vsock) are for virtual machines.
        socket = (path.hasPrefix("/") || path.hasPrefix("@")) && path.utf8.count > 1 && path.utf8.count < 108 ? path : nil
        let isOurs = environment["WATCHDOG_PID"].map { Int32($0) == process } ?? true
        if socket != nil, isOurs, let text = environment["WATCHDOG_USEC"], let microseconds = Int64(text), microseconds > 0 {
            watchdogInterval = .microseconds(microseconds)
        } else {
            watchdogInterval = nil
        }
    }

    /// No manager.
    public static let none = SdNotify(environment: [:])

    /// Whether somebody listens.
    public var hasManager: Bool { socket != nil }

    /// Startup, or a reload, is complete.
    public func ready(_ status: String) { send(["READY=1", Self.status(status)]) }

    /// A reload begins; `ready` ends it. The manager compares the time with its own (Type=notify-reload).
    public func reloading() {
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC, &now)
        send(["RELOADING=1", "MONOTONIC_USEC=\(now.tv_sec * 1_000_000 + now.tv_nsec / 1000)"])
    }

    /// The server stops.
    public func stopping() { send(["STOPPING=1", Self.status("stopping: running requests end")]) }

    /// A line for `systemctl status`.
    public func status(_ text: String) { send([Self.status(text)]) }

    /// A sign of life.
    public func alive() { send(["WATCHDOG=1"]) }

    private static func status(_ text: String) -> String {
        "STATUS=" + String(String.UnicodeScalarView(text.unicodeScalars.map { $0.value < 0x20 ? " " : $0 }))
    }

    /// A manager that does not take a message is no reason to stop serving.
    private func send(_ fields: [String]) {
        guard let socket else { return }
        _ = Sockets.sendDatagram(Array(fields.joined(separator: "\n").utf8), to: socket)
    }
}
