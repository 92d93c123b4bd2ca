/* An outbox: keeps envelopes on this device until a Waystation relay has taken them.

   cc -O2 -Wall -Wextra -o outbox outbox.c -lcurl

   outbox add METHOD PATH [CONTENT-TYPE] < BODY   keeps an envelope, and says so once it is on disk
   outbox send [--once]                           hands over what waits; --once does not wait for a relay
   outbox list                                    shows what waits, and what was refused

   Settings, from the environment:
   WAYSTATION_SERVER   the relay's URL (http://127.0.0.1:8080)
   WAYSTATION_CLIENT   the client's name; required
   WAYSTATION_TOKEN    its token, if it has one
   WAYSTATION_LANE     the lane (default)
   WAYSTATION_OUTBOX   the folder (./outbox). One folder is one client's one lane

   In the folder, waiting/ has one file an envelope: a line of JSON, as it is posted. Files are sent in the
   order of their names. refused/ has those that the relay will never take as they are, each beside a
   .problem that says why. To mend one, correct its file and move it back; to forget it, remove it.

   Exit codes: 0 done, 1 what was refused waits for a person, 2 wrong use, or the relay wants other
   settings, 75 some envelopes wait still.

   Two that send at the same time do no harm. Each posts from the first that waits, and the relay stores
   each key once.

   Needs POSIX, and libcurl 7.66 or later. */

#define _POSIX_C_SOURCE 200809L
#include <curl/curl.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { DONE = 0, REFUSED = 1, WRONG = 2, WAITING = 75 };
enum { KEY_BYTES = 16, BATCH_MAX = 1000, DELAY_MAX_SECONDS = 300 };

static void stop(const char *what, const char *subject)
{
  fprintf(stderr, "%s %s%s%s\n", what, subject, errno ? ": " : "", errno ? strerror(errno) : "");
  exit(WRONG);
}

static const char *setting(const char *name, const char *otherwise)
{
  const char *value = getenv(name);
  if (value && *value) return value;
  errno = 0;
  if (!otherwise) stop("this setting is missing:", name);
  return otherwise;
}

/* ---- Text that grows ---- */

typedef struct {
  char *bytes; /* ends with a 0 that is not counted */
  size_t count;
} Text;

static void append(Text *text, const void *bytes, size_t count)
{
  text->bytes = realloc(text->bytes, text->count + count + 1);
  if (!text->bytes) stop("no memory for", "an envelope");
  if (count) memcpy(text->bytes + text->count, bytes, count);
  text->count += count;
  text->bytes[text->count] = 0;
}

static void append_text(Text *text, const char *more) { append(text, more, strlen(more)); }

static void append_json(Text *text, const char *value)
{
  append_text(text, "\"");
  for (; *value; value++) {
    char escaped[8];
    unsigned char byte = (unsigned char)*value;
    if (byte < 0x20 || byte == '"' || byte == '\\') snprintf(escaped, sizeof escaped, "\\u%04x", byte);
    else snprintf(escaped, sizeof escaped, "%c", byte);
    append_text(text, escaped);
  }
  append_text(text, "\"");
}

static void append_base64(Text *text, const unsigned char *bytes, size_t count)
{
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  Text encoded = {0};
  encoded.bytes = malloc(count / 3 * 4 + 5);
  if (!encoded.bytes) stop("no memory for", "an envelope");
  for (size_t at = 0; at < count; at += 3) {
    size_t left = count - at;
    unsigned long group = (unsigned long)bytes[at] << 16;
    if (left > 1) group |= (unsigned long)bytes[at + 1] << 8;
    if (left > 2) group |= bytes[at + 2];
    encoded.bytes[encoded.count++] = digits[group >> 18];
    encoded.bytes[encoded.count++] = digits[group >> 12 & 63];
    encoded.bytes[encoded.count++] = left > 1 ? digits[group >> 6 & 63] : '=';
    encoded.bytes[encoded.count++] = left > 2 ? digits[group & 63] : '=';
  }
  append(text, encoded.bytes, encoded.count);
  free(encoded.bytes);
}

/* ---- JSON: a value is where it begins in a text; NULL is none ---- */

static const char *blank(const char *at) { return at + strspn(at, " \t\r\n"); }

