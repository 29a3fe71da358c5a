-- The history of the database, as its timeline. A replica that is promoted begins a new one, and
-- may lack the last commits of the old one. Where the server does not permit this query, every
-- history looks the same.
DO $$ BEGIN
    PERFORM pg_walfile_name(pg_current_wal_lsn());
    CREATE FUNCTION instance_history() RETURNS text LANGUAGE sql AS
        'SELECT left(pg_walfile_name(pg_current_wal_lsn()), 8)';
EXCEPTION WHEN insufficient_privilege OR feature_not_supported OR undefined_function THEN
    RAISE WARNING 'this server does not tell its timeline: a promotion goes unnoticed';
    CREATE FUNCTION instance_history() RETURNS text LANGUAGE sql AS 'SELECT text ''unknown''';
END $$;

-- An instance belongs to the history in which it was registered, and to no other.
ALTER TABLE instance ADD COLUMN history text NOT NULL DEFAULT instance_history();
-- The number of an instance is random. A sequence goes back when commits are lost, and would give a
-- number twice.
ALTER TABLE instance ALTER COLUMN id DROP IDENTITY;
