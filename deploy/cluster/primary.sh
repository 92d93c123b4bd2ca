#!/bin/sh
# Makes the roles and the database in a primary that was just initialised, and says who may connect.
# PostgreSQL's image runs it from /docker-entrypoint-initdb.d; `make cluster` runs it as well.
# SECRETS names the folder `database` that `prepare` has made, PGDATA the primary's data folder.
set -eu

# The standby does not exist yet, so no commit may wait for it.
psql --quiet --set ON_ERROR_STOP=1 --username postgres --dbname postgres <<SQL
SET synchronous_commit = local;
\set relay_password \`cat "$SECRETS/relay-password"\`
\set replication_password \`cat "$SECRETS/replication-password"\`
CREATE ROLE waystation LOGIN PASSWORD :'relay_password';
-- The relays look whether a standby confirms commits.
GRANT pg_read_all_stats TO waystation;
CREATE ROLE replicator LOGIN REPLICATION PASSWORD :'replication_password';
CREATE DATABASE waystation OWNER waystation;
SQL

# The socket is the database's own user's alone. Whoever comes over a network needs TLS and a
# password.
cat >"$PGDATA/pg_hba.conf" <<END
local   all         all         trust
hostssl waystation  waystation  all  scram-sha-256
hostssl replication replicator  all  scram-sha-256
END
