//! Builds the binaries of this workspace that are judged.

use std::env;
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;
use tokio::process::Command;

use crate::JudgeError;
use crate::process::run_within;

/// Long enough for a full build that waits for another build, on a small machine.
const BUILD_LIMIT: Duration = Duration::from_secs(3_600);

/// The variable with the folder of programs that were built just before these tests.
const PROGRAMS: &str = "JUDGES_PROGRAMS";

/// Returns the binary of a package. Builds it, unless its folder is given or cargo finds it up to
/// date. So no old binary is judged.
pub(crate) async fn build(package: &'static str) -> Result<PathBuf, JudgeError> {
    if let Some(folder) = env::var_os(PROGRAMS) {
        return Ok(PathBuf::from(folder).join(package));
    }
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo
        .args(["build", "--locked", "--package", package, "--bin", package])
        .arg("--message-format=json-render-diagnostics")
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let messages = run_within(BUILD_LIMIT, cargo, b"").await?;
    messages
        .lines()
        .filter_map(|line| serde_json::from_str::<BuildMessage>(line).ok())
        .find_map(|message| message.executable)
        .ok_or_else(|| JudgeError::Ended {
            program: "cargo build".to_owned(),
            status: "no executable".to_owned(),
            log: messages,
        })
}

/// Builds the command-line tool `fence-cli` of this workspace, and returns its path.
///
/// # Errors
/// cargo cannot build it.
pub async fn fence_cli() -> Result<PathBuf, JudgeError> {
    build("fence-cli").await
}

#[derive(Deserialize)]
struct BuildMessage {
    executable: Option<PathBuf>,
}
