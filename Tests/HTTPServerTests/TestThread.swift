// A plain thread for tests: blocking clients must not occupy the test runner's cooperative pool.

import Foundation

final class TestThread: Sendable {
    private let done = DispatchSemaphore(value: 0)

    init(_ body: @escaping @Sendable () -> Void) {
        let done = done
        let thread = Thread {
            body()
            done.signal()
        }
        thread.stackSize = 512 * 1024
        thread.start()
    }

    func join() { done.wait() }
    func detach() {}
}
