//! Tests of the password of a database: the server reads it from a file, and never prints it.

use test_support::postgres::Schema;

use super::*;

const PASSWORD: &str = "5ec2e7passw0rd";

/// Makes a desk with the most verbose log.
fn desk(storage: &str) -> Desk {
    let desk = Desk::new();
    let file = format!(
        "{PAYEE}settlement.facilitator_url = 'http://127.0.0.1:9'\nlog.filter = 'trace'\n{storage}\n"
    );
    std::fs::write(desk.folder.path().join("api.toml"), file).unwrap();
    desk
}

/// Runs a command of the program. Returns the exit code and its whole output.
fn written(desk: &Desk, command: &[&str]) -> (i32, String) {
    let config = desk.folder.path().join("api.toml");
    let config = ["--config", config.to_str().unwrap()];
    let output = run(&[command, &config].concat(), &[]);
    let all = output.stdout + &output.stderr;
    assert!(!all.contains(PASSWORD), "{command:?}: {all}");
    (output.code, all)
}

/// The arguments of every command on the ledger.
fn commands(old: &str) -> Vec<Vec<&str>> {
    let commands: &[&[&str]] = &[
        &["list"],
        &["list", "--state", "all", "--json"],
        &["show", "--entry", "1"],
        &["export", "--format", "csv"],
        &["stats"],
        &["reconcile"],
        &["resolve", "--entry", "1", "--released", "why"],
        &["import", "--from", old],
    ];
    let mut all = Vec::new();
    for command in commands {
        all.push([&["ledger"], *command].concat());
    }
    all
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_command_prints_the_password_of_the_database() {
    let folder = tempfile::tempdir().unwrap();
    let old = format!("sqlite://{}", folder.path().join("old.db").display());
    drop(SqliteLedger::open(&old, Options::default()).unwrap());

    let away = format!("postgres://svc:{PASSWORD}@127.0.0.1:9/payments");
    let desk = desk(&format!("storage.url = '{away}'"));
    for command in commands(&old) {
        let (code, said) = written(&desk, &command);
        assert_eq!(code, 1, "{command:?}: {said}");
        assert!(said.contains("storage.url: "), "{command:?}: {said}");
    }
    let (code, said) = written(&desk, &["serve"]);
    assert_eq!(code, 2, "{said}");
    let (code, said) = written(&desk, &["check-config"]);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("ledger postgres://127.0.0.1:9/payments\n"));
    written(&desk, &["check-config", "--online"]);

    let Some(schema) = Schema::new() else { return };
    // The database trusts this machine, and ignores the password.
    let url = schema.url().replacen('@', &format!(":{PASSWORD}@"), 1);
    let desk = self::desk(&format!("storage.url = '{url}'"));
    open(&url).await.close().await.unwrap();
    for command in commands(&old) {
        written(&desk, &command);
    }
    written(&desk, &["check-config", "--online"]);
}

#[test]
fn the_address_is_read_from_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("database");
    let url = format!("postgres://svc:{PASSWORD}@db.example/payments?sslmode=require");
    test_support::private_file(&secret, format!("{url}\n"));
    let from_file = desk(&format!("storage.url_file = '{}'", secret.display()));
    let (code, said) = written(&from_file, &["check-config"]);
    assert_eq!(code, 0, "{said}");
    assert!(
        said.contains("ledger postgres://db.example:5432/payments\n"),
        "{said}"
    );

    // A second address, also from the environment, would be another ledger.
    let config = from_file.folder.path().join("api.toml");
    for command in ["check-config", "serve"] {
        let arguments = [command, "--config", config.to_str().unwrap()];
        let output = run(&arguments, &[("SVC__STORAGE__URL", "sqlite://x/other.db")]);
        output.error(2, &["storage.url_file: storage.url is set as well"]);
        assert!(!output.stderr.contains(PASSWORD), "{output:?}");
    }

    for (content, expected) in [
        ("", "storage.url_file: "),
        (
            "mysql://svc:5ec2e7passw0rd@host/db",
            "storage.url: expected",
        ),
        ("postgres://svc:5ec2e7passw0rd@host", "it names no database"),
    ] {
        test_support::private_file(&secret, content);
        let (code, said) = written(&from_file, &["check-config"]);
        assert_eq!(code, 2, "{said}");
        assert!(said.contains(expected), "{said}");
    }
    std::fs::remove_file(&secret).unwrap();
    let (code, said) = written(&from_file, &["check-config"]);
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("storage.url_file: cannot read"), "{said}");
}