/* Returns what follows a value, or NULL if the text ends before it does. */
static const char *after(const char *at)
{
  int depth = 0;
  do {
    at = blank(at);
    if (!*at) return NULL;
    if (*at == '{' || *at == '[') depth++, at++;
    else if (*at == '}' || *at == ']') depth--, at++;
    else if (*at == '"') {
      for (at++; *at && *at != '"'; at++)
        if (*at == '\\' && at[1]) at++;
      if (!*at++) return NULL;
    }
    else if (*at == ',' || *at == ':') at++;
    else at += strcspn(at, ",:{}[]\" \t\r\n");
  } while (depth > 0);
  return blank(at);
}

static const char *member(const char *object, const char *name)
{
  size_t length = strlen(name);
  if (!object || *object != '{') return NULL;
  for (const char *at = blank(object + 1); at && *at == '"';) {
    const char *value = after(at);
    if (!value || *value != ':') return NULL;
    value = blank(value + 1);
    if (!strncmp(at + 1, name, length) && at[length + 1] == '"') return value;
    at = after(value);
    if (at && *at == ',') at = blank(at + 1);
  }
  return NULL;
}

/* Returns an array's first item, or the one that follows an item. */
static const char *first(const char *array)
{
  if (!array || *array != '[') return NULL;
  array = blank(array + 1);
  return *array == ']' || !*array ? NULL : array;
}

static const char *next(const char *item)
{
  item = after(item);
  return item && *item == ',' ? blank(item + 1) : NULL;
}

static long long number(const char *value, long long otherwise)
{
  return value && (*value == '-' || (*value >= '0' && *value <= '9')) ? strtoll(value, NULL, 10) : otherwise;
}

/* Returns a text for people: what is escaped stays so. It is good until the fourth call after. */
static const char *words(const char *value)
{
  static char kept[4][512];
  static int turn;
  char *text = kept[turn = (turn + 1) % 4];
  const char *end = value && *value == '"' ? after(value) : NULL;
  while (end && end[-1] != '"') end--;
  snprintf(text, sizeof kept[0], "%.*s", end ? (int)(end - value - 2) : 0, end ? value + 1 : "");
  return text;
}

/* Returns a problem's type without what all types begin with; NULL if the relay does not speak. */
static const char *kind(const char *problem)
{
  static const char prefix[] = "urn:waystation:problem:";
  const char *type = words(member(problem, "type"));
  return strncmp(type, prefix, sizeof prefix - 1) ? NULL : type + sizeof prefix - 1;
}

/* ---- The folder ---- */

static void sync_folder(const char *path)
{
  int folder = open(path, O_RDONLY | O_DIRECTORY);
  if (folder < 0 || fsync(folder)) stop("cannot keep", path);
  close(folder);
}

/* Writes a file that is on disk as a whole, or not there. */
static void keep(const char *folder, const char *name, const char *bytes, size_t count)
{
  char path[PATH_MAX], temporary[PATH_MAX];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  snprintf(temporary, sizeof temporary, "new/%s.%ld", name, (long)getpid());
  int file = open(temporary, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (file < 0) stop("cannot write", temporary);
  while (count > 0) {
    ssize_t written = write(file, bytes, count);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) stop("cannot write", temporary);
    bytes += written, count -= (size_t)written;
  }
  if (fsync(file) || close(file) || rename(temporary, path)) stop("cannot write", path);
  sync_folder(folder);
}

/* Returns 1 if there was none. */
static int make_folder(const char *path)
{
  if (!mkdir(path, 0700)) return 1;
  if (errno != EEXIST) stop("cannot make", path);
  return 0;
}

/* Goes into the outbox, and makes it if there is none. */
static void enter(void)
{
  const char *path = setting("WAYSTATION_OUTBOX", "outbox");
  int is_new = make_folder(path);
  if (chdir(path)) stop("cannot enter", path);
  is_new |= make_folder("new") | make_folder("waiting") | make_folder("refused");
  if (is_new) sync_folder("."), sync_folder("..");
}

static int is_envelope(const struct dirent *entry)
{
  size_t length = strlen(entry->d_name);
  return entry->d_name[0] != '.' && length > 5 && !strcmp(entry->d_name + length - 5, ".json");
}

