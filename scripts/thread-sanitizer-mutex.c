// Tells ThreadSanitizer about Swift's Mutex on Linux; scripts/sanitize preloads it into the tests.
// An uncontended lock or unlock is compiled into the caller, where ThreadSanitizer sees it. A contended one is done by
// libswiftSynchronization, which is not instrumented, so that every wait for a Mutex would be reported as a race.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>

extern void __tsan_acquire(void *address) __attribute__((weak));
extern void __tsan_release(void *address) __attribute__((weak));

#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define TRY_LOCK "$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context)) void *self

typedef SWIFT void (*lock_function)(uint32_t thread, SELF);
typedef SWIFT _Bool (*try_function)(SELF);
typedef SWIFT void (*unlock_function)(SELF);

SWIFT void lock_slow(uint32_t thread, SELF) __asm__(LOCK);
SWIFT void lock_slow(uint32_t thread, SELF) {
    ((lock_function)dlsym(RTLD_NEXT, LOCK))(thread, self);
    if (__tsan_acquire) __tsan_acquire(self);
}

SWIFT _Bool try_lock_slow(SELF) __asm__(TRY_LOCK);
SWIFT _Bool try_lock_slow(SELF) {
    _Bool locked = ((try_function)dlsym(RTLD_NEXT, TRY_LOCK))(self);
    if (locked && __tsan_acquire) __tsan_acquire(self);
    return locked;
}

SWIFT void unlock_slow(SELF) __asm__(UNLOCK);
SWIFT void unlock_slow(SELF) {
    if (__tsan_release) __tsan_release(self);
    ((unlock_function)dlsym(RTLD_NEXT, UNLOCK))(self);
}
