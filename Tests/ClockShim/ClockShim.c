#define _GNU_SOURCE
#include "ClockShim.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static const _Atomic int64_t *control;
static const char *control_path;
// The timer that hears of the clock being set; -1 if there is none.
static _Atomic int timer = -1;

__attribute__((constructor)) static void open_control(void) {
  const char *path = getenv("WAYSTATION_CLOCK_CONTROL");
  if (!path) return;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  void *map = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, fd, 0);
  close(fd);
  if (map != MAP_FAILED) control = map;
  if (control) control_path = path;
}

static int64_t offset(void) { return control ? atomic_load(control) : 0; }

int clock_gettime(clockid_t clock, struct timespec *time) {
  // Not by dlsym: that could come to read a clock before there is anything to find.
  int result = (int)syscall(SYS_clock_gettime, clock, time);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
    time->tv_sec += offset();
  return result;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
  int result = (int)syscall(SYS_gettimeofday, time, zone);
  if (result == 0) time->tv_sec += offset();
  return result;
}

time_t time(time_t *store) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (store) *store = now.tv_sec;
  return now.tv_sec;
}

// A timer by the clock that can be set: what makes it readable is that somebody writes to the control
// file, as setting the clock does to a real one with TFD_TIMER_CANCEL_ON_SET.
int timerfd_create(int clock, int flags) {
  if (!control_path || clock != CLOCK_REALTIME)
    return (int)syscall(SYS_timerfd_create, clock, flags);
  // The flags of both are O_CLOEXEC and O_NONBLOCK.
  int fd = inotify_init1(flags);
  if (fd < 0) return fd;
  if (inotify_add_watch(fd, control_path, IN_MODIFY) < 0) {
    syscall(SYS_close, fd);
    return -1;
  }
  atomic_store(&timer, fd);
  return fd;
}

int timerfd_settime(int fd, int flags, const struct itimerspec *new, struct itimerspec *old) {
  if (fd == atomic_load(&timer)) return 0;
  return (int)syscall(SYS_timerfd_settime, fd, flags, new, old);
}

ssize_t read(int fd, void *bytes, size_t count) {
  if (fd < 0 || fd != atomic_load(&timer)) return syscall(SYS_read, fd, bytes, count);
  char events[4096];
  ssize_t result = syscall(SYS_read, fd, events, sizeof events);
  if (result <= 0) return result;
  errno = ECANCELED;
  return -1;
}

int close(int fd) {
  int expected = fd;
  if (fd >= 0) atomic_compare_exchange_strong(&timer, &expected, -1);
  return (int)syscall(SYS_close, fd);
}
