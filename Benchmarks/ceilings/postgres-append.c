/* The ceiling for durable acceptance on PostgreSQL: libpq alone, with the relay's own tables and
   statements, a pipeline for each transaction.

   usage: postgres-append URL BATCH SECONDS [compare]
   Appends rows as the relay does for 1 KiB envelopes (one in `envelope`, one in `line`; the fence, a
   row of `event_log` and the seat's count once a transaction; binary arrays, prepared statements),
   BATCH to a transaction, one after another on one connection, for a number of seconds. With
   `compare` about every other transaction, by chance, goes without the fence. Prints one line of
   JSON: envelopes a second, and the 50th percentile of the time that a transaction took, of those
   with the fence and of those without. URL is of a database in which a relay has made its tables;
   it is taken from whoever has it. */
#define _GNU_SOURCE
#include <endian.h>
#include <libpq-fe.h>
#include <stdbool.h>
#include <stdint.h>

#include "../load/common.h"

enum {
  body_bytes = 1024,
  lanes = 256,
  shards_apart = 4,
  batch_max = 4096,
  columns_max = 23,
  /* What an acceptance takes in a row of events, and what the row takes beside. */
  event_bytes = 9,
  event_row_bytes = 24,
};
static const int64_t now_ms = 1767225600000, week_ms = 604800000, seat = 4711;

/* The types of the server that are used (pg_type.dat): of one, and of an array of them. */
struct type {
  Oid one, array;
  int bytes;
};
static const struct type int8 = {20, 1016, 8}, int4 = {23, 1007, 4}, int2 = {21, 1005, 2},
                         boolean = {16, 1000, 1}, uuid = {2950, 2951, 16}, text = {25, 1009, -1},
                         bytea = {17, 1001, -1};

/* What a column has in each row. */
enum content { nothing, zero, number, serial_number, serial_id, lane_number, shard_number, bytes };
struct column {
  const struct type *type;
  enum content content;
  int64_t number;
  const char *bytes;
  int length;
};

static const char headers[] = "Content-Type: text/plain; charset=utf-8\r\n";
static char body[body_bytes];
#define BYTES(type, text, length) {&type, bytes, 0, text, length}
static const struct column envelope_columns[] = {
    {&int8, serial_number, 0, 0, 0}, {&uuid, serial_id, 0, 0, 0},
    {&int8, lane_number, 0, 0, 0},   {&int8, lane_number, 0, 0, 0},
    {&int4, number, 1, 0, 0},        {&text, nothing, 0, 0, 0},
    BYTES(bytea, "", 0),             {&int8, nothing, 0, 0, 0},
    {&text, nothing, 0, 0, 0},       {&boolean, zero, 0, 0, 0},
    {&int8, nothing, 0, 0, 0},       {&int8, number, now_ms + week_ms, 0, 0},
    {&int2, zero, 0, 0, 0},          {&boolean, zero, 0, 0, 0},
    {&text, nothing, 0, 0, 0},       {&int8, zero, 0, 0, 0},
    BYTES(text, "POST", 4),          BYTES(bytea, "/bench", 6),
    BYTES(bytea, headers, sizeof headers - 1), BYTES(bytea, body, body_bytes),
    {&uuid, nothing, 0, 0, 0},       {&int8, nothing, 0, 0, 0},
    {&int8, nothing, 0, 0, 0},
};
static const struct column line_columns[] = {
    {&int8, serial_number, 0, 0, 0}, {&int4, shard_number, 0, 0, 0},
    {&int8, lane_number, 0, 0, 0},   {&int8, lane_number, 0, 0, 0},
    {&int4, number, 1, 0, 0},        {&int8, number, now_ms, 0, 0},
    {&int8, number, now_ms + week_ms, 0, 0}, {&int2, zero, 0, 0, 0},
    {&int2, zero, 0, 0, 0},          {&int8, nothing, 0, 0, 0},
    {&int8, zero, 0, 0, 0},          {&boolean, zero, 0, 0, 0},
    {&int8, number, body_bytes + 6 + (int64_t)sizeof headers - 1, 0, 0},
    {&text, nothing, 0, 0, 0},
};

static PGconn *connection;
static int64_t epoch;

static void refuse(const char *what) {
  fprintf(stderr, "%s: %s\n", what, PQerrorMessage(connection));
  exit(1);
}

