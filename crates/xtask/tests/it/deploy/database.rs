//! Tests of the scripts for the database.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use super::{read, root};

/// Runs `archive.sh` as PostgreSQL does.
fn archive(backup: &Path, piece: &Path, name: &str) -> Output {
    Command::new("sh")
        .arg(root().join("docs/deploy/postgres/archive.sh"))
        .args([piece.as_os_str(), name.as_ref()])
        .env("BACKUP", backup)
        .output()
        .unwrap()
}

#[test]
fn a_piece_of_the_log_is_archived_again_after_a_crash_and_another_one_never_replaces_it() {
    const NAME: &str = "000000010000000000000007";
    let folder = tempfile::tempdir().unwrap();
    let (backup, piece) = (folder.path(), folder.path().join("piece"));
    let wal = backup.join("wal");
    fs::create_dir(&wal).unwrap();
    let mut content = b"the log".repeat(1000);
    content.resize(1 << 20, 0);
    fs::write(&piece, &content).unwrap();

    // A killed call has left a part of the file.
    fs::write(wal.join(format!(".{NAME}.gz")), "half").unwrap();
    // The second time, PostgreSQL has not recorded that the first call succeeded.
    for _ in 0..2 {
        let output = archive(backup, &piece, NAME);
        assert!(output.status.success(), "{output:?}");
    }
    let names = fs::read_dir(&wal)
        .unwrap()
        .map(|it| it.unwrap().file_name());
    assert_eq!(names.collect::<Vec<_>>(), [format!("{NAME}.gz").as_str()]);

    // The piece is restored with the command of restore.sh.
    let restore = read("docs/deploy/postgres/restore.sh");
    let line = restore.lines().find(|it| it.starts_with("restore_command"));
    let command = line.unwrap().split('\'').nth(1).unwrap();
    let restored = folder.path().join("restored");
    let command = command
        .replace("$backup", backup.to_str().unwrap())
        .replace("%f", NAME)
        .replace("%p", restored.to_str().unwrap());
    let status = |command: &str| Command::new("sh").args(["-c", command]).status().unwrap();
    assert!(status(&command).success(), "{command}");
    assert!(fs::read(&restored).unwrap() == content);
    let missing = command.replace(NAME, "000000010000000000000008");
    assert!(!status(&missing).success());

    fs::write(&piece, "another log").unwrap();
    let output = archive(backup, &piece, NAME);
    assert!(!output.status.success(), "{output:?}");
    assert!(status(&command).success());
    assert!(fs::read(&restored).unwrap() == content);
}

/// An attacker who controls a server could otherwise run programs on the database's machine.
#[test]
fn the_servers_are_no_superuser() {
    let compose = read("docs/deploy/compose.yaml");
    assert!(compose.contains("POSTGRES_USER: postgres\n"));
    assert!(compose.contains("postgres://svc:${POSTGRES_PASSWORD:?}@"));
    let init = read("docs/deploy/postgres/init.sh");
    for line in [
        "CREATE ROLE svc LOGIN PASSWORD :'password';",
        "CREATE DATABASE svc OWNER svc;",
        "ALTER ROLE CURRENT_USER PASSWORD NULL;",
    ] {
        assert!(init.lines().any(|it| it == line), "{line}");
    }
}
