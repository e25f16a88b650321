// The bridge's functions; described in CLinux.h.
#define _GNU_SOURCE
#include "CLinux.h"
#include <arpa/inet.h>
#include <arpa/nameser.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <resolv.h>
#include <stdio.h>
#include <string.h>
#include <sys/timex.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

int clinux_accept(int listener, struct sockaddr *address, socklen_t *length) {
    return accept4(listener, address, length, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

static uint64_t read_be64(const uint8_t *b) {
    uint64_t v = 0;
    for (int i = 0; i < 8; i++) v = v << 8 | b[i];
    return v;
}

static void write_be64(uint8_t *b, uint64_t v) {
    for (int i = 7; i >= 0; i--, v >>= 8) b[i] = (uint8_t)v;
}

static int from_sockaddr(const struct sockaddr_storage *s, clinux_address *out) {
    memset(out, 0, sizeof *out);
    if (s->ss_family == AF_INET) {
        const struct sockaddr_in *in = (const struct sockaddr_in *)s;
        out->version = 4;
        out->low = ntohl(in->sin_addr.s_addr);
        out->port = ntohs(in->sin_port);
        return 0;
    }
    if (s->ss_family == AF_INET6) {
        const struct sockaddr_in6 *in = (const struct sockaddr_in6 *)s;
        out->version = 6;
        out->high = read_be64(in->sin6_addr.s6_addr);
        out->low = read_be64(in->sin6_addr.s6_addr + 8);
        out->port = ntohs(in->sin6_port);
        out->scope = in->sin6_scope_id;
        return 0;
    }
    return -EAFNOSUPPORT;
}

static socklen_t to_sockaddr(const clinux_address *a, struct sockaddr_storage *s) {
    memset(s, 0, sizeof *s);
    if (a->version == 6) {
        struct sockaddr_in6 *in = (struct sockaddr_in6 *)s;
        in->sin6_family = AF_INET6;
        in->sin6_port = htons(a->port);
        in->sin6_scope_id = a->scope;
        write_be64(in->sin6_addr.s6_addr, a->high);
        write_be64(in->sin6_addr.s6_addr + 8, a->low);
        return sizeof *in;
    }
    struct sockaddr_in *in = (struct sockaddr_in *)s;
    in->sin_family = AF_INET;
    in->sin_port = htons(a->port);
    in->sin_addr.s_addr = htonl((uint32_t)a->low);
    return sizeof *in;
}

int clinux_resolve(const char *host, uint16_t port, int passive, clinux_address *out, int limit) {
    struct addrinfo hints, *list = NULL;
    char service[8];
    memset(&hints, 0, sizeof hints);
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICSERV | (passive ? AI_PASSIVE : 0);
    snprintf(service, sizeof service, "%u", (unsigned)port);
    int code = getaddrinfo(host[0] ? host : NULL, service, &hints, &list);
    if (code != 0) return code < 0 ? code : -code;
    int count = 0;
    for (struct addrinfo *i = list; i && count < limit; i = i->ai_next) {
        struct sockaddr_storage s;
        if (i->ai_addrlen > sizeof s) continue;
        memset(&s, 0, sizeof s);
        memcpy(&s, i->ai_addr, i->ai_addrlen);
        if (from_sockaddr(&s, &out[count]) == 0) count++;
    }
    freeaddrinfo(list);
    return count;
}

int clinux_parse_address(const char *text, clinux_address *out) {
    uint8_t b[16];
    memset(out, 0, sizeof *out);
    if (inet_pton(AF_INET, text, b) == 1) {
        out->version = 4;
        out->low = (uint64_t)b[0] << 24 | (uint64_t)b[1] << 16 | (uint64_t)b[2] << 8 | b[3];
        return 0;
    }
    if (inet_pton(AF_INET6, text, b) == 1) {
        out->version = 6;
        out->high = read_be64(b);
        out->low = read_be64(b + 8);
        return 0;
    }
    return -1;
}

void clinux_address_text(const clinux_address *address, char *text) {
    if (address->version == 6) {
        uint8_t b[16];
        write_be64(b, address->high);
        write_be64(b + 8, address->low);
        if (!inet_ntop(AF_INET6, b, text, 64)) text[0] = 0;
    } else {
        struct in_addr in = { htonl((uint32_t)address->low) };
        if (!inet_ntop(AF_INET, &in, text, 64)) text[0] = 0;
    }
}

int clinux_listen(const clinux_address *address, int backlog, clinux_address *bound) {
    struct sockaddr_storage s;
    socklen_t length = to_sockaddr(address, &s);
    int fd = socket(s.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return -errno;
    int one = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (address->version == 6) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one);
    struct sockaddr_storage b;
    socklen_t blength = sizeof b;
    if (bind(fd, (struct sockaddr *)&s, length) != 0 || listen(fd, backlog) != 0
        || getsockname(fd, (struct sockaddr *)&b, &blength) != 0) {
        int code = errno;
        close(fd);
        return -code;
    }
    from_sockaddr(&b, bound);
    return fd;
}

int clinux_adopt_listener(int descriptor, clinux_address *bound) {
    int type = 0, listening = 0;
    socklen_t length = sizeof type;
    if (getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &length) != 0) return -errno;
    length = sizeof listening;
    if (getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listening, &length) != 0) return -errno;
    struct sockaddr_storage b;
    socklen_t blength = sizeof b;
    if (getsockname(descriptor, (struct sockaddr *)&b, &blength) != 0) return -errno;
    if (type != SOCK_STREAM || !listening || from_sockaddr(&b, bound) != 0) return -EINVAL;
    int flags = fcntl(descriptor, F_GETFL);
    if (flags < 0 || fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) != 0) return -errno;
    return fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0 ? 0 : -errno;
}