/* The number that a query finds, outside the pipeline. */
static int64_t number_of(const char *sql) {
  PGresult *result = PQexec(connection, sql);
  if (PQresultStatus(result) != PGRES_TUPLES_OK || PQgetisnull(result, 0, 0)) refuse(sql);
  int64_t found = atoll(PQgetvalue(result, 0, 0));
  PQclear(result);
  return found;
}

/* The values of one statement, put together anew for each transaction as the relay has to. */
struct values {
  char *room;
  size_t used;
  const char *starts[columns_max];
  int lengths[columns_max], formats[columns_max], count;
};

static void put(struct values *values, const void *from, size_t length) {
  memcpy(values->room + values->used, from, length);
  values->used += length;
}

static void put_number(struct values *values, int64_t what, int length) {
  uint64_t big = htobe64((uint64_t)what);
  put(values, (char *)&big + 8 - length, (size_t)length);
}

static void begin_value(struct values *values) {
  values->starts[values->count] = values->room + values->used;
}

static void end_value(struct values *values) {
  values->lengths[values->count] =
      (int)(values->room + values->used - values->starts[values->count]);
  values->formats[values->count++] = 1;
}

static void add_number(struct values *values, int64_t what) {
  begin_value(values);
  put_number(values, what, 8);
  end_value(values);
}

/* An array's head: dimensions, whether there are NULLs, the type, the count, the first index. */
static void begin_array(struct values *values, const struct type *type, bool has_nulls, int count) {
  begin_value(values);
  put_number(values, 1, 4);
  put_number(values, has_nulls, 4);
  put_number(values, type->one, 4);
  put_number(values, count, 4);
  put_number(values, 1, 4);
}

static void put_element(struct values *values, const struct column *column, int64_t serial) {
  int64_t lane = serial % lanes + 1, what = column->number;
  int length = column->type->bytes;
  if (column->content == nothing) return put_number(values, -1, 4);
  if (column->content == bytes) {
    put_number(values, column->length, 4);
    return put(values, column->bytes, (size_t)column->length);
  }
  if (column->content == serial_number || column->content == serial_id) what = serial;
  if (column->content == lane_number) what = lane;
  if (column->content == shard_number) what = lane * shards_apart - 1;
  put_number(values, length, 4);
  if (column->content == serial_id) put_number(values, now_ms, 8);
  put_number(values, what, column->content == serial_id ? 8 : length);
}

static void add_columns(
    struct values *values, const struct column *columns, int count, int64_t serial, int batch) {
  for (int index = 0; index < count; index++) {
    begin_array(values, columns[index].type, columns[index].content == nothing, batch);
    for (int row = 0; row < batch; row++) put_element(values, &columns[index], serial + row);
    end_value(values);
  }
}

/* The statements of a transaction, by the names under which they are prepared. */
static void prepare(const char *name, const char *sql, int count, const Oid *types) {
  PGresult *result = PQprepare(connection, name, sql, count, types);
  if (PQresultStatus(result) != PGRES_COMMAND_OK) refuse(sql);
  PQclear(result);
}

static void prepare_insert(
    const char *name, const char *sql, const struct column *columns, int count) {
  Oid types[columns_max];
  for (int index = 0; index < count; index++) types[index] = columns[index].type->array;
  prepare(name, sql, count, types);
}

enum {
  envelope_count = sizeof envelope_columns / sizeof *envelope_columns,
  line_count = sizeof line_columns / sizeof *line_columns,
};

static void prepare_all(void) {
  prepare("fence", "SELECT fence($1, $2, $3)", 3, (Oid[]){20, 1007, 1016});
  prepare_insert("envelope",
                 "INSERT INTO envelope SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9,"
                 " $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23)",
                 envelope_columns, envelope_count);
  prepare_insert("line",
                 "INSERT INTO line SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10,"
                 " $11, $12, $13, $14)",
                 line_columns, line_count);
  prepare("events",
          "INSERT INTO event_log SELECT number, $4, bytes_through, entries"
          " FROM unnest($1, $2, $3) AS new(number, bytes_through, entries)",
          4, (Oid[]){1016, 1016, 1001, 20});
  prepare("mark", "UPDATE seat_commit SET number = $2 WHERE incarnation = $1", 2,
          (Oid[]){20, 20});
}

