#!/bin/sh
# Puts a backup in the place of the database. At its next start PostgreSQL replays the archived log and what the old
# database had not archived yet, up to the last commit. The servers and PostgreSQL must be stopped:
#
#   docker compose stop api-1 api-2 postgres
#   docker compose run --rm --no-deps -u postgres --entrypoint sh postgres /scripts/restore.sh NAME
#
# NAME is a folder of /backup/base. The old files stay in /backup/replaced-….

set -eu

backup=${BACKUP:-/backup}
base=$backup/base/${1:?the name of a backup: a folder of /backup/base}/base.tar.gz
old=$backup/replaced-$(date -u +%Y%m%dT%H%M%SZ)

if [ ! -f "$base" ]; then
    echo "there is no $base" >&2
    exit 1
fi
if pg_isready -q -h "${POSTGRES_HOST:-postgres}"; then
    echo "PostgreSQL is running: stop it first" >&2
    exit 1
fi

mkdir -m 0700 "$old"
cp -a "$PGDATA/." "$old/"
sync
find "${PGDATA:?}" -mindepth 1 -delete
tar -xzf "$base" -C "$PGDATA"
# The newest part of the log, which the archive does not have.
if [ -d "$old/pg_wal" ]; then
    find "$old/pg_wal" -maxdepth 1 -type f -name '????????????????????????' -exec cp -p '{}' "$PGDATA/pg_wal/" ';'
fi
cat >>"$PGDATA/postgresql.auto.conf" <<EOF
restore_command = 'gzip -dc <$backup/wal/%f.gz >%p'
recovery_target_timeline = 'latest'
EOF
touch "$PGDATA/recovery.signal"
sync
echo "restored; start PostgreSQL, and wait until pg_is_in_recovery() is false"
