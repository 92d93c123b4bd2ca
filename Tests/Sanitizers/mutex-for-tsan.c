// Tells the thread sanitizer of two ways in which threads meet inside of Swift's own libraries, which are
// not built with the sanitizer. Preloaded by scripts/test-sanitized; each function does what the
// library's own does, and says so.
//
// A Mutex that two threads want at once.
// Its uncontended path is inlined, and so seen by the sanitizer. Its contended one goes through the
// kernel (FUTEX_LOCK_PI) in libswiftSynchronization.so, which is not built with the sanitizer: without
// this, everything that a contended Mutex guards would be reported as a race.
//
// A continuation that is resumed before its task has got as far as to wait for it: the two meet by an
// atomic of libswift_Concurrency.so. Without this, all that is handed over would be reported as a race.
// A task that did have to wait is made known by the library itself.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>

#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context))

// The sanitizer's own, where the program has it.
extern void __tsan_acquire(void *address) __attribute__((weak));
extern void __tsan_release(void *address) __attribute__((weak));

// Synchronization._MutexHandle._lockSlow(UInt32) and ._unlockSlow()
#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

SWIFT void lock_slow(uint32_t thread, SELF void *mutex) __asm__(LOCK);
SWIFT void unlock_slow(SELF void *mutex) __asm__(UNLOCK);

SWIFT void lock_slow(uint32_t thread, SELF void *mutex) {
  SWIFT void (*original)(uint32_t, SELF void *) = dlsym(RTLD_NEXT, LOCK);
  original(thread, mutex);
  if (__tsan_acquire) __tsan_acquire(mutex);
}

SWIFT void unlock_slow(SELF void *mutex) {
  SWIFT void (*original)(SELF void *) = dlsym(RTLD_NEXT, UNLOCK);
  if (__tsan_release) __tsan_release(mutex);
  original(mutex);
}

// swift_continuation_await(context), swift_continuation_resume(task), swift_continuation_throwingResume(task)
// and swift_task_getCurrent(): swift/Runtime/Concurrency.h
#define ASYNC __attribute__((swiftasynccall))

// Absent from the programs without Swift that tests start.
extern SWIFT void *swift_task_getCurrent(void) __attribute__((weak));

ASYNC void swift_continuation_await(void *context) {
  ASYNC void (*original)(void *) = dlsym(RTLD_NEXT, "swift_continuation_await");
  if (__tsan_acquire && swift_task_getCurrent) __tsan_acquire(swift_task_getCurrent());
  __attribute__((musttail)) return original(context);
}

SWIFT void swift_continuation_resume(void *task) {
  SWIFT void (*original)(void *) = dlsym(RTLD_NEXT, "swift_continuation_resume");
  if (__tsan_release) __tsan_release(task);
  original(task);
}

SWIFT void swift_continuation_throwingResume(void *task) {
  SWIFT void (*original)(void *) = dlsym(RTLD_NEXT, "swift_continuation_throwingResume");
  if (__tsan_release) __tsan_release(task);
  original(task);
}
