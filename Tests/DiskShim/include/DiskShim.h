// A library to be loaded before all others (LD_PRELOAD) into a relay under test. It stands between
// the program and the system calls that reach a folder, and either records them or lets some fail.
// Tests/EndToEnd/Support/DiskShim.swift is the other side: it knows the same numbers.
//
// WAYSTATION_DISK_FOLDER   the folder that is watched; without it nothing is done
// WAYSTATION_DISK_JOURNAL  a file to which what is done there is appended, in one order
// WAYSTATION_DISK_CONTROL  a file of DISK_CONTROL_BYTES that tells what is to fail, mapped and read
//                          at each call, so that a test can change its mind
#ifndef WAYSTATION_DISK_SHIM_H
#define WAYSTATION_DISK_SHIM_H

#include <stdint.h>

// What a record of the journal says. A record is the header, then the path, then the data.
enum {
  DISK_START = 1,     // a process begins: no descriptor is open
  DISK_OPEN = 2,      // fd, path; number: bit 0 if it may have been made, bit 1 if it was emptied
  DISK_CLOSE = 3,     // fd
  DISK_WRITE = 4,     // fd, number: the offset, data
  DISK_TRUNCATE = 5,  // fd, number: the size
  DISK_SYNC = 6,      // fd
  DISK_RENAME = 7,    // path; data: the new path
  DISK_UNLINK = 8,    // path
  DISK_MKDIR = 9,     // path
  DISK_RMDIR = 10,    // path
  DISK_SEND = 11,     // fd of a socket; data: the first bytes
};

struct disk_record {
  uint32_t kind;
  int32_t fd;
  int64_t number;
  uint32_t path_bytes;
  uint32_t data_bytes;
};

// Which calls may fail.
enum {
  DISK_FAIL_OPEN = 1,
  DISK_FAIL_WRITE = 2,
  DISK_FAIL_TRUNCATE = 4,
  DISK_FAIL_SYNC = 8,
  DISK_FAIL_RENAME = 16,
  DISK_FAIL_UNLINK = 32,
  DISK_FAIL_MKDIR = 64,
  DISK_FAIL_READ = 128,
};

// The control file: numbers of eight bytes, then a text.
enum {
  DISK_SLOT_ON = 0,        // whether calls are counted and fail
  DISK_SLOT_CALLS = 1,     // which: bits of DISK_FAIL_
  DISK_SLOT_ERROR = 2,     // errno; 0 for a write that writes only half
  DISK_SLOT_SKIP = 3,      // how many calls succeed before
  DISK_SLOT_COUNT = 4,     // how many fail then; 0 for all
  DISK_SLOT_MATCHED = 5,   // told by the shim: how many calls matched
  DISK_SLOT_INJECTED = 6,  // told by the shim: how many of them failed
  DISK_SLOT_FREEZE = 7,    // whether the next call is to stop for good
  DISK_SLOT_FROZEN = 8,    // told by the shim: that it has
  DISK_SLOT_FREE = 9,      // what statvfs says is free, plus 1; 0 for the truth
  DISK_SLOTS = 16,
  DISK_PATH_BYTES = 128,   // what a path has to end with; empty for any
  DISK_CONTROL_BYTES = DISK_SLOTS * 8 + DISK_PATH_BYTES,
};

#endif
