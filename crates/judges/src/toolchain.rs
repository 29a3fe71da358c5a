//! Where the foreign programs are.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use tokio::process::Command;

use crate::JudgeError;

/// The foreign programs and packages, as `cargo xtask e2e` installs them.
#[derive(Debug, Clone)]
pub struct Toolchain {
    js: PathBuf,
    python_x402: PathBuf,
    python_okx: PathBuf,
    anvil: PathBuf,
}

impl Toolchain {
    /// Reads `JUDGES_JS` (a folder with `node_modules`), `JUDGES_PY_X402` and `JUDGES_PY_OKX` (the
    /// interpreters of two virtual environments) and `JUDGES_ANVIL` (a binary).
    ///
    /// # Errors
    /// [`JudgeError::Variable`] names the first that is not set.
    pub fn from_env() -> Result<Self, JudgeError> {
        let path = |name| {
            env::var_os(name)
                .filter(|value| !value.is_empty())
                .map(PathBuf::from)
                .ok_or(JudgeError::Variable { name })
        };
        Ok(Self {
            js: path("JUDGES_JS")?,
            python_x402: path("JUDGES_PY_X402")?,
            python_okx: path("JUDGES_PY_OKX")?,
            anvil: path("JUDGES_ANVIL")?,
        })
    }

    /// Node on a script of this crate's `js` folder.
    #[must_use]
    pub fn node(&self, script: &str) -> Command {
        let scripts = scripts("js");
        let mut command = Command::new("node");
        command
            .arg("--import")
            .arg(scripts.join("packages.mjs"))
            .arg(scripts.join(script))
            .env("JUDGES_JS", &self.js);
        command
    }

    /// Python with the reference implementation of x402, on a script of this crate's `py` folder.
    #[must_use]
    pub fn python_x402(&self, script: &str) -> Command {
        python(&self.python_x402, script)
    }

    /// Python with the x402 implementation of OKX, on a script of this crate's `py` folder.
    #[must_use]
    pub fn python_okx(&self, script: &str) -> Command {
        python(&self.python_okx, script)
    }

    /// The local chain.
    #[must_use]
    pub fn anvil(&self) -> Command {
        Command::new(&self.anvil)
    }

    /// The command-line client of `@agentcash/discovery`.
    #[must_use]
    pub fn discovery(&self) -> Command {
        let mut command = Command::new("node");
        command.arg(
            self.js
                .join("node_modules/@agentcash/discovery/bin/discovery.js"),
        );
        command
    }

    /// `cast`, from the package of this platform: the one in npm's `.bin` folder wants an install
    /// script to have run.
    ///
    /// # Errors
    /// [`JudgeError::File`] when there is none.
    pub fn cast(&self) -> Result<Command, JudgeError> {
        let folder = self.js.join("node_modules/@foundry-rs");
        let error = |source| JudgeError::File {
            path: folder.join("cast-*/bin/cast"),
            source,
        };
        fs::read_dir(&folder)
            .map_err(error)?
            .flatten()
            .filter(|entry| entry.file_name().to_string_lossy().starts_with("cast-"))
            .map(|entry| entry.path().join("bin").join("cast"))
            .find(|path| path.exists())
            .map(Command::new)
            .ok_or_else(|| error(std::io::ErrorKind::NotFound.into()))
    }
}

fn python(interpreter: &Path, script: &str) -> Command {
    let mut command = Command::new(interpreter);
    command.arg("-B").arg(scripts("py").join(script));
    command
}

fn scripts(language: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(language)
}