static int by_name(const struct dirent **one, const struct dirent **other)
{
  return strcmp((*one)->d_name, (*other)->d_name);
}

static int names(const char *folder, struct dirent ***list)
{
  int count = scandir(folder, list, is_envelope, by_name);
  if (count < 0) stop("cannot list", folder);
  return count;
}

static void forget(struct dirent **list, int count)
{
  while (count > 0) free(list[--count]);
  free(list);
}

/* Reads a file; returns 0 if it is not there. */
static int load(const char *folder, const char *name, Text *text)
{
  char path[PATH_MAX], chunk[65536];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "rb");
  if (!file && errno == ENOENT) return 0;
  if (!file) stop("cannot read", path);
  for (size_t count; (count = fread(chunk, 1, sizeof chunk, file)) > 0;) append(text, chunk, count);
  if (ferror(file)) stop("cannot read", path);
  fclose(file);
  return 1;
}

/* ---- add ---- */

static void random_key(char *key)
{
  unsigned char bytes[KEY_BYTES];
  int source = open("/dev/urandom", O_RDONLY);
  if (source < 0 || read(source, bytes, sizeof bytes) != (ssize_t)sizeof bytes) stop("cannot read", "/dev/urandom");
  close(source);
  for (int at = 0; at < KEY_BYTES; at++) sprintf(key + 2 * at, "%02x", bytes[at]);
}

static int add(const char *method, const char *path, const char *type)
{
  Text body = {0}, line = {0};
  char chunk[65536], key[2 * KEY_BYTES + 1], name[64];
  for (size_t count; (count = fread(chunk, 1, sizeof chunk, stdin)) > 0;) append(&body, chunk, count);
  if (ferror(stdin)) stop("cannot read", "the body");
  random_key(key);
  append_text(&line, "{\"client\":"), append_json(&line, setting("WAYSTATION_CLIENT", NULL));
  append_text(&line, ",\"lane\":"), append_json(&line, setting("WAYSTATION_LANE", "default"));
  append_text(&line, ",\"key\":"), append_json(&line, key);
  append_text(&line, ",\"method\":"), append_json(&line, method);
  append_text(&line, ",\"path\":"), append_json(&line, path);
  /* The upstream knows a repeat by the field, even if the relay has forgotten the key. */
  append_text(&line, ",\"headers\":{\"Idempotency-Key\":"), append_json(&line, key);
  if (*type) append_text(&line, ",\"Content-Type\":"), append_json(&line, type);
  append_text(&line, "},\"bodyBase64\":\"");
  append_base64(&line, (unsigned char *)body.bytes, body.count);
  append_text(&line, "\"}\n");

  struct dirent **list;
  int count = names("waiting", &list);
  long long last = count > 0 ? strtoll(list[count - 1]->d_name, NULL, 10) : 0;
  forget(list, count);
  snprintf(name, sizeof name, "%012lld-%s.json", last + 1, key);
  keep("waiting", name, line.bytes, line.count);
  printf("kept %s\n", key);
  free(body.bytes), free(line.bytes);
  return DONE;
}

/* ---- Talking to the relay ---- */

typedef struct {
  long status;         /* 0 if no answer came */
  long long retry;     /* after how many seconds to try again; -1 if that was not said */
  char why[256];
  Text content;
} Answer;

static size_t receive(char *bytes, size_t size, size_t count, void *text)
{
  append(text, bytes, size * count);
  return count;
}

