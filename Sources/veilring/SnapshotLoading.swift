// From the versions that `build` published to what the service answers from.

import CallerDirectory
import LookupService

/// The seam between data folder and service: gives the newest version and the retained ones, or says why not.
@Sendable func loadSnapshot(_ configuration: VeilringConfiguration) throws -> ServiceSnapshot {
    throw NothingBuilt(folder: configuration.data)
}

/// The data folder holds no version.
struct NothingBuilt: Error, CustomStringConvertible {
    var folder: String
    var description: String { "\(folder) holds no version to serve: run `veilring build` first" }
}
