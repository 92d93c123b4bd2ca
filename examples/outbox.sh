#!/bin/sh
# An outbox: keeps envelopes on this device until a Waystation relay has taken them.
#
#   outbox.sh add METHOD PATH [CONTENT-TYPE] < BODY   keeps an envelope, and says so once it is on disk
#   outbox.sh send [--once]                           hands over what waits; --once does not wait for a relay
#   outbox.sh list                                    shows what waits, and what was refused
#
# Settings, from the environment:
#   WAYSTATION_SERVER   the relay's URL (http://127.0.0.1:8080)
#   WAYSTATION_CLIENT   the client's name; required
#   WAYSTATION_TOKEN    its token, if it has one
#   WAYSTATION_LANE     the lane (default)
#   WAYSTATION_OUTBOX   the folder (./outbox). One folder is one client's one lane
#
# In the folder, waiting/ has one file an envelope: a line of JSON, as it is posted. Files are sent in the
# order of their names. refused/ has those that the relay will never take as they are, each beside a
# .problem that says why. To mend one, correct its file and move it back; to forget it, remove it.
#
# Exit codes: 0 done, 1 what was refused waits for a person, 2 wrong use, or the relay wants other
# settings, 75 some envelopes wait still.
#
# Two that send at the same time do no harm. Each posts from the first that waits, and the relay stores
# each key once.
#
# Needs a POSIX shell with awk, base64 and od, and curl.
set -eu
LC_ALL=C
export LC_ALL
umask 077

readonly batch_max=100 delay_max=300

stop() {
  printf '%s\n' "$*" >&2
  exit 2
}

usage() { stop 'outbox.sh add METHOD PATH [CONTENT-TYPE] < BODY | send [--once] | list'; }

# Has files and folders on disk before it returns. An older sync knows no names, and takes all there is.
on_disk() { sync "$@" 2>/dev/null || sync; }

# A text as JSON has it.
json() {
  case $1 in *[![:print:]]*) stop "this is not printable ASCII: $1" ;; esac
  printf '"%s"' "$(printf '%s' "$1" | sed 's/[\\"]/\\&/g')"
}

# Each member of a JSON text, one a line: its path, a tab, and its value.
members() {
  awk '
    function blank() { while (at <= size && index(" \t\r\n", substr(text, at, 1))) at++ }
    function string(  out, byte) {
      for (at++; at <= size && (byte = substr(text, at++, 1)) != "\"";) {
        if (byte == "\\") {
          byte = substr(text, at++, 1)
          if (index("nrtbf", byte)) byte = " "
          else if (byte == "u") byte = "\\u"
        }
        out = out byte
      }
      return out
    }
    function value(path,  byte, count, name, begin) {
      blank()
      byte = substr(text, at, 1)
      if (byte == "{" || byte == "[") {
        at++
        blank()
        if (index("}]", substr(text, at, 1))) { at++; return }
        do {
          blank()
          if (byte == "{") { name = string(); blank(); at++ } else name = count++
          value(path "." name)
          blank()
        } while (at <= size && substr(text, at++, 1) == ",")
      } else if (byte == "\"") print path "\t" string()
      else {
        begin = at
        while (at <= size && !index(",]}: \t\r\n", substr(text, at, 1))) at++
        print path "\t" substr(text, begin, at - begin)
      }
    }
    { text = text $0 " " }
    END { at = 1; size = length(text); value("") }' "$1"
}

# One member of the last answer; empty if there is none.
member() { awk -F '\t' -v name="$1" '$1 == name { print $2; exit }' "$work/members"; }

# Whether this is a problem that the relay itself names.
is_own() { case $1 in urn:waystation:problem:*) true ;; *) false ;; esac; }

# Whether a status says that the same may succeed later.
is_for_now() { case $1 in 408 | 425 | 429 | 5??) true ;; *) false ;; esac; }

# The number of whole digits in front; else what is given besides.
number() { case ${1:-none} in *[!0-9]*) printf '%s' "$2" ;; *) printf '%s' "$1" ;; esac; }