static void call(CURL *curl, const char *path, const char *type, const Text *body, Answer *answer)
{
  char url[2048], error[CURL_ERROR_SIZE] = "", content_type[64], token[4096];
  const char *server = setting("WAYSTATION_SERVER", "http://127.0.0.1:8080");
  snprintf(url, sizeof url, "%.*s%s", (int)(strlen(server) - (server[strlen(server) - 1] == '/')), server, path);
  snprintf(content_type, sizeof content_type, "Content-Type: %s", type);
  snprintf(token, sizeof token, "Authorization: Bearer %s", setting("WAYSTATION_TOKEN", " "));
  struct curl_slist *fields = curl_slist_append(NULL, content_type);
  if (token[strlen(token) - 1] != ' ') fields = curl_slist_append(fields, token);
  free(answer->content.bytes);
  *answer = (Answer){.retry = -1};
  append(&answer->content, "", 0);
  curl_easy_reset(curl); /* Connections stay. */
  curl_easy_setopt(curl, CURLOPT_URL, url);
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, fields);
  curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body->bytes);
  curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body->count);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, receive);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &answer->content);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, 10L);
  curl_easy_setopt(curl, CURLOPT_TIMEOUT, 120L);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, error);
  CURLcode code = curl_easy_perform(curl);
  curl_slist_free_all(fields);
  if (code != CURLE_OK) {
    snprintf(answer->why, sizeof answer->why, "the relay cannot be reached: %.200s",
             *error ? error : curl_easy_strerror(code));
    return;
  }
  curl_off_t seconds = 0; /* Of a number and of a date. */
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &answer->status);
  curl_easy_getinfo(curl, CURLINFO_RETRY_AFTER, &seconds);
  const char *content = blank(answer->content.bytes);
  answer->retry = seconds > 0 ? (long long)seconds : number(member(content, "retryAfterSeconds"), -1);
  snprintf(answer->why, sizeof answer->why, "the relay answers %ld %.200s", answer->status,
           words(member(content, "detail")));
}

/* Returns 1 if a status says that the same may succeed later. */
static int is_for_now(long status)
{
  return status < 100 || status == 408 || status == 425 || status == 429 || status >= 500;
}

/* ---- send ---- */

/* What the last check-in allowed, less what was sent since. */
typedef struct {
  long long envelopes, bytes, envelopes_per_batch, bytes_per_batch, body_bytes_max;
} Allowance;

typedef enum { GO_ON, NOTHING, LATER } Step;

/* Tells what has ended since the last time, and learns how much may be sent. */
static Step check_in(CURL *curl, Allowance *may, Answer *answer)
{
  const char *content;
  do {
    Text question = {0}, since = {0};
    append_text(&question, "{\"client\":"), append_json(&question, setting("WAYSTATION_CLIENT", NULL));
    if (load(".", "since", &since)) append_text(&question, ",\"since\":"), append_json(&question, since.bytes);
    append_text(&question, "}");
    call(curl, "/v1/checkin", "application/json", &question, answer);
    free(question.bytes), free(since.bytes);
    content = blank(answer->content.bytes);
    errno = 0;
    int is_room = *content == '{' && member(content, "maySend");
    if (!is_room && (is_for_now(answer->status) || !kind(content))) return LATER;
    if (!is_room) stop("the relay does not let this device check in:", answer->why);
    for (const char *item = first(member(content, "ended")); item; item = next(item))
      printf("ended %s %s %lld %s\n", words(member(item, member(item, "key") ? "key" : "id")),
             words(member(item, "state")), number(member(item, "responseStatus"), 0), words(member(item, "reason")));
    fflush(stdout);
    const char *seen = words(member(content, "since"));
    if (*seen) keep(".", "since", seen, strlen(seen));
  } while (member(content, "more") && *member(content, "more") == 't');
  const char *room = member(content, "maySend");
  may->envelopes = number(member(room, "envelopes"), 0);
  may->bytes = number(member(room, "bytes"), 0);
  may->envelopes_per_batch = number(member(room, "envelopesPerBatch"), 1);
  may->bytes_per_batch = number(member(room, "bytesPerBatch"), 0);
  may->body_bytes_max = number(member(room, "bodyBytesMax"), LLONG_MAX);
  if (!member(content, "retryAfterSeconds") && may->envelopes > 0 && may->bytes > 0) return GO_ON;
  snprintf(answer->why, sizeof answer->why, "the relay has no room for this client");
  return LATER;
}

/* Returns an envelope's key as its file's name has it. */
static const char *key_of(const char *name)
{
  static char key[NAME_MAX + 1];
  const char *dash = strchr(name, '-');
  snprintf(key, sizeof key, "%s", dash ? dash + 1 : name);
  key[strlen(key) - 5] = 0;
  return key;
}

