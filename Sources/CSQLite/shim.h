#ifndef WAYSTATION_CSQLITE_SHIM_H
#define WAYSTATION_CSQLITE_SHIM_H

#include <sqlite3.h>

// SQLITE_STATIC and SQLITE_TRANSIENT are casts of 0 and -1 to a function pointer, which Swift does
// not import. Empty bytes are bound as such: a null pointer would be bound as NULL.

/// Has SQLite keep no account of the memory that it uses: a lock, and two sums, around each piece.
///
/// `sqlite3_config` takes a variable number of arguments, which Swift does not call. Only before
/// SQLite is used for the first time; afterwards it refuses, and nothing changes.
static inline int waystation_keep_no_memory_statistics(void) {
  return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

/// Binds bytes that SQLite copies before it returns.
static inline int waystation_bind_blob_copied(
  sqlite3_stmt *statement, int index, const void *bytes, sqlite3_uint64 count) {
  if (count == 0) return sqlite3_bind_zeroblob(statement, index, 0);
  return sqlite3_bind_blob64(statement, index, bytes, count, SQLITE_TRANSIENT);
}

/// Binds bytes that must stay where they are until the statement has been reset and rebound.
static inline int waystation_bind_blob_borrowed(
  sqlite3_stmt *statement, int index, const void *bytes, sqlite3_uint64 count) {
  if (count == 0) return sqlite3_bind_zeroblob(statement, index, 0);
  return sqlite3_bind_blob64(statement, index, bytes, count, SQLITE_STATIC);
}

/// Binds UTF-8 text that SQLite copies before it returns.
static inline int waystation_bind_text_copied(
  sqlite3_stmt *statement, int index, const char *text, sqlite3_uint64 count) {
  return sqlite3_bind_text64(
    statement, index, count == 0 ? "" : text, count, SQLITE_TRANSIENT, SQLITE_UTF8);
}

/// What the system said when the log, or else the database file, met its last error; 0 if neither
/// has. `sqlite3_system_errno` does not know of errors that a COMMIT meets.
static inline int waystation_last_errno(sqlite3 *database) {
  int of_log = 0;
  int of_database = 0;
  sqlite3_file *log = 0;
  sqlite3_file_control(database, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
  if (log != 0 && log->pMethods != 0) {
    log->pMethods->xFileControl(log, SQLITE_FCNTL_LAST_ERRNO, &of_log);
  }
  sqlite3_file_control(database, "main", SQLITE_FCNTL_LAST_ERRNO, &of_database);
  return of_log != 0 ? of_log : of_database;
}

#endif
