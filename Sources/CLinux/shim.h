#ifndef WAYSTATION_CLINUX_SHIM_H
#define WAYSTATION_CLINUX_SHIM_H

// What Swift's Glibc module lacks (sys/epoll.h, sys/eventfd.h, sys/signalfd.h, sys/timerfd.h), what it
// hides behind _GNU_SOURCE (accept4, pthread_setname_np, statx), and what is easier to spell in C (msghdr,
// packed structs). Only EventLoop imports this module.

#include <fcntl.h>
#include <linux/stat.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/un.h>

extern int accept4(int fd, struct sockaddr *address, socklen_t *length, int flags);
extern int statx(int folder, const char *path, int flags, unsigned int mask, struct statx *status);
extern int pthread_setname_np(pthread_t thread, const char *name);

// One readiness report: the caller's data word and the EPOLL* bits.
struct waystation_event {
  uint64_t data;
  uint32_t bits;
};

enum {
  WAYSTATION_EVENTS_PER_WAIT = 256,
};

// The bits as plain integers; in C they are an enumeration.
static const uint32_t waystation_epoll_in = EPOLLIN;
static const uint32_t waystation_epoll_out = EPOLLOUT;
static const uint32_t waystation_epoll_err = EPOLLERR;
static const uint32_t waystation_epoll_hup = EPOLLHUP;
static const uint32_t waystation_epoll_rdhup = EPOLLRDHUP;

static inline int waystation_epoll_create(void) { return epoll_create1(EPOLL_CLOEXEC); }

// Watches fd for both directions, edge-triggered.
static inline int waystation_epoll_add(int epoll, int fd, uint64_t data) {
  struct epoll_event event;
  memset(&event, 0, sizeof event);
  event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  event.data.u64 = data;
  return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

static inline int waystation_epoll_remove(int epoll, int fd) {
  struct epoll_event event;
  memset(&event, 0, sizeof event);
  return epoll_ctl(epoll, EPOLL_CTL_DEL, fd, &event);
}

// Waits for at most WAYSTATION_EVENTS_PER_WAIT reports; events must have room for them.
static inline int waystation_epoll_wait(int epoll, struct waystation_event *events,
                                        int timeout_ms) {
  struct epoll_event raw[WAYSTATION_EVENTS_PER_WAIT];
  int count = epoll_wait(epoll, raw, WAYSTATION_EVENTS_PER_WAIT, timeout_ms);
  for (int i = 0; i < count; i++) {
    events[i].data = raw[i].data.u64;
    events[i].bits = raw[i].events;
  }
  return count;
}

static inline int waystation_eventfd(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

static inline int waystation_signalfd(const sigset_t *signals) {
  return signalfd(-1, signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

static inline int waystation_clock_timer(void) {
  return timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);
}

// Has reads of the timer fail with ECANCELED once the clock is set; the timer itself never rings.
static inline int waystation_cancel_on_set(int timer) {
  const struct itimerspec never = {.it_value = {.tv_sec = INT64_MAX}};
  return timerfd_settime(timer, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, NULL);
}

static inline int waystation_socket(int family) {
  return socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

// The address of a Unix socket; length is that of path, at most 107 bytes.
static inline struct sockaddr_un waystation_unix_address(const char *path, size_t length) {
  struct sockaddr_un address;
  memset(&address, 0, sizeof address);
  address.sun_family = AF_UNIX;
  memcpy(address.sun_path, path, length < sizeof address.sun_path ? length : 0);
  return address;
}

static inline int waystation_bind_unix(int fd, const char *path, size_t length) {
  struct sockaddr_un address = waystation_unix_address(path, length);
  return bind(fd, (struct sockaddr *)&address, sizeof address);
}

static inline int waystation_connect_unix(int fd, const char *path, size_t length) {
  struct sockaddr_un address = waystation_unix_address(path, length);
  return connect(fd, (struct sockaddr *)&address, sizeof address);
}

// Sends a datagram to a Unix socket at a path, or, where the path begins with '@', in the abstract
// namespace (unix(7)); length is that of path, at most 107 bytes.
static inline ssize_t waystation_send_to_unix(int fd, const char *path, size_t length,
                                              const void *bytes, size_t count) {
  struct sockaddr_un address = waystation_unix_address(path, length);
  socklen_t address_length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
  if (length > 0 && path[0] == '@') {
    address.sun_path[0] = 0;
  } else {
    address_length += 1;  // The final NUL.
  }
  return sendto(fd, bytes, count, MSG_NOSIGNAL, (struct sockaddr *)&address, address_length);
}

static inline int waystation_datagram_socket(void) {
  return socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
}

static inline int waystation_accept(int fd, struct sockaddr_storage *address) {
  socklen_t length = sizeof *address;
  return accept4(fd, (struct sockaddr *)address, &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

static inline ssize_t waystation_receive(int fd, void *bytes, size_t count) {
  return recv(fd, bytes, count, MSG_DONTWAIT);
}

// Sends two buffers as one message; a closed peer is EPIPE, not SIGPIPE.
static inline ssize_t waystation_send(int fd, const void *first, size_t first_count,
                                      const void *second, size_t second_count) {
  struct iovec parts[2] = {
      {.iov_base = (void *)first, .iov_len = first_count},
      {.iov_base = (void *)second, .iov_len = second_count},
  };
  struct msghdr message;
  memset(&message, 0, sizeof message);
  message.msg_iov = parts;
  message.msg_iovlen = second_count > 0 ? 2 : 1;
  return sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

// Milliseconds since the last data came in on a TCP connection, read or not; -1 where the kernel
// does not tell.
static inline int64_t waystation_ms_since_data(int fd) {
  struct tcp_info info;
  socklen_t length = sizeof info;
  if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) < 0) return -1;
  return info.tcpi_last_data_recv;
}

// What tells a file from every other one that exists at the same time: see inode(7).
struct waystation_file_place {
  uint64_t device;
  uint64_t inode;
};

// Asks for no times of the file, unlike stat(2).
static inline int waystation_look_at(const char *path, struct waystation_file_place *place) {
  struct statx status;
  if (statx(AT_FDCWD, path, 0, STATX_INO, &status) != 0) return -1;
  place->device = (uint64_t)status.stx_dev_major << 32 | status.stx_dev_minor;
  place->inode = status.stx_ino;
  return 0;
}

static inline int waystation_name_thread(pthread_t thread, const char *name) {
  return pthread_setname_np(thread, name);
}

#endif
