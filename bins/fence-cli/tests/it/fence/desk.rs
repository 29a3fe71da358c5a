//! A person's desk: a folder with the files of one person, in which the tests run the binary.

use std::{fs, os::unix::fs::PermissionsExt as _, path::PathBuf, process::Command};

use serde_json::{Value, json};
use tempfile::TempDir;
use test_support::process::{Ended, run, run_on};

/// The well-known key that every key file of `fixtures/keystores` holds.
pub(crate) const KEY: &str = "59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d";
pub(crate) const ACCOUNT: &str = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
pub(crate) const DELEGATE: &str = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC";
pub(crate) const PASSWORD: &str = "correct horse";
pub(crate) const PROJECT: &str = "3f2c9b1e-5a44-4d0a-9a52-0c6f3a9b7e11";
pub(crate) const SALT: &str = "0x1111111111111111111111111111111111111111111111111111111111111111";
pub(crate) const GRANT_ID: &str =
    "0x2222222222222222222222222222222222222222222222222222222222222222";
/// The time that every signature here states.
pub(crate) const NOW: &str = "2026-11-21T01:00:00Z";

pub(crate) struct Desk {
    folder: TempDir,
}

impl Desk {
    /// A folder with a key file of cast, its password and the policy.
    pub(crate) fn new() -> Self {
        let desk = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        desk.put("owner.key", &fixture("keystores/cast.json"));
        desk.set_mode("owner.key", 0o600);
        desk.put("password", PASSWORD);
        desk.put("policy.json", &pinned_policy());
        desk
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn put(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn set_mode(&self, name: &str, mode: u32) {
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(mode)).unwrap();
    }

    pub(crate) fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.text(name)).unwrap()
    }

    /// Makes a command in the folder. It has no terminal, and none of this machine's settings.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new("setsid");
        command.args(["-w", program]);
        self.settle(&mut command);
        command
    }

    /// Sets the folder of a command, and removes this machine's settings.
    pub(crate) fn settle(&self, command: &mut Command) {
        command
            .current_dir(self.folder.path())
            .env("HOME", self.folder.path())
            .env_remove("XDG_CONFIG_HOME");
        let ours = std::env::vars_os().map(|(name, _)| name);
        for name in ours.filter(|name| name.to_string_lossy().starts_with("SVC_FENCE_")) {
            command.env_remove(name);
        }
    }

    pub(crate) fn fence_cli(&self) -> Command {
        self.command(env!("CARGO_BIN_EXE_fence-cli"))
    }

    /// Runs the tool; the arguments are separated by white space.
    pub(crate) fn run(&self, arguments: &str) -> Ended {
        self.run_with(arguments, &[])
    }

    /// Runs the tool with further arguments that may hold spaces.
    pub(crate) fn run_with(&self, arguments: &str, more: &[&str]) -> Ended {
        let mut command = self.fence_cli();
        run(command.args(arguments.split_whitespace()).args(more))
    }

    /// Runs the tool with a text on standard input.
    pub(crate) fn run_piping(&self, arguments: &str, input: &str) -> Ended {
        let mut command = self.fence_cli();
        run_on(input.as_bytes(), command.args(arguments.split_whitespace()))
    }

    /// Runs `grant new` into `grant.json`, with further arguments.
    pub(crate) fn new_grant(&self, more: &str) -> Ended {
        self.run(&format!(
            "grant new --policy-file policy.json --account {ACCOUNT} --delegate {DELEGATE} --project-id {PROJECT} \
             --salt {SALT} --grant-id {GRANT_ID} --now {NOW} --out grant.json --force {more}"
        ))
    }

    /// Runs `grant sign` from `grant.json` into `signed.json`, with further arguments.
    pub(crate) fn sign_grant(&self, more: &str) -> Ended {
        self.run(&format!(
            "grant sign --in grant.json --keystore owner.key --password-file password --yes --now {NOW} \
             --out signed.json --force {more}"
        ))
    }

    /// Runs `grant verify` on `signed.json`, with further arguments.
    pub(crate) fn verify_grant(&self, more: &str) -> Ended {
        self.run(&format!(
            "grant verify --in signed.json --policy-file policy.json --project-id {PROJECT} --salt {SALT} {more}"
        ))
    }

    /// Makes a desk with a signed grant.
    pub(crate) fn with_signed_grant() -> Self {
        let desk = Self::new();
        desk.new_grant("").ok();
        desk.sign_grant("").ok();
        desk
    }

    /// Changes a JSON file of the folder.
    pub(crate) fn edit(&self, name: &str, change: impl FnOnce(&mut Value)) {
        let mut value = self.json(name);
        change(&mut value);
        self.put(name, &value.to_string());
    }
}

/// Assertions about runs in which the tool refuses.
pub(crate) trait Refused {
    /// Asserts that the tool refused by this name and wrote no data to standard output.
    fn refused_by(&self, check: &str) -> &str;
}

impl Refused for Ended {
    #[track_caller]
    fn refused_by(&self, check: &str) -> &str {
        self.error(1, &[&format!("refused: {check}: ")]);
        &self.stderr
    }
}

pub(crate) fn fixture(name: &str) -> String {
    root_file(&format!("fixtures/{name}"))
}

pub(crate) fn pinned_policy() -> String {
    root_file("docs/fence-policy.example.json")
}

pub(crate) fn root_file(name: &str) -> String {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::read_to_string(root.join(name)).unwrap()
}

/// A vector on which cast, viem, eth-account and alloy agree.
pub(crate) fn vector(name: &str) -> Value {
    let vectors: Value = serde_json::from_str(&fixture("vectors/delegation.json")).unwrap();
    let vector = &vectors[name];
    json!({"typed_data": vector["typed_data"], "signature": vector["signature"], "vector": vector})
}
