//! Runs tests on PostgreSQL: starts a throw-away cluster, and runs the suites of all stores on it.
//!
//! All other tests run the suites on SQLite. Here the suites run again with `TEST_POSTGRES_URL`, so
//! they open their stores in schemas of that database.

use std::process::Command;

use postgres_cluster::Cluster;

use crate::XtaskError;
use crate::command;
use crate::counts::Counts;
use crate::suite::{self, Run, TestBinary};

/// The variable with the address of the database.
const DATABASE: &str = "TEST_POSTGRES_URL";

/// The test targets of the crates whose tests use a schema of the database, and which tests of each
/// run again.
pub const SUITES: &[(&str, &[&str])] = &[
    ("ledger", &[]),
    ("storage", &[]),
    ("tx_sender", &["store::", "sharing::in_postgres"]),
    ("watch_server", &[]),
    ("custody", &["records::"]),
    ("gas_funding", &[]),
    ("wallet_actions", &["store"]),
    ("fence_server", &[]),
    (
        "api_server",
        &[
            "process::postgres",
            "process::failover",
            "process::ledger",
            "process::online",
        ],
    ),
    ("test_support", &["postgres"]),
];

/// The unit tests of a library of which one runs again on the database.
const IN_A_LIBRARY: (&str, &[&str]) = (
    "api_server",
    &["the_journal_on_postgresql_behaves_as_its_model"],
);

/// Starts a cluster, and runs the suites among these binaries on it. Installs Debian's package
/// first when there is no PostgreSQL.
///
/// # Errors
/// There is no PostgreSQL and none can be installed, the cluster does not start, a suite is not
/// among the binaries, or a test fails.
pub fn test(binaries: &[TestBinary], counts: &mut Counts) -> Result<(), XtaskError> {
    if !Cluster::is_installed() {
        install()?;
    }
    let cluster = Cluster::start()?;
    let suites = SUITES.iter().map(|suite| (suite, false));
    let suites = suites.chain([(&IN_A_LIBRARY, true)]);
    let runs = suites.map(|(&(target, filters), is_unit)| {
        Ok(Run {
            arguments: filters.iter().copied().map(str::to_owned).collect(),
            variables: vec![(DATABASE, cluster.url().to_owned())],
            ..Run::all(suite::find(binaries, target, is_unit)?)
        })
    });
    suite::run(runs.collect::<Result<_, XtaskError>>()?, counts)
}

/// Installs Debian's package.
fn install() -> Result<(), XtaskError> {
    println!("PostgreSQL is missing: installing Debian's package");
    let id = Command::new("id").arg("-u").output();
    let is_root = id.is_ok_and(|output| output.stdout.trim_ascii() == b"0");
    let names = ["install", "--yes", "--no-install-recommends", "postgresql"];
    for arguments in [&["update"][..], &names] {
        let mut install = match is_root {
            true => Command::new("apt-get"),
            false => {
                let mut sudo = Command::new("sudo");
                sudo.arg("apt-get");
                sudo
            }
        };
        install
            .args(arguments)
            .env("DEBIAN_FRONTEND", "noninteractive");
        command::run(&mut install)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    /// The path by which a test gets a schema of the database.
    const USE: &str = "test_support::postgres::";

    /// A suite that is missing from the list would pass without opening the database.
    #[test]
    fn every_suite_that_uses_a_schema_is_listed() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut using = Vec::new();
        for folder in ["bins", "crates"] {
            for entry in fs::read_dir(root.join(folder)).unwrap().flatten() {
                let tests = entry.path().join("tests");
                if uses(&tests) {
                    let name = entry.file_name().to_string_lossy().replace('-', "_");
                    using.push(name);
                }
            }
        }
        using.sort();
        let mut run: Vec<String> = SUITES.iter().map(|(name, _)| (*name).to_owned()).collect();
        run.sort();
        assert_eq!(using, run);
    }

    fn uses(path: &Path) -> bool {
        if path.is_dir() {
            let mut entries = fs::read_dir(path).unwrap().flatten();
            return entries.any(|entry| uses(&entry.path()));
        }
        path.extension().is_some_and(|extension| extension == "rs")
            && fs::read_to_string(path).is_ok_and(|text| text.contains(USE))
    }
}
