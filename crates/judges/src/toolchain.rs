//! Locates the foreign programs, and makes the commands that start them.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use tokio::process::Command;

use crate::JudgeError;

/// The foreign programs and packages that `cargo xtask e2e` installs.
#[derive(Debug, Clone)]
pub struct Toolchain {
    js: PathBuf,
    python_x402: PathBuf,
    python_okx: PathBuf,
    anvil: PathBuf,
    js_agent: PathBuf,
    node: PathBuf,
    python_agent: PathBuf,
    python_mcp: PathBuf,
}

impl Toolchain {
    /// Reads the variables that the README names: folders with `node_modules`, interpreters of
    /// virtual environments, and binaries.
    ///
    /// # Errors
    /// [`JudgeError::Variable`] names the first one that is not set.
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
            js_agent: path("JUDGES_JS_AGENT")?,
            node: path("JUDGES_NODE")?,
            python_agent: path("JUDGES_PY_AGENT")?,
            python_mcp: path("JUDGES_PY_MCP")?,
        })
    }

    /// Node with a script of this crate's folder `js`.
    #[must_use]
    pub fn node(&self, script: &str) -> Command {
        node(Path::new("node"), &self.js, script)
    }

    /// The pinned version of Node with a script of this crate's folder `js`, and with the packages
    /// that judge the agent rail.
    #[must_use]
    pub fn node_agent(&self, script: &str) -> Command {
        node(&self.node, &self.js_agent, script)
    }

    /// The official conformance suite of the agent rail's protocol.
    #[must_use]
    pub fn conformance(&self) -> Command {
        let mut command = Command::new(&self.node);
        command.arg(
            self.js_agent
                .join("node_modules/@modelcontextprotocol/conformance/dist/index.js"),
        );
        command
    }

    /// Node with a module that it reads from standard input.
    #[must_use]
    pub fn node_input(&self) -> Command {
        let mut command = node_alone(Path::new("node"), &self.js);
        // Node looks for packages from the folder of the scripts.
        command
            .args(["--input-type=module", "-"])
            .current_dir(scripts("js"));
        command
    }

    /// Python with the reference implementation of x402, and a script of this crate's folder `py`.
    #[must_use]
    pub fn python_x402(&self, script: &str) -> Command {
        python(&self.python_x402, script)
    }

    /// Python with the reference implementation of x402, and a program that it reads from standard
    /// input.
    #[must_use]
    pub fn python_x402_input(&self) -> Command {
        let mut command = Command::new(&self.python_x402);
        command.args(["-B", "-"]);
        command
    }

    /// Python with the x402 implementation of OKX, and a script of this crate's folder `py`.
    #[must_use]
    pub fn python_okx(&self, script: &str) -> Command {
        python(&self.python_okx, script)
    }

    /// Python with the decoders and signers of the agent rail, and a script of this crate's folder
    /// `py`.
    #[must_use]
    pub fn python_agent(&self, script: &str) -> Command {
        python(&self.python_agent, script)
    }

    /// Python with the decoders and signers of the agent rail, without a script.
    #[must_use]
    pub fn python_agent_interpreter(&self) -> Command {
        Command::new(&self.python_agent)
    }

    /// Python with the clients of the agent rail's protocol, and a script of this crate's folder
    /// `py`.
    #[must_use]
    pub fn python_mcp(&self, script: &str) -> Command {
        python(&self.python_mcp, script)
    }

    /// Python with `cryptography`, which the clients of the agent rail's protocol bring, without a
    /// script.
    #[must_use]
    pub fn python_cryptography(&self) -> Command {
        Command::new(&self.python_mcp)
    }

    /// anvil, the local chain.
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

    /// The folder of an npm package.
    #[must_use]
    pub fn js_package(&self, name: &str) -> PathBuf {
        self.js.join("node_modules").join(name)
    }

    /// The program `cast`, from the package for this platform. The one in npm's folder `.bin` would
    /// need an install script.
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

fn node(binary: &Path, packages: &Path, script: &str) -> Command {
    let mut command = node_alone(binary, packages);
    command.arg(scripts("js").join(script));
    command
}

/// Node with packages, without a script.
fn node_alone(binary: &Path, packages: &Path) -> Command {
    let mut command = Command::new(binary);
    command
        .arg("--import")
        .arg(scripts("js").join("packages.mjs"))
        .env("JUDGES_JS", packages);
    command
}

fn python(interpreter: &Path, script: &str) -> Command {
    let mut command = Command::new(interpreter);
    command.arg("-B").arg(scripts("py").join(script));
    command
}

fn scripts(language: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(language)
}