add() {
  key=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
  last=
  for file in waiting/*.json; do last=${file#waiting/}; done
  last=$(printf '%s' "${last%%-*}" | sed 's/^0*//')
  name=$(printf '%012d-%s.json' "$(($(number "$last" 0) + 1))" "$key")
  # Each by itself: the shell ends at the first that fails, and nothing was kept.
  sender=$(json "$client") line=$(json "$lane") method=$(json "$1") path=$(json "$2")
  type=$(json "${3:-}")
  base64 >"$work/body"
  # The upstream knows a repeat by the field, even if the relay has forgotten the key.
  fields="\"Idempotency-Key\":\"$key\""
  [ $# -lt 3 ] || fields="$fields,\"Content-Type\":$type"
  {
    printf '{"client":%s,"lane":%s,"key":"%s","method":%s,' "$sender" "$line" "$key" "$method"
    printf '"path":%s,"headers":{%s},"bodyBase64":"' "$path" "$fields"
    tr -d '\n' <"$work/body"
    printf '"}\n'
  } >"new/$name"
  on_disk "new/$name"
  mv "new/$name" "waiting/$name"
  on_disk waiting
  printf 'kept %s\n' "$key"
}

# Makes a post: call PATH CONTENT-TYPE FILE. Sets status ('' if no answer came), retry and why.
call() {
  # By a file, since a command's arguments can be seen by others.
  : >"$work/config"
  [ -z "$token" ] || printf 'header = "Authorization: Bearer %s"\n' "$token" >"$work/config"
  : >"$work/head"
  : >"$work/answer"
  if status=$(curl -q -sS --connect-timeout 10 --max-time 120 -K "$work/config" -D "$work/head" \
    -o "$work/answer" -w '%{http_code}' -H "Content-Type: $2" --data-binary "@$3" "$server$1" 2>"$work/error")
  then
    members "$work/answer" >"$work/members"
    retry=$(sed -n 's/^[Rr][Ee][Tt][Rr][Yy]-[Aa][Ff][Tt][Ee][Rr]: *\([0-9][0-9]*\).*/\1/p' "$work/head" | tail -n 1)
    [ -n "$retry" ] || retry=$(member .retryAfterSeconds)
    why="the relay answers $status $(member .detail)"
  else
    status='' retry='' why="the relay cannot be reached: $(cat "$work/error")"
    : >"$work/members"
  fi
}

# Tells what has ended since the last time, and learns how much may be sent. Fails if that is nothing now.
check_in() {
  more=true
  while [ "$more" = true ]; do
    since=
    [ ! -s since ] || since=",\"since\":$(json "$(cat since)")"
    printf '{"client":%s%s}' "$(json "$client")" "$since" >"$work/question"
    call /v1/checkin application/json "$work/question"
    envelopes=$(member .maySend.envelopes)
    if [ "$status" != 200 ] || [ -z "$envelopes" ]; then
      if is_for_now "$status" || ! is_own "$(member .type)"; then return 1; fi
      stop "the relay does not let this device check in: $why"
    fi
    awk -F '\t' '
      function tell() { if (id != "") print "ended", (key == "" ? id : key), state, status, reason }
      BEGIN { item = "none" }
      split($1, part, ".") == 4 && part[2] == "ended" {
        if (part[3] != item) { tell(); item = part[3]; id = key = state = status = reason = "" }
        if (part[4] == "id") id = $2
        if (part[4] == "key") key = $2
        if (part[4] == "state") state = $2
        if (part[4] == "responseStatus") status = $2
        if (part[4] == "reason") reason = $2
      }
      END { tell() }' "$work/members"
    since=$(member .since)
    if [ -n "$since" ]; then
      printf '%s\n' "$since" >"$work/since"
      on_disk "$work/since"
      mv "$work/since" since
    fi
    more=$(member .more)
  done
  count_may=$(member .maySend.envelopesPerBatch)
  [ "$count_may" -le "$batch_max" ] || count_may=$batch_max
  bytes=$(member .maySend.bytes)
  bytes_per_batch=$(member .maySend.bytesPerBatch)
  body_max=$(number "$(member .maySend.bodyBytesMax)" 9007199254740991)
  if [ -z "$retry" ] && [ "$envelopes" -gt 0 ] && [ "$bytes" -gt 0 ]; then return 0; fi
  why='the relay has no room for this client'
  return 1
}

# Keeps an envelope apart: set_aside NAME WHY.
set_aside() {
  [ -f "waiting/$1" ] || return 0
  printf '%s\n' "$2" >"new/$1.problem"
  on_disk "new/$1.problem"
  mv "new/$1.problem" "refused/$1.problem"
  mv "waiting/$1" "refused/$1"
  printf 'refused %s %s\n' "$(key_of "$1")" "$2"
}

# The key of an envelope, as its file's name has it.
key_of() {
  key=${1#*-}
  printf '%s' "${key%.json}"
}

# The bytes of a line's body, decoded.
body_bytes() {
  encoded=$(sed -n 's/.*"bodyBase64":"\([^"]*\)".*/\1/p' "$1")
  bare=${encoded%%=*}
  printf '%s' "$((${#bare} * 3 / 4))"
}

# Puts a post together, in $work/batch, with its files' names in $work/names. What is too large is set aside.
batch() {
  : >"$work/batch"
  : >"$work/names"
  used=0 size=0 bytes_may=$bytes_per_batch
  [ "$bytes" -ge "$bytes_may" ] || bytes_may=$bytes
  for file in waiting/*.json; do
    [ "$used" -lt "$count_may" ] && [ "$used" -lt "$envelopes" ] || break
    name=${file#waiting/}
    # One line, whoever wrote it. Somebody else may have been quicker.
    [ -f "$file" ] || continue
    tr '\r\n' '  ' <"$file" >"$work/line"
    more=$(($(wc -c <"$work/line") + 1))
    if [ "$more" -gt "$body_max" ] && [ "$(body_bytes "$work/line")" -gt "$body_max" ]; then
      set_aside "$name" '413 body-too-large: the relay does not take so large a body'
      continue
    fi
    if ! grep -q '[^ ]' "$work/line"; then
      set_aside "$name" 'the file is empty'
      continue
    fi
    if [ "$used" -gt 0 ] && [ "$((size + more))" -gt "$bytes_may" ]; then break; fi
    { cat "$work/line"; echo; } >>"$work/batch"
    printf '%s\n' "$name" >>"$work/names"
    used=$((used + 1)) size=$((size + more))
  done
}

# Writes down what became of one item: settle NAME RESULT STATUS TYPE DETAIL. Fails if it is to be sent again.
settle() {
  case $2 in
    accepted | duplicate)
      rm -f "waiting/$1"
      [ "$2" = duplicate ] || set -- "$1" taken
      printf '%s %s\n' "$2" "$(key_of "$1")"
      ;;
    *)
      if is_for_now "$3" || ! is_own "$4"; then
        printf 'waits %s %s %s\n' "$(key_of "$1")" "$3" "${4##*:}"
        return 1
      fi
      set_aside "$1" "$3 ${4##*:}: $5"
      ;;
  esac
}

# Posts one batch. Fails if the rest has to wait.
post() {
  call /v1/envelopes application/x-ndjson "$work/batch"
  envelopes=$((envelopes - used)) bytes=$((bytes - size))
  # One line an item: result, status, type and detail, with tabs between; - for none.
  awk -F '\t' '
    function or_none(text) { return text == "" ? "-" : text }
    { count = split($1, part, "."); if (part[2] != "results") next; item = part[3]; seen[item] = 1 }
    count == 4 && part[4] == "result" { result[item] = $2 }
    count == 5 && part[5] == "status" { status[item] = $2 }
    count == 5 && part[5] == "type" { type[item] = $2 }
    count == 5 && part[5] == "detail" { detail[item] = $2 }
    END {
      for (item = 0; item in seen; item++)
        print or_none(result[item]) "\t" or_none(status[item]) "\t" or_none(type[item]) "\t" or_none(detail[item])
    }' "$work/members" >"$work/results"
  type=$(member .type)
  # Only the relay's own answer counts: a network's page for guests is a 200, too.
  if [ "$(wc -l <"$work/results")" -eq "$used" ]; then
    waits=0
    # After a batch that was split, the next check-in says how large one may be.
    [ "$split" = no ] || { split=no envelopes=0; }
    paste "$work/names" "$work/results" >"$work/settled"
    while IFS='	' read -r name result item_status item_type detail; do
      settle "$name" "$result" "$item_status" "$item_type" "$detail" || waits=1
    done <"$work/settled"
    why='the relay has no room for the rest'
    return "$waits"
  fi
  if is_for_now "$status" || ! is_own "$type"; then return 1; fi
  case $status in
    400 | 413 | 422) ;;
    *) stop "the relay refuses this device: $why" ;;
  esac
  if [ "$used" -gt 1 ]; then
    count_may=$((used / 2)) split=yes
  else
    set_aside "$(cat "$work/names")" "$status ${type##*:}: $(member .detail)"
  fi
}

# Waits before the next try, or fails if that is not wanted.
later() {
  if [ "$waits_for_relay" = no ]; then
    printf '%s\n' "$why" >&2
    return 1
  fi
  if [ -z "$retry" ]; then
    # Half of the delay, and up to as much again by chance.
    chance=$(od -An -N2 -tu2 /dev/urandom | tr -d ' \n')
    retry=$(((delay + 1) / 2 + delay * chance / 131072))
    delay=$((delay * 2))
    [ "$delay" -le "$delay_max" ] || delay=$delay_max
  fi
  printf '%s; trying again in %s s\n' "$why" "$retry" >&2
  sleep "$retry"
}

send() {
  envelopes=0 bytes=0 delay=1 split=no retry='' why=''
  # Once even if nothing waits, to tell what has ended.
  until check_in; do later || break; done
  while for file in waiting/*.json; do [ -f "$file" ] && break; done; [ -f "$file" ]; do
    if [ "$envelopes" -le 0 ] || [ "$bytes" -le 0 ]; then
      check_in || { later || break; continue; }
    fi
    batch
    [ "$used" -gt 0 ] || continue
    if post; then
      delay=1
    else
      envelopes=0
      later || break
    fi
  done
  waiting=$(count waiting) refused=$(count refused)
  printf '%s wait, %s refused\n' "$waiting" "$refused"
  [ "$waiting" -eq 0 ] || return 75
  [ "$refused" -eq 0 ] || return 1
}

count() {
  total=0
  for file in "$1"/*.json; do [ ! -f "$file" ] || total=$((total + 1)); done
  printf '%s' "$total"
}

list() {
  for folder in waiting refused; do
    for file in "$folder"/*.json; do
      [ -f "$file" ] || continue
      what=$(sed -n 's/.*"method":"\([^"]*\)","path":"\([^"]*\)".*/\1 \2/p' "$file")
      printf '%s %s %s ' "$folder" "$(key_of "${file##*/}")" "$what"
      cat "$file.problem" 2>/dev/null || echo
    done
  done
}

command=${1:-}
case $command:$# in
  add:3 | add:4 | send:1 | list:1) waits_for_relay=yes ;;
  send:2) [ "$2" = --once ] || usage; waits_for_relay=no ;;
  *) usage ;;
esac
client=${WAYSTATION_CLIENT:-}
[ -n "$client" ] || stop 'WAYSTATION_CLIENT must name the client'
lane=${WAYSTATION_LANE:-default}
token=${WAYSTATION_TOKEN:-}
server=${WAYSTATION_SERVER:-http://127.0.0.1:8080}
server=${server%/}
outbox=${WAYSTATION_OUTBOX:-outbox}
if ! [ -d "$outbox/refused" ]; then
  mkdir -p "$outbox/new" "$outbox/waiting" "$outbox/refused"
  on_disk "$outbox" "$outbox/.."
fi
cd "$outbox"
# What was left by those that were killed.
find new -type f -mtime +1 -exec rm -f {} +
find new -type d -name 'work.*' -mtime +1 -exec rmdir {} + 2>/dev/null || :
work=$(mktemp -d new/work.XXXXXX)
trap 'rm -rf "$work"' EXIT
trap 'exit 129' HUP INT TERM
shift
"$command" "$@"
