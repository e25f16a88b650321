// Linux calls that Swift's Glibc module does not import, and socket calls in a form without pointers to sockaddr.
// Functions that can fail return a negative errno, so that no other call can change it in between.
// No _GNU_SOURCE here: it changes structures of the C library (fd_set) and would conflict with Swift's Glibc module.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/mman.h>
#include <sys/file.h>
#include <netinet/tcp.h>
#include <signal.h>

/// accept4(2) with SOCK_NONBLOCK | SOCK_CLOEXEC.
int clinux_accept(int listener, struct sockaddr *address, socklen_t *length);

/// An internet address. IPv4: `low` holds the 32 bits, `high` is 0. IPv6: the 128 bits, most significant first.
typedef struct {
    uint64_t high, low;
    uint32_t scope;
    uint16_t port;
    uint8_t version; // 4 or 6
} clinux_address;

/// Numeric or by name; fills at most `limit` addresses. Returns the count, or a negative EAI_ code.
int clinux_resolve(const char *host, uint16_t port, int passive, clinux_address *out, int limit);
/// Numeric only, IPv4 or IPv6; port 0. Returns 0, or -1 if the text is no address.
int clinux_parse_address(const char *text, clinux_address *out);
/// The address as text without port (`text` has at least 64 bytes).
void clinux_address_text(const clinux_address *address, char *text);

/// A non-blocking listening TCP socket; `bound` receives the real address. Returns the descriptor or -errno.
int clinux_listen(const clinux_address *address, int backlog, clinux_address *bound);
/// Takes over a listening TCP socket that another process opened: makes it non-blocking and close-on-exec. `bound` receives its
/// address. Returns 0, or -errno (-EINVAL: not a listening IPv4 or IPv6 stream socket).
int clinux_adopt_listener(int descriptor, clinux_address *bound);
/// Sends one datagram to a Unix socket; a path that begins with "@" is in the abstract name space. Returns 0 or -errno.
int clinux_send_datagram(const char *path, const void *bytes, size_t count);
/// Accepts one connection (non-blocking, TCP_NODELAY). Returns the descriptor or -errno.
int clinux_accept_address(int listener, clinux_address *peer);
/// Starts a non-blocking connection (TCP_NODELAY). Returns the descriptor or -errno; EINPROGRESS is not an error.
int clinux_connect(const clinux_address *address);
/// The pending error of a socket (SO_ERROR), 0 if none.
int clinux_socket_error(int descriptor);

/// recv(2) without blocking. Returns the count, 0 at the end, or -errno.
ptrdiff_t clinux_receive(int descriptor, void *bytes, size_t count);
/// send(2) without blocking and without SIGPIPE. `more` sets MSG_MORE. Returns the count or -errno.
ptrdiff_t clinux_send(int descriptor, const void *bytes, size_t count, int more);
/// shutdown(2) of the writing side.
void clinux_end_writing(int descriptor);
void clinux_close(int descriptor);

/// Waits until the descriptor is readable (1) and/or writable (2). Returns the mask that holds (4: error or hang-up),
/// 0 on timeout, or -errno.
int clinux_poll(int descriptor, int mask, int timeout_ms);

enum { CLINUX_READ = 1, CLINUX_WRITE = 2, CLINUX_FAILED = 4, CLINUX_PEER_ENDED = 8 };

/// One event of clinux_epoll_wait: `mask` of CLINUX_ values.
typedef struct {
    uint64_t id;
    uint32_t mask;
} clinux_event;

int clinux_epoll_create(void);
/// Registers (`existing` 0) or changes (`existing` 1) a descriptor, level-triggered. Returns 0 or -errno.
int clinux_epoll_set(int epoll, int descriptor, int existing, uint32_t mask, uint64_t id);
void clinux_epoll_remove(int epoll, int descriptor);
/// At most 256 events. Returns the count (0 when interrupted) or -errno.
int clinux_epoll_wait(int epoll, clinux_event *out, int limit, int timeout_ms);

/// A non-blocking eventfd. Returns the descriptor or -errno.
int clinux_eventfd(void);
void clinux_eventfd_signal(int descriptor);
void clinux_eventfd_clear(int descriptor);

/// Blocks all signals but the synchronous ones in the calling thread, so that the process's signals go to its main thread.
void clinux_block_signals(void);

/// Physical memory in bytes; 0 if unknown.
uint64_t clinux_physical_memory(void);
/// From now on blocks of at least so many bytes go back to the system as soon as they are freed. Left alone, glibc raises that bound
/// up to 32 MiB as it sees larger blocks freed, and keeps them for the next time in every thread's arena.
void clinux_return_blocks_from(int bytes);
/// Seconds since 1970.
int64_t clinux_unix_time(void);

enum { CLINUX_TEXT_FAILED = -1, CLINUX_TEXT_MALFORMED = -2, CLINUX_TEXT_TOO_LONG = -3 };

/// The TXT records in a DNS message (RFC 1035 4.1, 3.3.14), each as two bytes of length and its text. Returns the bytes written or a
/// CLINUX_TEXT_ value.
int clinux_parse_text_records(const uint8_t *message, int length, uint8_t *out, int capacity);
/// The TXT records of a name by the system's resolver, in the same form. Waits for it. 0 where there are none.
int clinux_text_records(const char *name, uint8_t *out, int capacity);
/// Whether the kernel's clock is disciplined by a time service: 1, 0, or -errno.
int clinux_clock_is_synchronised(void);
