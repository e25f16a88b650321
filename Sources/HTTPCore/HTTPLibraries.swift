// Which libraries are in use at run time.

import CNghttp2
import COpenSSL

/// Versions of the libraries behind HTTP.
public enum HTTPLibraries {
    /// OpenSSL: major, minor, patch.
    public static var openSSL: [Int] {
        [Int(OPENSSL_version_major()), Int(OPENSSL_version_minor()), Int(OPENSSL_version_patch())]
    }

    /// nghttp2: major, minor, patch.
    public static var nghttp2: [Int] {
        guard let number = nghttp2_version(0)?.pointee.version_num else { return [] }
        return [Int(number >> 16), Int(number >> 8 & 0xFF), Int(number & 0xFF)]
    }
}
