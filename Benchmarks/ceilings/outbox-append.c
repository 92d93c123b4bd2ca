/* The ceiling for handing items over to an outbox: SQLite alone, with the outbox's own tables and
   settings.

   usage: outbox-append DATABASE BATCH SECONDS
   Appends the rows of items of 1 KiB (one in `item`, one in `content`; the lane's row once a
   transaction), BATCH to a transaction, for a number of seconds. Prints one line of JSON: items a
   second, and the 50th percentile of the time that a transaction took. DATABASE is one that an
   outbox has made and closed. */
#define _GNU_SOURCE
#include <sqlite3.h>

#include "../load/common.h"

enum { body_bytes = 1024, request_bytes = 64, checkpoint_pages = 1000, batch_max = 4096 };

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

static void insert(sqlite3_stmt *item, sqlite3_stmt *content, long long number) {
  static char body[body_bytes], request[request_bytes], key[40];
  memset(body, 'x', body_bytes);
  memset(request, 'r', request_bytes);
  /* Keys grow, as the outbox's do. */
  int length = snprintf(key, sizeof key, "01930000-0000-7000-8000-%012llx", number);
  sqlite3_bind_int64(item, 1, number);
  sqlite3_bind_text(item, 2, key, length, SQLITE_STATIC);
  step(item);
  sqlite3_bind_int64(content, 1, number);
  sqlite3_bind_blob(content, 2, request, request_bytes, SQLITE_STATIC);
  sqlite3_bind_blob(content, 3, body, body_bytes, SQLITE_STATIC);
  step(content);
}

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  int batch = atoi(argv[2]);
  double duration = atof(argv[3]);
  if (batch < 1 || batch > batch_max) return 2;
  if (sqlite3_open_v2(argv[1], &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) !=
      SQLITE_OK)
    refuse("open");
  run("PRAGMA synchronous = FULL; PRAGMA cache_size = -4096; PRAGMA temp_store = MEMORY");
  sqlite3_wal_autocheckpoint(database, checkpoint_pages);
  run("INSERT OR IGNORE INTO lane (id, name, next, items, bytes, line, paused)"
      " VALUES (1, 'default', 1, 0, 0, 0, 0)");
  sqlite3_stmt *begin = prepare("BEGIN IMMEDIATE"), *commit = prepare("COMMIT");
  sqlite3_stmt *item = prepare(
      "INSERT INTO item (id, lane, state, handed, key, body_kind, body_bytes, bytes, wall,"
      " monotonic, boot, attempts) VALUES (?, 1, 2, 0, ?, 1, 1024, 1100, 1767225600000, 1000, 1, 0)");
  sqlite3_stmt *content = prepare("INSERT INTO content (id, request, body) VALUES (?, ?, ?)");
  sqlite3_stmt *lane = prepare("UPDATE lane SET items = items + ?, line = line + ? WHERE id = 1");

  long long number = 0;
  struct timing timing = start_timing();
  double start = seconds(), now = start;
  while (now - start < duration) {
    step(begin);
    for (int index = 0; index < batch; index++) insert(item, content, ++number);
    sqlite3_bind_int64(lane, 1, batch);
    sqlite3_bind_int64(lane, 2, batch);
    step(lane);
    step(commit);
    double then = now;
    now = seconds();
    note_time(&timing, now - then);
  }
  printf("{\"rate\": %.1f, \"p50Ms\": %.3f}\n", (double)number / (now - start), median_ms(&timing));
  return 0;
}
