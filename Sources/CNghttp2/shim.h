// The part of libnghttp2 that HTTPCore's HTTP/2 uses.
#pragma once
#include <nghttp2/nghttp2.h>

// Two of the measures against floods came late (upstream 1.57 and 1.61; Debian carries them from 1.52.0-1+deb12u2 on). HTTPCore
// calls both, and a library without them stops the build here, where the reason can be read.
static inline void cnghttp2_needs_flood_protection(nghttp2_option *option) {
    nghttp2_option_set_stream_reset_rate_limit(option, 1000, 33);
    nghttp2_option_set_max_continuations(option, 8);
}