static void set_aside(const char *name, long long status, const char *type, const char *detail)
{
  char from[PATH_MAX], to[PATH_MAX], problem[NAME_MAX + 16], why[1200];
  snprintf(why, sizeof why, "%lld %s: %s\n", status, type, detail);
  snprintf(problem, sizeof problem, "%s.problem", name);
  keep("refused", problem, why, strlen(why));
  snprintf(from, sizeof from, "waiting/%s", name);
  snprintf(to, sizeof to, "refused/%s", name);
  if (rename(from, to) && errno != ENOENT) stop("cannot move", from);
  printf("refused %s %s", key_of(name), why);
  fflush(stdout);
}

/* Writes down what became of one item. Returns 0 if it is to be sent again. */
static int settle(const char *name, const char *result)
{
  const char *problem = member(result, "problem"), *type = kind(problem);
  const char *outcome = words(member(result, "result"));
  long long status = number(member(problem, "status"), 0);
  int is_duplicate = !strcmp(outcome, "duplicate");
  if (is_duplicate || !strcmp(outcome, "accepted")) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "waiting/%s", name);
    if (unlink(path) && errno != ENOENT) stop("cannot remove", path);
    printf("%s %s\n", is_duplicate ? "duplicate" : "taken", key_of(name));
  } else if (is_for_now((long)status) || !type) {
    printf("waits %s %lld %s\n", key_of(name), status, type ? type : "");
    fflush(stdout);
    return 0;
  } else {
    set_aside(name, status, type, words(member(problem, "detail")));
  }
  fflush(stdout);
  return 1;
}

/* Returns how many bytes a line's body has, decoded; -1 if somebody has written it otherwise. */
static long long body_bytes(const char *line)
{
  const char *value = member(line, "bodyBase64");
  const char *end = value && *value == '"' ? strchr(value + 1, '"') : NULL;
  if (!end) return -1;
  long long count = end - value - 1;
  return count / 4 * 3 - (count > 0 && end[-1] == '=') - (count > 1 && end[-2] == '=');
}

/* Puts a post together. Returns how many of the names it has; what is too large is set aside. */
static int batch(struct dirent **list, int count, const Allowance *may, int count_max, const char **taken, Text *text)
{
  int used = 0;
  long long bytes_max = may->bytes < may->bytes_per_batch ? may->bytes : may->bytes_per_batch;
  for (int at = 0; at < count && used < count_max && used < BATCH_MAX && used < may->envelopes
       && used < may->envelopes_per_batch; at++) {
    Text line = {0};
    if (!load("waiting", list[at]->d_name, &line)) continue; /* Somebody else was quicker. */
    for (char *end = line.bytes; end && (end = strchr(end, '\n'));) *end = ' '; /* One line, whoever wrote it. */
    if (line.bytes && body_bytes(blank(line.bytes)) > may->body_bytes_max) {
      set_aside(list[at]->d_name, 413, "body-too-large", "the relay does not take so large a body");
    } else if (used > 0 && (long long)(text->count + line.count) >= bytes_max) {
      free(line.bytes);
      break;
    } else if (line.bytes && *blank(line.bytes)) {
      append(text, line.bytes, line.count), append_text(text, "\n");
      taken[used++] = list[at]->d_name;
    } else {
      set_aside(list[at]->d_name, 0, "empty", "the file is empty");
    }
    free(line.bytes);
  }
  return used;
}

/* Looks at what a post was answered. */
static Step judge(const char **sent, int count, Answer *answer, int *count_max)
{
  const char *content = blank(answer->content.bytes);
  const char *results = *content == '{' ? member(content, "results") : NULL;
  int given = 0, waiting = 0;
  for (const char *item = first(results); item; item = next(item)) given++;
  /* Only the relay's own answer counts: a network's page for guests is a 200, too. */
  if (given == count) {
    const char *item = first(results);
    for (int at = 0; at < count; at++, item = next(item)) waiting += !settle(sent[at], item);
    *count_max = BATCH_MAX;
    snprintf(answer->why, sizeof answer->why, "the relay has no room for the rest");
    return waiting ? LATER : GO_ON;
  }
  if (is_for_now(answer->status) || !kind(content)) return LATER;
  int is_about_items = answer->status == 400 || answer->status == 413 || answer->status == 422;
  errno = 0;
  if (!is_about_items) stop("the relay refuses this device:", answer->why);
  if (count > 1) {
    *count_max = count / 2;
  } else {
    *count_max = BATCH_MAX;
    set_aside(sent[0], answer->status, kind(content), words(member(content, "detail")));
  }
  return GO_ON;
}

