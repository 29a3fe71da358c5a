//! `api-server wallets`: what an operator does with the keys of sub-wallets.

use alloy_primitives::address;
use custody::{Custody as _, LocalCustody, Owner};
use serde_json::Value;
use tempfile::TempDir;

use crate::config::PAYEE;
use crate::server::{run, text};

const OWNER: Owner = Owner::new(196, address!("70997970C51812dc3A010C7d01b50e0d17dc79C8"));
const SECRET: &str = "5ec2e7d00dfeed under which they are";
const NEW: &str = "5ec2e7d00dfeed under which they come";

/// A folder with a configuration and the secrets.
struct Desk {
    folder: TempDir,
}

impl Desk {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("secret"), SECRET).unwrap();
        std::fs::write(path("new-secret"), NEW).unwrap();
        let file = format!(
            "{PAYEE}settlement.facilitator_url = 'http://127.0.0.1:9'\n\
             [custody]\nprovider = 'local'\ndirectory = '{}'\nsecret_file = '{}'\n",
            path("wallets").display(),
            path("secret").display()
        );
        std::fs::write(path("api.toml"), file).unwrap();
        Self { folder }
    }

    fn path(&self, name: &str) -> String {
        let path = self.folder.path().join(name);
        path.to_str().unwrap().to_owned()
    }

    /// Exit code, standard output, standard error.
    fn run(&self, arguments: &[&str]) -> (Option<i32>, String, String) {
        let config = self.path("api.toml");
        let config = ["--config", &config];
        let output = run(&[&["wallets"], arguments, &config].concat(), &[]);
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        assert!(!stderr.contains("panicked"), "{stderr}");
        for secret in [SECRET, NEW] {
            assert!(!format!("{stdout}{stderr}").contains(secret));
        }
        (output.status.code(), stdout, stderr)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wallets_are_listed_checked_and_written_under_another_secret() {
    let desk = Desk::new();
    // No command makes a folder where a volume is not mounted.
    let (code, _, stderr) = desk.run(&["list"]);
    assert_eq!(code, Some(2));
    assert!(
        stderr.contains("custody.directory: there is no folder at "),
        "{stderr}"
    );

    let folder = desk.folder.path().join("wallets");
    let custody = LocalCustody::open(&folder, SECRET.into()).unwrap();
    assert_eq!(desk.run(&["list"]).1.trim(), "no sub-wallet");
    let wallet = custody.get_or_create(OWNER).await.unwrap();
    let address = wallet.address.to_string();

    let (code, stdout, _) = desk.run(&["list"]);
    assert_eq!(code, Some(0));
    assert!(
        stdout.starts_with(&format!("{OWNER}  {address}  20")),
        "{stdout}"
    );
    let (_, stdout, _) = desk.run(&["list", "--json"]);
    let listed: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(listed[0]["owner"], OWNER.to_string());
    assert_eq!(listed[0]["address"], address);
    assert_eq!(listed[0]["created_at"], wallet.created_at.unwrap());

    let (code, stdout, _) = desk.run(&["check"]);
    assert_eq!(code, Some(0), "{stdout}");
    assert_eq!(
        stdout.trim(),
        format!("{OWNER}: ok: {address}\n1 wallets, 0 cannot be opened")
    );

    let (to, new) = (desk.path("rotated"), desk.path("new-secret"));
    let same = desk.path("wallets");
    let (code, _, stderr) = desk.run(&["rotate", "--to", &same, "--secret-file", &new]);
    assert_eq!(code, Some(2));
    assert!(stderr.contains("--to: expected another folder"), "{stderr}");
    let missing = desk.path("nothing");
    let (code, _, stderr) = desk.run(&["rotate", "--to", &to, "--secret-file", &missing]);
    assert_eq!(code, Some(2));
    assert!(stderr.contains("--secret-file: cannot read "), "{stderr}");

    let (code, stdout, stderr) = desk.run(&["rotate", "--to", &to, "--secret-file", &new]);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stdout.starts_with("1 wallets written to "), "{stdout}");
    let rotated = LocalCustody::open(to.as_ref(), NEW.into()).unwrap();
    assert_eq!(rotated.find(OWNER).await.unwrap(), Some(wallet));

    // One that cannot be opened has a line, and the exit code says so.
    let file = folder.join(format!("eip155-196-{:#x}.json", OWNER.address()));
    std::fs::write(&file, "{}").unwrap();
    let (code, stdout, _) = desk.run(&["check"]);
    assert_eq!(code, Some(1));
    assert!(stdout.contains(&format!("{OWNER}: custody_")), "{stdout}");
    assert!(
        stdout.trim().ends_with("1 wallets, 1 cannot be opened"),
        "{stdout}"
    );
}

#[test]
fn without_custody_there_are_no_wallets() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("api.toml");
    let file = format!("{PAYEE}settlement.facilitator_url = 'http://127.0.0.1:9'\n");
    std::fs::write(&path, file).unwrap();
    let output = run(
        &["wallets", "list", "--config", path.to_str().unwrap()],
        &[],
    );
    assert_eq!(output.status.code(), Some(2));
    let stderr = text(&output.stderr);
    assert!(stderr.contains("custody: is missing"), "{stderr}");
}
