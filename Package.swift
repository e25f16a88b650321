// swift-tools-version: 6.0
// The house of Veilring: one target per room. A target imports only what stands below it (CONTRIBUTING.md has the map,
// Tests/TidyTests enforces it). No outside Swift package: system libraries come from Debian (scripts/setup).

import PackageDescription

/// Lets generic code of the engine be specialised where it is used, in another room.
let acrossRooms: [SwiftSetting] = [.unsafeFlags(["-cross-module-optimization"], .when(configuration: .release))]

let package = Package(
    name: "veilring",
    products: [
        .executable(name: "veilring", targets: ["veilring"]),
        .executable(name: "veilring-bench", targets: ["veilring-bench"]),
    ],
    targets: [
        // C bridges: the only doors to system libraries.
        .systemLibrary(name: "COpenSSL", path: "Sources/COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CSQLite", path: "Sources/CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .systemLibrary(
            name: "CNghttp2", path: "Sources/CNghttp2", pkgConfig: "libnghttp2", providers: [.apt(["libnghttp2-dev"])]),
        .target(name: "CLinux", path: "Sources/CLinux", linkerSettings: [.linkedLibrary("resolv")]),
        .target(
            name: "CPhoneNumber", path: "Sources/CPhoneNumber",
            linkerSettings: [.linkedLibrary("phonenumber"), .linkedLibrary("protobuf")]),

        // Ground floor.
        // The hot loops, one source (Sources/RingKernelsAVX2 is a symlink to Sources/RingKernels), two instruction sets.
        .target(
            name: "RingKernels", dependencies: ["CProcessor"],
            swiftSettings: [.unsafeFlags(["-Ounchecked"], .when(configuration: .release))]),
        .target(
            name: "RingKernelsAVX2", dependencies: ["CProcessor"],
            swiftSettings: [
                .unsafeFlags(["-Ounchecked"], .when(configuration: .release)), .unsafeFlags(["-Xcc", "-mavx2"]),
                .define("RING_KERNELS_AVX2"),
            ]),
        .target(name: "CProcessor"),
        .target(
            name: "RingMath", dependencies: ["RingKernels", "RingKernelsAVX2", "CProcessor"], swiftSettings: acrossRooms),
        .target(name: "Protobuf"),
        .target(name: "Cryptography", dependencies: ["COpenSSL"]),

        // First floor.
        .target(name: "BFV", dependencies: ["RingMath", "Cryptography"], swiftSettings: acrossRooms),
        .target(name: "LookupMessages", dependencies: ["Protobuf"]),

        // Second floor.
        .target(
            name: "KeywordPIR", dependencies: ["BFV", "RingMath", "LookupMessages", "Protobuf", "Cryptography"]),
        .target(name: "PrivacyPass", dependencies: ["Cryptography"]),
        .target(name: "ObliviousHTTP", dependencies: ["Cryptography"]),
        .target(name: "HTTPCore", dependencies: ["COpenSSL", "CNghttp2", "CLinux"]),

        // Third floor.
        .target(
            name: "CallerDirectory",
            dependencies: [
                "KeywordPIR", "PrivacyPass", "BFV", "RingMath", "LookupMessages", "Protobuf", "Cryptography", "CPhoneNumber",
                "CLinux",
            ]),
        .target(name: "HTTPServer", dependencies: ["HTTPCore", "CLinux"]),
        .target(name: "HTTPClient", dependencies: ["HTTPCore", "CLinux"]),
        .target(name: "StateStore", dependencies: ["CSQLite"]),

        // Fourth floor.
        .target(
            name: "LookupService",
            dependencies: [
                "CallerDirectory", "HTTPServer", "HTTPClient", "HTTPCore", "StateStore", "KeywordPIR", "PrivacyPass",
                "ObliviousHTTP", "BFV",
                "LookupMessages", "Protobuf", "Cryptography",
            ]),
        .target(
            name: "DeviceClient",
            dependencies: [
                "HTTPClient", "HTTPCore", "KeywordPIR", "PrivacyPass", "ObliviousHTTP", "BFV", "LookupMessages", "Protobuf",
                "Cryptography",
            ]),

        // Fifth floor.
        .target(
            name: "DeploymentCheck",
            dependencies: [
                "LookupService", "DeviceClient", "CallerDirectory", "HTTPClient", "HTTPCore", "KeywordPIR",
                "PrivacyPass", "ObliviousHTTP", "LookupMessages", "Protobuf", "Cryptography", "CLinux",
            ]),

        // Roof.
        .executableTarget(
            name: "veilring",
            dependencies: [
                "DeploymentCheck", "LookupService", "DeviceClient", "CallerDirectory", "HTTPServer", "HTTPClient", "HTTPCore",
                "StateStore",
                "KeywordPIR", "PrivacyPass", "ObliviousHTTP", "BFV", "LookupMessages", "Cryptography",
            ]),

        .target(name: "CAllocationCount", path: "Benchmarks/CAllocationCount"),
        .executableTarget(
            name: "veilring-bench",
            dependencies: [
                "LookupService", "CallerDirectory", "HTTPServer", "HTTPCore", "StateStore", "KeywordPIR", "PrivacyPass",
                "ObliviousHTTP", "BFV", "RingMath", "LookupMessages", "Cryptography", "CAllocationCount",
            ],
            path: "Benchmarks/veilring-bench"),

        // The readers of hostile bytes with what must hold for any input: the fuzzer and a replay test run them.
        .target(
            name: "HostileInput",
            dependencies: [
                "CallerDirectory", "HTTPCore", "ObliviousHTTP", "KeywordPIR", "BFV", "RingMath", "LookupMessages", "Protobuf",
                "Cryptography",
            ],
            path: "Fuzzing/HostileInput"),
        .testTarget(name: "HostileInputTests", dependencies: ["HostileInput", "HTTPCore", "ObliviousHTTP"]),

        // What several test targets share.
        .target(name: "TestCertificates", path: "Tests/Support/TestCertificates"),
        .target(name: "TestVectors", path: "Tests/Support/TestVectors"),
        .target(name: "TestOracles", path: "Tests/Support/TestOracles"),

        .testTarget(name: "TidyTests"),
        .testTarget(
            name: "RingMathTests", dependencies: ["RingMath", "RingKernels", "RingKernelsAVX2", "CProcessor", "TestVectors"]),
        .testTarget(name: "ProtobufTests", dependencies: ["Protobuf"]),
        .testTarget(name: "CryptographyTests", dependencies: ["Cryptography", "TestVectors"]),
        .testTarget(
            name: "BFVTests", dependencies: ["BFV", "RingMath", "Cryptography", "LookupMessages", "Protobuf", "TestVectors"]),
        .testTarget(name: "LookupMessagesTests", dependencies: ["LookupMessages", "Protobuf", "TestVectors"]),
        .testTarget(
            name: "KeywordPIRTests",
            dependencies: ["KeywordPIR", "BFV", "RingMath", "LookupMessages", "Protobuf", "Cryptography", "TestVectors"]),
        .testTarget(name: "PrivacyPassTests", dependencies: ["PrivacyPass", "Cryptography", "TestVectors", "TestOracles"]),
        .testTarget(name: "ObliviousHTTPTests", dependencies: ["ObliviousHTTP", "Cryptography", "TestVectors", "TestOracles"]),
        .testTarget(name: "HTTPCoreTests", dependencies: ["HTTPCore", "TestCertificates"]),
        .testTarget(name: "HTTPServerTests", dependencies: ["HTTPServer", "HTTPClient", "HTTPCore", "TestCertificates"]),
        .testTarget(name: "HTTPClientTests", dependencies: ["HTTPClient", "HTTPServer", "HTTPCore", "TestCertificates"]),
        .testTarget(name: "StateStoreTests", dependencies: ["StateStore"]),
        .testTarget(
            name: "CallerDirectoryTests",
            dependencies: ["CallerDirectory", "KeywordPIR", "LookupMessages", "Protobuf", "BFV", "Cryptography", "TestVectors"]),
        .testTarget(
            name: "LookupServiceTests",
            dependencies: [
                "LookupService", "CallerDirectory", "DeviceClient", "HTTPServer", "HTTPClient", "HTTPCore", "StateStore",
                "KeywordPIR", "PrivacyPass", "ObliviousHTTP", "LookupMessages", "Protobuf", "Cryptography", "TestCertificates",
                "TestOracles",
                // The relay before the gateway.
                "veilring",
            ]),
        .testTarget(name: "DeviceClientTests", dependencies: ["DeviceClient", "HTTPClient", "HTTPCore", "LookupMessages"]),
        .testTarget(
            name: "DeploymentCheckTests",
            dependencies: [
                "DeploymentCheck", "LookupService", "CallerDirectory", "DeviceClient", "HTTPServer", "HTTPClient", "HTTPCore",
                "StateStore", "PrivacyPass", "ObliviousHTTP", "LookupMessages", "TestCertificates",
            ]),
        .testTarget(
            name: "veilringTests", dependencies: ["veilring", "CallerDirectory", "DeviceClient", "HTTPCore", "LookupMessages"]),
        .testTarget(name: "VeilringBenchTests", dependencies: ["veilring-bench", "KeywordPIR", "LookupMessages"]),
    ],
    swiftLanguageModes: [.v6],
    cxxLanguageStandard: .cxx17
)

// Only scripts/fuzz asks for the fuzzer: it links with the libFuzzer of the toolchain and with nothing else.
if Context.environment["VEILRING_FUZZ"] == "1" {
    package.products.append(.executable(name: "veilring-fuzz", targets: ["veilring-fuzz"]))
    package.targets.append(
        .executableTarget(name: "veilring-fuzz", dependencies: ["HostileInput"], path: "Fuzzing/veilring-fuzz"))
}
