#include "CAllocationCount.h"

#include <errno.h>
#include <stddef.h>

// A sanitizer brings allocating functions of its own, and must keep them.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HAS_SANITIZER
#endif
#endif

#if defined(__GLIBC__) && !defined(HAS_SANITIZER)

// Functions of the executable come before those of the C library, also for its own shared libraries. The memory is glibc's,
// so its free() stays as it is. One counter for each thread: counting needs no lock, and other threads do not disturb it.
static _Thread_local unsigned long long allocations, bytes;

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static void count(size_t size) {
    allocations += 1;
    bytes += size;
}

void *malloc(size_t size) {
    count(size);
    return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
    count(number * size);
    return __libc_calloc(number, size);
}

void *realloc(void *old, size_t size) {
    count(size);
    return __libc_realloc(old, size);
}

void *memalign(size_t alignment, size_t size) {
    count(size);
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    count(size);
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size) {
    if (alignment < sizeof(void *) || (alignment & (alignment - 1)) != 0) return EINVAL;
    count(size);
    void *memory = __libc_memalign(alignment, size);
    if (memory == NULL) return ENOMEM;
    *out = memory;
    return 0;
}

int callocationcount_works(void) { return 1; }
unsigned long long callocationcount_allocations(void) { return allocations; }
unsigned long long callocationcount_bytes(void) { return bytes; }

#else

int callocationcount_works(void) { return 0; }
unsigned long long callocationcount_allocations(void) { return 0; }
unsigned long long callocationcount_bytes(void) { return 0; }

#endif
