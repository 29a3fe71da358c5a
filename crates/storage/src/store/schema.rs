//! The format of the store's file, and the settings of its connection.

use std::time::Duration;

use crate::sqlite::{Checkpoints, Format, Settings};

/// The format of a server's store. Its application id is `x4sh`.
pub(super) const FORMAT: Format = Format {
    application_id: 0x7834_7368,
    migrations: &[
        include_str!("schema/0001.sql"),
        include_str!("schema/0002.sql"),
        include_str!("schema/0003.sql"),
    ],
};

/// The settings of the connection. Artifacts must be on disk before the answer that refers to them
/// is paid.
pub(super) const SETTINGS: Settings = Settings {
    // So long another instance may take to write an artifact to a slow disk.
    busy_timeout: Duration::from_secs(5),
    // Bodies are large and seldom read twice, so a small cache is enough.
    cache_kib: 1024,
    max_bytes: None,
    checkpoints: Checkpoints::InCommits,
};

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;
    use crate::{sqlite, store::statements::KEPT_BYTES};

    fn folder_with(write: impl FnOnce(&Connection)) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("service.store.db");
        write(&Connection::open(&path).unwrap());
        (folder, path)
    }

    fn version(connection: &Connection) -> u32 {
        connection
            .pragma_query_value(None, "user_version", |row| row.get(0))
            .unwrap()
    }

    /// Each file is as an earlier version has left it, with a row in each table.
    #[test]
    fn files_of_every_version_are_migrated() {
        for written in 1..=FORMAT.migrations.len() {
            let (_folder, path) = folder_with(|connection| {
                for migration in &FORMAT.migrations[..written] {
                    connection.execute_batch(migration).unwrap();
                }
                connection
                    .execute_batch("INSERT INTO lease VALUES ('job', 'a', 9)")
                    .unwrap();
                if written >= 2 {
                    connection
                        .execute_batch("INSERT INTO counter VALUES ('a.month', 8, 7)")
                        .unwrap();
                }
                connection
                    .pragma_update(None, "application_id", FORMAT.application_id)
                    .unwrap();
                connection
                    .pragma_update(None, "user_version", u32::try_from(written).unwrap())
                    .unwrap();
            });
            let connection = sqlite::open(&path, &FORMAT, &SETTINGS).unwrap();
            assert_eq!(version(&connection), 3);
            let count =
                |sql: &str| -> u32 { connection.query_row(sql, [], |row| row.get(0)).unwrap() };
            assert_eq!(count("SELECT count(*) FROM lease"), 1);
            let counters = u32::from(written >= 2);
            assert_eq!(count("SELECT count(*) FROM counter"), counters);
        }
    }

    /// The sum of the sizes and the search for expired artifacts must not read bodies.
    #[test]
    fn upkeep_uses_only_the_index() {
        let (_folder, path) = folder_with(|_| ());
        let connection = sqlite::open(&path, &FORMAT, &SETTINGS).unwrap();
        for sql in [KEPT_BYTES, "SELECT id FROM artifact WHERE expires_at <= 9"] {
            let plan: Vec<String> = connection
                .prepare(&format!("EXPLAIN QUERY PLAN {sql}"))
                .unwrap()
                .query_map([], |row| row.get("detail"))
                .unwrap()
                .map(Result::unwrap)
                .collect();
            assert!(
                plan.iter()
                    .any(|step| step.contains("COVERING INDEX artifact_expiry")),
                "{plan:?}"
            );
        }
    }
}
