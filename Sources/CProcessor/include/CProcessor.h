// What the processor can do: asked once at start to choose the kernels; and a hint that Swift has no word for.
#pragma once

/// 1 if this processor and its operating system can run AVX2 code, else 0.
int cprocessor_has_avx2(void);

/// Asks for the cache line at `address`, which will be read soon, into the second-level cache. Never fails, wherever that is.
static inline __attribute__((always_inline)) void cprocessor_prefetch(const void *address) { __builtin_prefetch(address, 0, 2); }

/// The same for what is read at once, into the first-level cache.
static inline __attribute__((always_inline)) void cprocessor_prefetch_near(const void *address) { __builtin_prefetch(address, 0, 3); }