/* Posts one batch. */
static Step post(CURL *curl, Allowance *may, int *count_max, Answer *answer)
{
  struct dirent **list;
  const char *sent[BATCH_MAX];
  Text text = {0};
  Step step = NOTHING;
  int count = names("waiting", &list);
  int used = batch(list, count, may, *count_max, sent, &text);
  if (used > 0) {
    call(curl, "/v1/envelopes", "application/x-ndjson", &text, answer);
    step = judge(sent, used, answer, count_max);
    may->envelopes -= used;
    may->bytes -= (long long)text.count;
  }
  forget(list, count);
  free(text.bytes);
  return step;
}

static void wait_for(double seconds)
{
  struct timespec left = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
  while (nanosleep(&left, &left) && errno == EINTR) {}
}

static int send_all(int waits)
{
  curl_global_init(CURL_GLOBAL_DEFAULT);
  CURL *curl = curl_easy_init();
  Answer answer = {0};
  Allowance may = {0};
  int count_max = BATCH_MAX, tries = 0, is_allowed = 0;
  srand((unsigned)time(NULL) ^ (unsigned)getpid());
  for (;;) {
    Step step = is_allowed ? GO_ON : check_in(curl, &may, &answer);
    if (step == GO_ON) is_allowed = 1, step = post(curl, &may, &count_max, &answer);
    if (may.envelopes <= 0 || may.bytes <= 0) is_allowed = 0;
    if (step == NOTHING) break;
    if (step == GO_ON) {
      tries = 0;
      continue;
    }
    is_allowed = 0;
    if (!waits) {
      fprintf(stderr, "%s\n", answer.why);
      break;
    }
    double seconds = (double)answer.retry;
    if (answer.retry < 0) {
      seconds = tries < 9 ? 1 << tries : DELAY_MAX_SECONDS;
      if (seconds > DELAY_MAX_SECONDS) seconds = DELAY_MAX_SECONDS;
      seconds *= 0.5 + 0.5 * rand() / RAND_MAX;
      tries++;
    }
    fprintf(stderr, "%s; trying again in %.1f s\n", answer.why, seconds);
    wait_for(seconds);
  }
  free(answer.content.bytes);
  curl_easy_cleanup(curl);
  struct dirent **list;
  int waiting = names("waiting", &list);
  forget(list, waiting);
  int refused = names("refused", &list);
  forget(list, refused);
  printf("%d wait, %d refused\n", waiting, refused);
  return waiting > 0 ? WAITING : refused > 0 ? REFUSED : DONE;
}

/* ---- list ---- */

static void show(const char *folder)
{
  struct dirent **list;
  int count = names(folder, &list);
  for (int at = 0; at < count; at++) {
    char problem[NAME_MAX + 16];
    Text line = {0}, why = {0};
    snprintf(problem, sizeof problem, "%s.problem", list[at]->d_name);
    if (load(folder, list[at]->d_name, &line)) {
      append(&line, "", 0);
      load(folder, problem, &why);
      const char *object = blank(line.bytes);
      printf("%s %s %s %s %s", folder, key_of(list[at]->d_name), words(member(object, "method")),
             words(member(object, "path")), why.bytes ? why.bytes : "\n");
    }
    free(line.bytes), free(why.bytes);
  }
  forget(list, count);
}

int main(int count, char **arguments)
{
  const char *command = count > 1 ? arguments[1] : "";
  int is_once = count == 3 && !strcmp(arguments[2], "--once");
  if (!strcmp(command, "add") && (count == 4 || count == 5)) {
    enter();
    return add(arguments[2], arguments[3], count == 5 ? arguments[4] : "");
  }
  if (!strcmp(command, "send") && (count == 2 || is_once)) {
    enter();
    return send_all(!is_once);
  }
  if (!strcmp(command, "list") && count == 2) {
    enter();
    show("waiting"), show("refused");
    return DONE;
  }
  fprintf(stderr, "outbox add METHOD PATH [CONTENT-TYPE] < BODY | send [--once] | list\n");
  return WRONG;
}
