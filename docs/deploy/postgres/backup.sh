#!/bin/sh
# Writes a backup of the whole database into /backup/base, and keeps the newest seven with the log that they need.
#
#   docker compose exec -u postgres postgres sh /scripts/backup.sh
#
# Together with the archived log in /backup/wal the newest one restores the database to its last commit. Fails also when
# the archive is behind (check.sh).

set -eu

backup=${BACKUP:-/backup}
keep=${KEEP:-7}
name=$(date -u +%Y%m%dT%H%M%SZ)
part=$backup/.part-$name

mkdir -p "$backup/base" "$backup/wal"
exec 9>"$backup/.lock"
if ! flock -n 9; then
    echo "another backup is running" >&2
    exit 1
fi

# Keeps the newest so many, and the log from the oldest of them on.
prune() {
    ls "$backup/base" | sort | head -n "-$1" | while read -r old; do
        rm -r "${backup:?}/base/$old"
    done
    oldest=$(ls "$backup/base" | sort | head -n 1)
    if [ -n "$oldest" ]; then
        first=$(tar -xzOf "$backup/base/$oldest/base.tar.gz" backup_label |
            sed -n 's/^START WAL LOCATION.*(file \([0-9A-F]*\))$/\1/p')
        if [ -n "$first" ]; then
            pg_archivecleanup -x .gz "$backup/wal" "$first"
        else
            echo "$backup/base/$oldest cannot be read: while it is there, no log is removed" >&2
        fi
    fi
}

# Before the new one, which may need the room. The last one stays in any case.
rm -rf "$backup"/.part-*
prune "$((keep > 1 ? keep - 1 : 1))"

trap 'rm -rf "$part"' EXIT
pg_basebackup -U "$POSTGRES_USER" -D "$part" -Ft -z -X fetch -c fast
sync
mv "$part" "$backup/base/$name"
sync "$backup/base"
prune "$keep"
echo "$backup/base/$name"

sh "$(dirname "$0")/check.sh"
