#!/bin/sh
# Runs a standby: copies the primary if there is no copy yet, and follows it from then on.
# `make cluster` and compose.cluster.yaml both call it. PostgreSQL's programs are in the PATH.
# Usage: standby.sh HOST PORT [ARGUMENT]…
#   HOST PORT  where the primary is; the arguments are given to this standby's own server
# SECRETS names the folder `database` that `prepare` has made, PGDATA the standby's data folder.
set -eu

host=$1 port=$2
shift 2
# PostgreSQL takes no folder that others may look into.
chmod 0700 "$PGDATA"
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  # --write-recovery-conf keeps these words, so that the standby connects as the copy was made.
  until pg_basebackup --pgdata "$PGDATA" --write-recovery-conf --checkpoint fast --dbname \
    "host=$host port=$port user=replicator sslmode=verify-full sslrootcert=$SECRETS/ca.pem passfile=$SECRETS/replication.pgpass"
  do
    echo "standby.sh: the primary cannot be copied yet; trying again in a second" >&2
    # A copy that was cut off is no beginning.
    find "$PGDATA" -mindepth 1 -delete
    sleep 1
  done
fi
# The primary knows it by this name, which its synchronous_standby_names has. The copy had another
# one: no commit may count it.
exec postgres -c cluster_name=standby "$@"
