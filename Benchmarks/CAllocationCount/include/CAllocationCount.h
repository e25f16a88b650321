// Counts what a thread allocates. Where the C library is glibc, its allocating functions are replaced by ones that count and
// hand on to it; elsewhere, and under a sanitizer, nothing is counted.
#pragma once

/// 1 if allocations are counted here, else 0.
int callocationcount_works(void);

/// Allocations of the calling thread so far; growing an allocation counts as one.
unsigned long long callocationcount_allocations(void);

/// Bytes that those asked for.
unsigned long long callocationcount_bytes(void);
