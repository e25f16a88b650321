// The deadlines of one event loop's connections: a binary heap with late deletion. A connection has one deadline; moving
// it later costs nothing until the old entry comes up.

struct Deadlines {
    private struct Entry {
        let time: ContinuousClock.Instant
        let id: UInt64
    }

    private var heap: [Entry] = []

    var first: ContinuousClock.Instant? { heap.first?.time }

    mutating func add(_ time: ContinuousClock.Instant, _ id: UInt64) {
        heap.append(Entry(time: time, id: id))
        var child = heap.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            if heap[parent].time <= heap[child].time { break }
            heap.swapAt(parent, child)
            child = parent
        }
    }

    /// The earliest entry that is due.
    mutating func popDue(_ now: ContinuousClock.Instant) -> (time: ContinuousClock.Instant, id: UInt64)? {
        guard let first = heap.first, first.time <= now else { return nil }
        let last = heap.removeLast()
        guard !heap.isEmpty else { return (first.time, first.id) }
        heap[0] = last
        var parent = 0
        while true {
            let left = 2 * parent + 1
            var least = parent
            for child in [left, left + 1] where child < heap.count && heap[child].time < heap[least].time { least = child }
            if least == parent { break }
            heap.swapAt(parent, least)
            parent = least
        }
        return (first.time, first.id)
    }
}
