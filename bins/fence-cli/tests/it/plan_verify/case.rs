//! A run of the binary on the three files of a verification.

use std::{fs, path::PathBuf, process::Command};

use serde_json::{Value, json};
use sha3::{Digest as _, Keccak256};
use tempfile::TempDir;
use test_support::process::{Ended, run, run_on};

/// The time at which the vectors were verified.
pub(crate) const NOW: &str = "2026-09-21T14:13:30Z";
pub(crate) const RAILS: [&str; 4] = ["swap", "bridge", "pm_order", "perp_order"];

/// The three files of a verification. A test can change each of them.
pub(crate) struct Case {
    pub(crate) plan: Vec<u8>,
    pub(crate) request: Vec<u8>,
    pub(crate) fees: Vec<u8>,
    folder: TempDir,
}

impl Case {
    /// The files of a rail's vector.
    pub(crate) fn of(rail: &str) -> Self {
        Self {
            plan: vector(&format!("{rail}.plan.json")),
            request: vector(&format!("{rail}.request.json")),
            fees: vector("fees.toml"),
            folder: tempfile::tempdir().unwrap(),
        }
    }

    /// Changes the plan, and leaves its digest.
    pub(crate) fn edit_plan(mut self, change: impl FnOnce(&mut Value)) -> Self {
        self.plan = edited(&self.plan, change);
        self
    }

    /// Changes the plan and recomputes its digest, as an attacker would.
    pub(crate) fn forge_plan(self, change: impl FnOnce(&mut Value)) -> Self {
        self.edit_plan(|plan| {
            change(plan);
            let submission = plan["submission"].as_object_mut().unwrap();
            submission.remove("payload_digest");
            let canonical = serde_json_canonicalizer::to_vec(plan).unwrap();
            let digest: String = Keccak256::digest(canonical)
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect();
            plan["submission"]["payload_digest"] = json!(format!("0x{digest}"));
        })
    }

    /// Changes the request.
    pub(crate) fn edit_request(mut self, change: impl FnOnce(&mut Value)) -> Self {
        self.request = edited(&self.request, change);
        self
    }

    /// Replaces a text of the fee configuration.
    pub(crate) fn edit_fees(mut self, from: &str, to: &str) -> Self {
        let text = String::from_utf8(self.fees).unwrap();
        assert!(text.contains(from));
        self.fees = text.replacen(from, to, 1).into_bytes();
        self
    }

    /// The path of a file of the case.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Verifies the plan at the time of the vectors.
    pub(crate) fn run(&self) -> Ended {
        self.run_with(&["--now", NOW])
    }

    /// Verifies the plan with further arguments.
    pub(crate) fn run_with(&self, more: &[&str]) -> Ended {
        let files = [
            ("plan", &self.plan),
            ("request", &self.request),
            ("fees", &self.fees),
        ];
        let mut command = verify();
        for (name, bytes) in files {
            fs::write(self.path(name), bytes).unwrap();
            command.arg(format!("--{name}")).arg(self.path(name));
        }
        run(command.args(more))
    }

    /// Verifies the plan with the named file on standard input.
    pub(crate) fn run_piping(&self, piped: &str) -> Ended {
        let files = [
            ("plan", &self.plan),
            ("request", &self.request),
            ("fees", &self.fees),
        ];
        let mut command = verify();
        let mut input = &Vec::new();
        for (name, bytes) in files {
            command.arg(format!("--{name}"));
            if name == piped {
                input = bytes;
                command.arg("-");
            } else {
                fs::write(self.path(name), bytes).unwrap();
                command.arg(self.path(name));
            }
        }
        run_on(input, command.args(["--now", NOW]))
    }

    /// Asserts that the tool refuses by this name, in text and in JSON. Returns the text after the
    /// name.
    pub(crate) fn refused_by(&self, check: &str) -> String {
        let text = self.run();
        assert_eq!((text.code, text.stdout.as_str()), (1, ""), "{text:?}");
        let said = text
            .stderr
            .strip_prefix("refused: ")
            .unwrap_or_else(|| panic!("{text:?}"));
        let said = said
            .strip_prefix(check)
            .unwrap_or_else(|| panic!("not {check}: {text:?}"));
        let json = self.run_with(&["--now", NOW, "--json"]);
        assert_eq!((json.code, json.stderr.as_str()), (1, ""), "{json:?}");
        assert_eq!(json.json()["refused"]["check"], check);
        said.to_owned()
    }
}

/// A command that starts the binary.
pub(crate) fn fence_cli() -> Command {
    Command::new(env!("CARGO_BIN_EXE_fence-cli"))
}

pub(crate) fn verify() -> Command {
    let mut command = fence_cli();
    command.args(["plan", "verify"]);
    command
}

fn vector(name: &str) -> Vec<u8> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/vectors/plans");
    fs::read(folder.join(name)).unwrap()
}

fn edited(json: &[u8], change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let mut value = serde_json::from_slice(json).unwrap();
    change(&mut value);
    value.to_string().into_bytes()
}