int clinux_send_datagram(const char *path, const void *bytes, size_t count) {
    struct sockaddr_un address;
    memset(&address, 0, sizeof address);
    address.sun_family = AF_UNIX;
    size_t length = strlen(path);
    if (length < 2 || length >= sizeof address.sun_path) return -EINVAL;
    memcpy(address.sun_path, path, length);
    if (path[0] == '@') address.sun_path[0] = 0;
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return -errno;
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + (path[0] == '@' ? 0 : 1));
    ptrdiff_t sent = sendto(fd, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT, (struct sockaddr *)&address, size);
    int code = sent < 0 ? errno : 0;
    close(fd);
    return -code;
}

int clinux_accept_address(int listener, clinux_address *peer) {
    struct sockaddr_storage s;
    socklen_t length = sizeof s;
    memset(&s, 0, sizeof s);
    int fd = accept4(listener, (struct sockaddr *)&s, &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return -errno;
    from_sockaddr(&s, peer);
    int one = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return fd;
}

int clinux_connect(const clinux_address *address) {
    struct sockaddr_storage s;
    socklen_t length = to_sockaddr(address, &s);
    int fd = socket(s.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return -errno;
    int one = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (connect(fd, (struct sockaddr *)&s, length) != 0 && errno != EINPROGRESS) {
        int code = errno;
        close(fd);
        return -code;
    }
    return fd;
}

int clinux_socket_error(int descriptor) {
    int code = 0;
    socklen_t length = sizeof code;
    if (getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &length) != 0) return errno;
    return code;
}

ptrdiff_t clinux_receive(int descriptor, void *bytes, size_t count) {
    ssize_t n;
    do n = recv(descriptor, bytes, count, MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : n;
}

ptrdiff_t clinux_send(int descriptor, const void *bytes, size_t count, int more) {
    ssize_t n;
    do n = send(descriptor, bytes, count, MSG_DONTWAIT | MSG_NOSIGNAL | (more ? MSG_MORE : 0));
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : n;
}

void clinux_end_writing(int descriptor) { shutdown(descriptor, SHUT_WR); }

void clinux_close(int descriptor) { close(descriptor); }

int clinux_poll(int descriptor, int mask, int timeout_ms) {
    struct pollfd p = { descriptor, 0, 0 };
    if (mask & CLINUX_READ) p.events |= POLLIN;
    if (mask & CLINUX_WRITE) p.events |= POLLOUT;
    int n = poll(&p, 1, timeout_ms);
    if (n < 0) return errno == EINTR ? 0 : -errno;
    int out = 0;
    if (p.revents & POLLIN) out |= CLINUX_READ;
    if (p.revents & POLLOUT) out |= CLINUX_WRITE;
    if (p.revents & (POLLERR | POLLHUP | POLLNVAL)) out |= CLINUX_FAILED;
    return out;
}

int clinux_epoll_create(void) {
    int fd = epoll_create1(EPOLL_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

int clinux_epoll_set(int epoll, int descriptor, int existing, uint32_t mask, uint64_t id) {
    struct epoll_event e;
    memset(&e, 0, sizeof e);
    if (mask & CLINUX_READ) e.events |= EPOLLIN;
    if (mask & CLINUX_WRITE) e.events |= EPOLLOUT;
    if (mask & CLINUX_PEER_ENDED) e.events |= EPOLLRDHUP;
    e.data.u64 = id;
    return epoll_ctl(epoll, existing ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, descriptor, &e) == 0 ? 0 : -errno;
}

void clinux_epoll_remove(int epoll, int descriptor) {
    struct epoll_event e;
    memset(&e, 0, sizeof e);
    epoll_ctl(epoll, EPOLL_CTL_DEL, descriptor, &e);
}

int clinux_epoll_wait(int epoll, clinux_event *out, int limit, int timeout_ms) {
    struct epoll_event e[256];
    int n = epoll_wait(epoll, e, limit < 256 ? limit : 256, timeout_ms);
    if (n < 0) return errno == EINTR ? 0 : -errno;
    for (int i = 0; i < n; i++) {
        out[i].id = e[i].data.u64;
        out[i].mask = 0;
        if (e[i].events & EPOLLIN) out[i].mask |= CLINUX_READ;
        if (e[i].events & EPOLLOUT) out[i].mask |= CLINUX_WRITE;
        if (e[i].events & (EPOLLERR | EPOLLHUP)) out[i].mask |= CLINUX_FAILED;
        if (e[i].events & EPOLLRDHUP) out[i].mask |= CLINUX_PEER_ENDED;
    }
    return n;
}

int clinux_eventfd(void) {
    int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

void clinux_eventfd_signal(int descriptor) {
    uint64_t one = 1;
    ssize_t n;
    do n = write(descriptor, &one, sizeof one);
    while (n < 0 && errno == EINTR);
}

void clinux_eventfd_clear(int descriptor) {
    uint64_t value;
    ssize_t n;
    do n = read(descriptor, &value, sizeof value);
    while (n < 0 && errno == EINTR);
}

void clinux_block_signals(void) {
    sigset_t all;
    sigfillset(&all);
    sigdelset(&all, SIGSEGV);
    sigdelset(&all, SIGBUS);
    sigdelset(&all, SIGFPE);
    sigdelset(&all, SIGILL);
    sigdelset(&all, SIGTRAP);
    sigdelset(&all, SIGABRT);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
}

uint64_t clinux_physical_memory(void) {
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : 0;
}

void clinux_return_blocks_from(int bytes) {
#ifdef __GLIBC__
    // The second one is what glibc would set beside the first; without it the ends of arenas would go back and forth.
    mallopt(M_MMAP_THRESHOLD, bytes);
    mallopt(M_TRIM_THRESHOLD, 2 * bytes);
#else
    (void)bytes;
#endif
}

int64_t clinux_unix_time(void) { return (int64_t)time(NULL); }

int clinux_parse_text_records(const uint8_t *message, int length, uint8_t *out, int capacity) {
    ns_msg parsed;
    if (ns_initparse(message, length, &parsed) != 0) return CLINUX_TEXT_MALFORMED;
    int written = 0;
    for (int index = 0; index < ns_msg_count(parsed, ns_s_an); index++) {
        ns_rr record;
        if (ns_parserr(&parsed, ns_s_an, index, &record) != 0) return CLINUX_TEXT_MALFORMED;
        if (ns_rr_type(record) != ns_t_txt) continue; // an alias on the way
        const uint8_t *data = ns_rr_rdata(record);
        int left = ns_rr_rdlen(record), start = written;
        if (written + 2 > capacity) return CLINUX_TEXT_TOO_LONG;
        written += 2;
        while (left > 0) { // strings of a record belong together (RFC 1035 3.3.14)
            int count = *data++;
            if (count > --left) return CLINUX_TEXT_MALFORMED;
            if (written + count > capacity) return CLINUX_TEXT_TOO_LONG;
            memcpy(out + written, data, (size_t)count);
            written += count, data += count, left -= count;
        }
        int total = written - start - 2;
        out[start] = (uint8_t)(total >> 8), out[start + 1] = (uint8_t)total;
    }
    return written;
}

int clinux_text_records(const char *name, uint8_t *out, int capacity) {
    struct __res_state state;
    uint8_t message[65536];
    memset(&state, 0, sizeof state);
    if (res_ninit(&state) != 0) return CLINUX_TEXT_FAILED;
    // Absolute: the search list of this machine is not the phone's.
    state.options &= ~(unsigned long)(RES_DNSRCH | RES_DEFNAMES);
    int length = res_nquery(&state, name, ns_c_in, ns_t_txt, message, sizeof message);
    int reason = state.res_h_errno;
    res_nclose(&state);
    if (length < 0) return reason == HOST_NOT_FOUND || reason == NO_DATA ? 0 : CLINUX_TEXT_FAILED;
    return clinux_parse_text_records(message, length > (int)sizeof message ? (int)sizeof message : length, out, capacity);
}

int clinux_clock_is_synchronised(void) {
    struct timex state;
    memset(&state, 0, sizeof state);
    int result = adjtimex(&state);
    if (result < 0) return -errno;
    return result != TIME_ERROR && !(state.status & STA_UNSYNC);
}