static void send_statement(const char *name, struct values *values) {
  if (PQsendQueryPrepared(connection, name, values->count, values->starts, values->lengths,
                          values->formats, 1) != 1)
    refuse(name);
  values->used = 0;
  values->count = 0;
}

static void send_fence(struct values *values, int64_t serial, int batch) {
  int count = batch < lanes ? batch : lanes;
  static const struct column shard = {&int4, shard_number, 0, 0, 0};
  struct column held = {&int8, number, epoch, 0, 0};
  add_number(values, seat);
  add_columns(values, &shard, 1, serial, count);
  add_columns(values, &held, 1, serial, count);
  send_statement("fence", values);
}

static void send_events(struct values *values, int64_t row, int batch) {
  static char entries[batch_max * event_bytes];
  int length = batch * event_bytes;
  const struct column columns[] = {
      {&int8, number, row, 0, 0},
      {&int8, number, row * (length + event_row_bytes), 0, 0},
      BYTES(bytea, entries, length),
  };
  add_columns(values, columns, 3, 0, 1);
  add_number(values, now_ms);
  send_statement("events", values);
}

/* Waits for the end of the pipeline; each statement's result is followed by a NULL. */
static void await_end(void) {
  int ends = 0;
  while (ends < 2) {
    PGresult *result = PQgetResult(connection);
    ExecStatusType status = PQresultStatus(result);
    if (!result) {
      ends++;
      continue;
    }
    ends = 0;
    PQclear(result);
    if (status == PGRES_PIPELINE_SYNC) return;
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) refuse("a transaction");
  }
  refuse("the pipeline's end is missing");
}

static void run_transaction(
    struct values *values, int64_t serial, int64_t row, int batch, bool is_fenced) {
  if (is_fenced) send_fence(values, serial, batch);
  add_columns(values, envelope_columns, envelope_count, serial, batch);
  send_statement("envelope", values);
  add_columns(values, line_columns, line_count, serial, batch);
  send_statement("line", values);
  send_events(values, row, batch);
  add_number(values, seat);
  add_number(values, row);
  send_statement("mark", values);
  if (PQpipelineSync(connection) != 1) refuse("sync");
  await_end();
}

static void open_store(const char *url) {
  connection = PQconnectdb(url);
  if (PQstatus(connection) != CONNECTION_OK) refuse("connect");
  PGresult *gone = PQexec(connection, "DELETE FROM seat");
  if (PQresultStatus(gone) != PGRES_COMMAND_OK) refuse("DELETE FROM seat");
  PQclear(gone);
  epoch = number_of("SELECT take_store(4711, 1, NULL, '{}', '{}')");
  prepare_all();
}

int main(int argc, char **argv) {
  if (argc < 4 || argc > 5) return 2;
  int batch = atoi(argv[2]);
  double duration = atof(argv[3]);
  bool compares = argc > 4 && strcmp(argv[4], "compare") == 0;
  if (batch < 1 || batch > batch_max) return 2;
  memset(body, 'x', body_bytes);
  open_store(argv[1]);
  int64_t serial = number_of("SELECT coalesce(max(serial), 0) + 1 FROM envelope");
  int64_t row = number_of("SELECT coalesce(max(number), 0) + 1 FROM event_log");
  if (PQenterPipelineMode(connection) != 1) refuse("pipeline");
  /* Each value of a row with its length takes less than this beside the body. */
  struct values values = {.room = malloc((size_t)(batch + lanes) * (body_bytes + 512) + 4096)};
  struct timing timings[2] = {start_timing(), start_timing()};
  double spent[2] = {0, 0}, start = seconds(), now = start;
  for (; now - start < duration; serial += batch, row++) {
    /* In turn, they could meet another rhythm, such as that of the disk. */
    bool is_fenced = !compares || random() % 2 == 0;
    run_transaction(&values, serial, row, batch, is_fenced);
    double then = now;
    now = seconds();
    spent[is_fenced] += now - then;
    note_time(&timings[is_fenced], now - then);
  }
  printf("{\"rate\": %.1f, \"p50Ms\": %.3f", (double)timings[1].total * batch / spent[1],
         median_ms(&timings[1]));
  if (compares)
    printf(", \"unfencedRate\": %.1f, \"unfencedP50Ms\": %.3f",
           (double)timings[0].total * batch / spent[0], median_ms(&timings[0]));
  printf("}\n");
  PQfinish(connection);
  return 0;
}
