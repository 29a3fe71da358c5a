#!/bin/sh
# Writes a backup of the whole database into /backup/base, and keeps the newest seven with the log that they need.
#
#   docker compose exec -u postgres postgres sh /scripts/backup.sh
#
# Together with the archived log in /backup/wal the newest one restores the database to its last commit.

set -eu

backup=${BACKUP:-/backup}
keep=${KEEP:-7}
name=$(date -u +%Y%m%dT%H%M%SZ)

mkdir -p "$backup/base" "$backup/wal"
pg_basebackup -U "$POSTGRES_USER" -D "$backup/.part-$name" -Ft -z -X fetch -c fast
sync
mv "$backup/.part-$name" "$backup/base/$name"

ls "$backup/base" | sort | head -n "-$keep" | while read -r old; do
    rm -r "${backup:?}/base/$old"
done

oldest=$(ls "$backup/base" | sort | head -n 1)
first=$(tar -xzOf "$backup/base/$oldest/base.tar.gz" backup_label | sed -n 's/^START WAL LOCATION.*(file \([0-9A-F]*\))$/\1/p')
pg_archivecleanup "$backup/wal" "$first"
echo "$backup/base/$name"
