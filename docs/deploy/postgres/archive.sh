#!/bin/sh
# PostgreSQL runs this for each finished piece of its log (`archive_command`), and again until it succeeds:
#
#   archive.sh PATH NAME
#
# The piece is compressed, because one that ends after a minute is nearly empty and still has 16 MiB.

set -eu

wal=${BACKUP:-/backup}/wal
piece=$wal/$2.gz
part=$wal/.$2.gz

if [ -f "$piece" ]; then
    # PostgreSQL has ended before it could note that the piece was archived. A different piece of this name would be
    # that of another database: it must not be replaced.
    gzip -dc "$piece" | cmp -- - "$1"
    sync "$wal"
    exit
fi
gzip -c <"$1" >"$part"
sync "$part"
mv "$part" "$piece"
# The new name, too, must last.
sync "$wal"
