#!/bin/sh
# Says on standard error, and with exit code 1, when a loss of the machine would lose more than it should: the newest
# backup is older than 26 hours, or pieces of the log have waited longer than ten minutes for the archive.
#
#   docker compose exec -T -u postgres postgres sh /scripts/check.sh

set -eu

backup=${BACKUP:-/backup}
bad=0

if [ -z "$(find "$backup/base" -mindepth 1 -maxdepth 1 -name '20*' -mmin -1560)" ]; then
    echo "there is no backup of the last 26 hours in $backup/base" >&2
    bad=1
fi
behind=$(psql -U "$POSTGRES_USER" -d postgres -At <<'EOF'
SELECT format('%s pieces of the log are not archived; failures: %s, the last one of %s at %s',
    (SELECT count(*) FROM pg_ls_archive_statusdir() WHERE name LIKE '%.ready'),
    failed_count, coalesce(last_failed_wal, '-'), coalesce(last_failed_time::text, '-'))
FROM pg_stat_archiver
WHERE last_failed_time > coalesce(last_archived_time, '-infinity')
    OR EXISTS (SELECT FROM pg_ls_archive_statusdir()
        WHERE name LIKE '%.ready' AND modification < now() - interval '10 minutes');
EOF
) || { echo "PostgreSQL does not say how far the archive is" >&2; exit 1; }
if [ -n "$behind" ]; then
    echo "$behind: read the log of PostgreSQL" >&2
    bad=1
fi
exit "$bad"
