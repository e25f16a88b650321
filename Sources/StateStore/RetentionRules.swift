// Which keys stay and which go, the same for every driver (service.md 1.10).

/// The timestamps that an upload displaces among those stored for the same user and configuration: its equal; else, when two
/// are stored, everything but the newest of the three and the upload itself.
func timestampsToReplace(present: [UInt64], upload: UInt64) -> [UInt64] {
    if present.contains(upload) { return [upload] }
    guard present.count >= 2, let newest = present.max() else { return [] }
    // The newest stored key survives every upload: a single hostile one, whatever its timestamp, cannot push it out.
    return present.filter { $0 != newest }
}

/// A key that was last used before this time is idle. Saturates, so that no clock can make it trap.
func idleBoundary(at now: Int64, limits: EvaluationKeyLimits) -> Int64 {
    let (boundary, overflow) = now.subtractingReportingOverflow(limits.maxIdleSeconds)
    return overflow ? Int64.min : boundary
}
