#define _GNU_SOURCE
#include "DiskShim.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { DESCRIPTORS_MAX = 65536, SENT_BYTES_MAX = 16384 };

// One lock around every call that changes the folder and its record: what the journal says happened
// in that order. A sync that holds up the writes of other threads only makes the order a certain one.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char folder[PATH_MAX];
static size_t folder_bytes;
static int journal = -1;
static volatile int64_t *control;
static char *paths[DESCRIPTORS_MAX];

// The system calls themselves: functions of the C library would come back here.
static int raw_open(const char *path, int flags, mode_t mode) {
  return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

__attribute__((constructor)) static void begin(void) {
  const char *watched = getenv("WAYSTATION_DISK_FOLDER");
  if (watched == NULL || strlen(watched) >= sizeof folder) return;
  strcpy(folder, watched);
  folder_bytes = strlen(folder);
  const char *record = getenv("WAYSTATION_DISK_JOURNAL");
  if (record != NULL) {
    journal = raw_open(record, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    struct disk_record start = {.kind = DISK_START};
    if (journal >= 0) syscall(SYS_write, journal, &start, sizeof start);
  }
  const char *switches = getenv("WAYSTATION_DISK_CONTROL");
  int fd = switches == NULL ? -1 : raw_open(switches, O_RDWR | O_CLOEXEC, 0);
  if (fd < 0) return;
  void *map = mmap(NULL, DISK_CONTROL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (map != MAP_FAILED) control = map;
  syscall(SYS_close, fd);
}

static int is_watched(const char *path) {
  return folder_bytes > 0 && path != NULL && strncmp(path, folder, folder_bytes) == 0 &&
         (path[folder_bytes] == '/' || path[folder_bytes] == 0);
}

static const char *path_of(int fd) {
  return fd >= 0 && fd < DESCRIPTORS_MAX ? paths[fd] : NULL;
}

static void note(uint32_t kind, int fd, int64_t number, const char *path, const void *data,
                 size_t data_bytes) {
  if (journal < 0) return;
  struct disk_record head = {kind, fd, number, path ? (uint32_t)strlen(path) : 0,
                             (uint32_t)data_bytes};
  struct iovec parts[3] = {{&head, sizeof head},
                           {(void *)path, head.path_bytes},
                           {(void *)data, data_bytes}};
  if (syscall(SYS_writev, journal, parts, 3) < 0) abort();
}

// Takes the lock. A frozen process keeps it: nothing more happens until it is killed.
static void enter(void) {
  pthread_mutex_lock(&lock);
  while (control != NULL && control[DISK_SLOT_FREEZE] != 0) {
    control[DISK_SLOT_FROZEN] = 1;
    usleep(1000);
  }
}

// Gives the lock back, and leaves errno alone.
static void leave(void) {
  int code = errno;
  pthread_mutex_unlock(&lock);
  errno = code;
}

static int ends_with(const char *path, const char *end) {
  size_t length = strlen(path), wanted = strnlen(end, DISK_PATH_BYTES);
  return wanted <= length && memcmp(path + length - wanted, end, wanted) == 0;
}

// Whether this call is to fail. Sets errno to what it fails with: 0 for half a write.
static int is_to_fail(int call, const char *path) {
  if (control == NULL || control[DISK_SLOT_ON] == 0) return 0;
  if ((control[DISK_SLOT_CALLS] & call) == 0) return 0;
  if (!ends_with(path, (const char *)(control + DISK_SLOTS))) return 0;
  int64_t index = control[DISK_SLOT_MATCHED]++ - control[DISK_SLOT_SKIP];
  int64_t count = control[DISK_SLOT_COUNT];
  if (index < 0 || (count > 0 && index >= count)) return 0;
  control[DISK_SLOT_INJECTED]++;
  errno = (int)control[DISK_SLOT_ERROR];
  return 1;
}

// MARK: opening and closing

static int open_watched(const char *path, int flags, mode_t mode) {
  enter();
  int fd = -1;
  if (!is_to_fail(DISK_FAIL_OPEN, path)) {
    fd = raw_open(path, flags, mode);
    if (fd >= 0 && fd < DESCRIPTORS_MAX) {
      free(paths[fd]);
      paths[fd] = strdup(path);
      int64_t bits = (flags & O_CREAT ? 1 : 0) | (flags & O_TRUNC ? 2 : 0);
      note(DISK_OPEN, fd, bits, path, NULL, 0);
    }
  }
  leave();
  return fd;
}

#define MODE_OF(flags, mode)                              \
  mode_t mode = 0;                                        \
  if ((flags) & (O_CREAT | O_TMPFILE)) {                  \
    va_list rest;                                         \
    va_start(rest, flags);                                \
    mode = va_arg(rest, mode_t);                          \
    va_end(rest);                                         \
  }

int open(const char *path, int flags, ...) {
  MODE_OF(flags, mode)
  return is_watched(path) ? open_watched(path, flags, mode) : raw_open(path, flags, mode);
}

int open64(const char *path, int flags, ...) {
  MODE_OF(flags, mode)
  return is_watched(path) ? open_watched(path, flags, mode) : raw_open(path, flags, mode);
}

int openat(int base, const char *path, int flags, ...) {
  MODE_OF(flags, mode)
  if (is_watched(path)) return open_watched(path, flags, mode);
  return (int)syscall(SYS_openat, base, path, flags, mode);
}

int openat64(int base, const char *path, int flags, ...) {
  MODE_OF(flags, mode)
  if (is_watched(path)) return open_watched(path, flags, mode);
  return (int)syscall(SYS_openat, base, path, flags, mode);
}

int close(int fd) {
  if (path_of(fd) == NULL) return (int)syscall(SYS_close, fd);
  enter();
  free(paths[fd]);
  paths[fd] = NULL;
  note(DISK_CLOSE, fd, 0, NULL, NULL, 0);
  int result = (int)syscall(SYS_close, fd);
  leave();
  return result;
}

// MARK: writing and syncing

// Writes at an offset; one of -1 is where the descriptor stands.
static ssize_t write_watched(int fd, const void *bytes, size_t count, off_t offset) {
  enter();
  ssize_t result = -1;
  int fails = is_to_fail(DISK_FAIL_WRITE, paths[fd]);
  int code = errno;
  // A disk that fills up, or breaks, does so in the middle.
  size_t written = fails ? count / 2 : count;
  off_t place = offset >= 0 ? offset : lseek(fd, 0, SEEK_CUR);
  if (written > 0) result = (ssize_t)syscall(SYS_pwrite64, fd, bytes, written, place);
  if (result > 0) {
    note(DISK_WRITE, fd, place, NULL, bytes, (size_t)result);
    if (offset < 0 && !(fails && code != 0)) lseek(fd, place + result, SEEK_SET);
  }
  if (fails && code != 0) {
    errno = code;
    result = -1;
  } else if (count == 0) {
    result = 0;
  }
  leave();
  return result;
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset) {
  if (path_of(fd) != NULL) return write_watched(fd, bytes, count, offset);
  return (ssize_t)syscall(SYS_pwrite64, fd, bytes, count, offset);
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t offset) {
  return pwrite(fd, bytes, count, offset);
}

ssize_t write(int fd, const void *bytes, size_t count) {
  if (path_of(fd) != NULL) return write_watched(fd, bytes, count, -1);
  return (ssize_t)syscall(SYS_write, fd, bytes, count);
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
  if (path_of(fd) == NULL) return (ssize_t)syscall(SYS_writev, fd, parts, count);
  ssize_t total = 0;
  for (int index = 0; index < count; index++) {
    ssize_t result = write_watched(fd, parts[index].iov_base, parts[index].iov_len, -1);
    if (result < 0) return total > 0 ? total : -1;
    total += result;
    if ((size_t)result < parts[index].iov_len) break;
  }
  return total;
}

int ftruncate(int fd, off_t size) {
  if (path_of(fd) == NULL) return (int)syscall(SYS_ftruncate, fd, size);
  enter();
  int result = -1;
  if (!is_to_fail(DISK_FAIL_TRUNCATE, paths[fd])) {
    result = (int)syscall(SYS_ftruncate, fd, size);
    if (result == 0) note(DISK_TRUNCATE, fd, size, NULL, NULL, 0);
  }
  leave();
  return result;
}

int ftruncate64(int fd, off64_t size) { return ftruncate(fd, size); }

// Room that is set aside is written as a size: what stands there is nothing until it is written.
int fallocate(int fd, int mode, off_t offset, off_t bytes) {
  if (path_of(fd) == NULL) return (int)syscall(SYS_fallocate, fd, mode, offset, bytes);
  enter();
  int result = -1;
  if (!is_to_fail(DISK_FAIL_TRUNCATE, paths[fd])) {
    struct stat before;
    result = fstat(fd, &before);
    if (result == 0) result = (int)syscall(SYS_fallocate, fd, mode, offset, bytes);
    if (result == 0 && mode == 0 && offset + bytes > before.st_size) {
      note(DISK_TRUNCATE, fd, offset + bytes, NULL, NULL, 0);
    }
  }
  leave();
  return result;
}

int posix_fallocate(int fd, off_t offset, off_t bytes) {
  return fallocate(fd, 0, offset, bytes) == 0 ? 0 : errno;
}

// So slow that the relay makes its next commit meanwhile, which it does not on a quick disk.
static const useconds_t SLOW_SYNC_MICROSECONDS = 1500;

static int sync_watched(int fd, long number) {
  enter();
  int result = -1;
  if (!is_to_fail(DISK_FAIL_SYNC, paths[fd])) {
    result = (int)syscall(number, fd);
    if (result == 0) note(DISK_SYNC, fd, 0, NULL, NULL, 0);
  }
  leave();
  if (number == SYS_fdatasync) usleep(SLOW_SYNC_MICROSECONDS);
  return result;
}

int fsync(int fd) {
  return path_of(fd) != NULL ? sync_watched(fd, SYS_fsync) : (int)syscall(SYS_fsync, fd);
}

int fdatasync(int fd) {
  return path_of(fd) != NULL ? sync_watched(fd, SYS_fdatasync) : (int)syscall(SYS_fdatasync, fd);
}

// MARK: reading

ssize_t pread(int fd, void *bytes, size_t count, off_t offset) {
  const char *path = path_of(fd);
  if (path != NULL && control != NULL && control[DISK_SLOT_ON] != 0) {
    enter();
    int fails = is_to_fail(DISK_FAIL_READ, path);
    leave();
    if (fails) return -1;
  }
  return (ssize_t)syscall(SYS_pread64, fd, bytes, count, offset);
}

ssize_t pread64(int fd, void *bytes, size_t count, off64_t offset) {
  return pread(fd, bytes, count, offset);
}

// MARK: names

int mkdir(const char *path, mode_t mode) {
  if (!is_watched(path)) return (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
  enter();
  int result = -1;
  if (!is_to_fail(DISK_FAIL_MKDIR, path)) {
    result = (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
    if (result == 0) note(DISK_MKDIR, -1, 0, path, NULL, 0);
  }
  leave();
  return result;
}

static int unlink_watched(const char *path, int flags) {
  enter();
  int result = -1;
  if (!is_to_fail(DISK_FAIL_UNLINK, path)) {
    result = (int)syscall(SYS_unlinkat, AT_FDCWD, path, flags);
    if (result == 0) note(flags != 0 ? DISK_RMDIR : DISK_UNLINK, -1, 0, path, NULL, 0);
  }
  leave();
  return result;
}

int unlink(const char *path) {
  if (is_watched(path)) return unlink_watched(path, 0);
  return (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}

int rmdir(const char *path) {
  if (is_watched(path)) return unlink_watched(path, AT_REMOVEDIR);
  return (int)syscall(SYS_unlinkat, AT_FDCWD, path, AT_REMOVEDIR);
}

int rename(const char *from, const char *to) {
  if (!is_watched(from)) return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
  enter();
  int result = -1;
  if (!is_to_fail(DISK_FAIL_RENAME, from)) {
    result = (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
    if (result == 0) note(DISK_RENAME, -1, 0, from, to, strlen(to));
  }
  leave();
  return result;
}

int statvfs(const char *path, struct statvfs *disk) {
  static int (*original)(const char *, struct statvfs *);
  if (original == NULL) original = dlsym(RTLD_NEXT, "statvfs");
  int result = original(path, disk);
  if (result == 0 && is_watched(path) && control != NULL && control[DISK_SLOT_FREE] != 0) {
    disk->f_bavail = (fsblkcnt_t)(control[DISK_SLOT_FREE] - 1) / disk->f_frsize;
    disk->f_bfree = disk->f_bavail;
  }
  return result;
}

int statvfs64(const char *path, struct statvfs64 *disk) {
  return statvfs(path, (struct statvfs *)disk);
}

// MARK: what is told to others

// An answer is noted before it leaves, under the lock: what is promised in it has to be on disk by
// then. One that the kernel does not take is noted all the same, which only makes the test stricter.
static void note_sent(int fd, const struct iovec *parts, size_t count) {
  char bytes[SENT_BYTES_MAX];
  size_t filled = 0;
  for (size_t index = 0; index < count && filled < sizeof bytes; index++) {
    size_t room = sizeof bytes - filled;
    size_t taken = parts[index].iov_len < room ? parts[index].iov_len : room;
    memcpy(bytes + filled, parts[index].iov_base, taken);
    filled += taken;
  }
  enter();
  note(DISK_SEND, fd, 0, NULL, bytes, filled);
  leave();
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
  if (journal >= 0) note_sent(fd, message->msg_iov, message->msg_iovlen);
  return (ssize_t)syscall(SYS_sendmsg, fd, message, flags);
}

ssize_t send(int fd, const void *bytes, size_t count, int flags) {
  struct iovec part = {(void *)bytes, count};
  if (journal >= 0) note_sent(fd, &part, 1);
  return (ssize_t)syscall(SYS_sendto, fd, bytes, count, flags, NULL, 0);
}
