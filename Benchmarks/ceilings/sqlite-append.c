/* The ceiling for durable acceptance: SQLite alone, with the relay's own tables and settings.

   usage: sqlite-append DATABASE BATCH SECONDS
   Appends rows as the relay does for 1 KiB envelopes (one in `envelope`, one in `line`; the ledger
   and a row of `event_log` once a transaction), BATCH to a transaction, for a number of seconds,
   and copies the log into the database as SQLite does by itself. Prints one line of JSON:
   envelopes a second, and the 50th percentile of the time that a transaction took, of which COMMIT
   is the most. DATABASE is a store that the relay has made and closed, so that tables and page size
   are its. */
#define _GNU_SOURCE
#include <sqlite3.h>

#include "../load/common.h"

enum {
  body_bytes = 1024,
  lanes = 256,
  checkpoint_pages = 2048,
  batch_max = 4096,
  /* What an acceptance takes in a row of events, and what the row takes beside. */
  event_bytes = 9,
  event_row_bytes = 24,
};

static sqlite3 *database;

static void refuse(const char *what) {
  fprintf(stderr, "%s: %s\n", what, sqlite3_errmsg(database));
  exit(1);
}

static void run(const char *sql) {
  if (sqlite3_exec(database, sql, NULL, NULL, NULL) != SQLITE_OK) refuse(sql);
}

static sqlite3_stmt *prepare(const char *sql) {
  sqlite3_stmt *statement;
  unsigned how = SQLITE_PREPARE_PERSISTENT;
  if (sqlite3_prepare_v3(database, sql, -1, how, &statement, NULL) != SQLITE_OK) refuse(sql);
  return statement;
}

static void step(sqlite3_stmt *statement) {
  if (sqlite3_step(statement) != SQLITE_DONE) refuse("step");
  sqlite3_reset(statement);
}

/* The number that a query finds. */
static long long number_of(const char *sql) {
  sqlite3_stmt *statement = prepare(sql);
  if (sqlite3_step(statement) != SQLITE_ROW) refuse(sql);
  long long number = sqlite3_column_int64(statement, 0);
  sqlite3_finalize(statement);
  return number;
}

static void insert(sqlite3_stmt *envelope, sqlite3_stmt *line, long long serial) {
  static const char headers[] = "Content-Type: application/json\r\n";
  static char body[body_bytes], id[16];
  const long long now = 1767225600000;
  memset(body, 'x', body_bytes);
  memcpy(id, &serial, sizeof serial);
  long long lane = serial % lanes + 1;
  sqlite3_bind_int64(envelope, 1, serial);
  sqlite3_bind_blob(envelope, 2, id, sizeof id, SQLITE_STATIC);
  sqlite3_bind_int64(envelope, 3, lane);
  sqlite3_bind_int64(envelope, 4, lane);
  sqlite3_bind_int64(envelope, 5, now);
  sqlite3_bind_blob(envelope, 6, "/bench", 6, SQLITE_STATIC);
  sqlite3_bind_blob(envelope, 7, headers, sizeof headers - 1, SQLITE_STATIC);
  sqlite3_bind_blob(envelope, 8, body, body_bytes, SQLITE_STATIC);
  step(envelope);
  sqlite3_bind_int64(line, 1, serial);
  sqlite3_bind_int64(line, 2, lane);
  sqlite3_bind_int64(line, 3, lane);
  sqlite3_bind_int64(line, 4, now);
  sqlite3_bind_int64(line, 5, now);
  sqlite3_bind_int64(line, 6, body_bytes + 6 + (long long)sizeof headers - 1);
  step(line);
}

/* The row of events that a transaction brings. */
static void insert_events(sqlite3_stmt *events, long long number, int batch) {
  static char entries[batch_max * event_bytes];
  int length = batch * event_bytes;
  sqlite3_bind_int64(events, 1, number);
  sqlite3_bind_int64(events, 2, 1767225600000);
  sqlite3_bind_int64(events, 3, number * (length + event_row_bytes));
  sqlite3_bind_blob(events, 4, entries, length, SQLITE_STATIC);
  step(events);
}

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  int batch = atoi(argv[2]);
  double duration = atof(argv[3]);
  if (batch < 1 || batch > batch_max) return 2;
  if (sqlite3_open_v2(argv[1], &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) !=
      SQLITE_OK)
    refuse("open");
  run("PRAGMA synchronous = FULL; PRAGMA cache_size = -16384; PRAGMA mmap_size = 0;"
      "PRAGMA temp_store = MEMORY");
  sqlite3_wal_autocheckpoint(database, checkpoint_pages);
  sqlite3_stmt *begin = prepare("BEGIN IMMEDIATE"), *commit = prepare("COMMIT");
  sqlite3_stmt *envelope = prepare(
      "INSERT INTO envelope (serial, id, client, lane, upstream, key, fingerprint, sequence, tag,"
      " hold, not_before, expires_at, on_failure, method, target, headers, body, has_references,"
      " coalesce_key)"
      " VALUES (?, ?, ?, ?, 1, NULL, x'', NULL, NULL, 0, NULL, ?, 0, 'POST', ?, ?, ?, 0, NULL)");
  sqlite3_stmt *line = prepare(
      "INSERT INTO line (serial, client, lane, upstream, accepted_at, expires_at, standing,"
      " on_failure, due_at, attempts, bytes, refers)"
      " VALUES (?, ?, ?, 1, ?, ?, 0, 0, NULL, 0, ?, 0)");
  sqlite3_stmt *ledger =
      prepare("UPDATE ledger SET queued = queued + ?, last_serial = ? WHERE number = 1");
  sqlite3_stmt *events =
      prepare("INSERT INTO event_log (number, at, bytes_through, entries) VALUES (?, ?, ?, ?)");

  long long first = number_of("SELECT coalesce(max(serial), 0) + 1 FROM envelope"), serial = first;
  long long row = number_of("SELECT coalesce(max(number), 0) + 1 FROM event_log");
  struct timing timing = start_timing();
  double start = seconds(), now = start;
  while (now - start < duration) {
    step(begin);
    for (int index = 0; index < batch; index++) insert(envelope, line, serial++);
    sqlite3_bind_int64(ledger, 1, batch);
    sqlite3_bind_int64(ledger, 2, serial - 1);
    step(ledger);
    insert_events(events, row++, batch);
    step(commit);
    double then = now;
    now = seconds();
    note_time(&timing, now - then);
  }
  printf("{\"rate\": %.1f, \"p50Ms\": %.3f}\n", (double)(serial - first) / (now - start),
         median_ms(&timing));
  return 0;
}
