// A thread that does one piece of work after the other, at a priority of its own: nice(2) holds for each thread on Linux, so
// computing gives way to the event loops, which answer in microseconds (issue 4; field case F55).

import Dispatch
import Glibc
import Synchronization

/// A thread that waits for work. Its owner hands it one job at a time and calls `end` last.
final class WorkThread: Sendable {
    /// What thread and owner share.
    private final class Inbox: Sendable {
        private let jobs = Mutex<[(@Sendable () -> Void)?]>([])
        private let arrived = DispatchSemaphore(value: 0)

        func put(_ job: (@Sendable () -> Void)?) {
            jobs.withLock { $0.append(job) }
            arrived.signal()
        }

        /// Waits for a job; nil: no more come.
        func take() -> (@Sendable () -> Void)? {
            arrived.wait()
            return jobs.withLock { $0.isEmpty ? nil : $0.removeFirst() }
        }
    }

    /// What crosses pthread_create(3).
    private final class Body {
        let inbox: Inbox
        let niceness: Int

        init(inbox: Inbox, niceness: Int) {
            self.inbox = inbox
            self.niceness = niceness
        }
    }

    private let inbox = Inbox()
    /// Where jobs run if the system gave no thread.
    private let substitute: DispatchQueue?

    /// - niceness: steps by which the thread gives way to others, 0 … 19.
    init(name: String, niceness: Int) {
        var thread = pthread_t()
        let body = Unmanaged.passRetained(Body(inbox: inbox, niceness: min(max(niceness, 0), 19)))
        let code = pthread_create(
            &thread, nil,
            { raw in
                guard let raw else { return nil }
                let body = Unmanaged<Body>.fromOpaque(raw).takeRetainedValue()
                // `0` is the calling thread on Linux. Refused or not, the work is done.
                if body.niceness > 0 { _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, Int32(body.niceness)) }
                let inbox = body.inbox
                while let job = inbox.take() { job() }
                return nil
            }, body.toOpaque())
        if code == 0 {
            pthread_detach(thread)
            substitute = nil
        } else {
            body.release()
            substitute = DispatchQueue(label: name)
        }
    }

    /// Runs a job after those before it.
    func run(_ job: @escaping @Sendable () -> Void) {
        if let substitute { substitute.async(execute: job) } else { inbox.put(job) }
    }

    /// Ends the thread after the jobs that it has.
    func end() { if substitute == nil { inbox.put(nil) } }
}
