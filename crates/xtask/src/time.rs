//! Measures how long people wait for this workspace: in a clean clone with an empty target folder,
//! and in the loop of work.
//!
//! Processor seconds stay nearly the same on a shared machine; elapsed seconds do not. Both are
//! printed, with the units of compilation that take longest.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::ValueEnum;
use serde::Deserialize;

use crate::XtaskError;
use crate::command;
use crate::stopwatch::{Spent, Stopwatch};

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Part {
    /// The first command of the README, and then the build of all three programs.
    Programs,
    /// A changed line in a crate, until its tests have run.
    Loop,
    /// The build of `api-server` as it is shipped, and its size.
    Shipped,
    /// `cargo xtask test`.
    Test,
}

/// How many units of compilation are listed.
const LISTED: usize = 10;

/// The packages of the loop of work: a leaf, the sources of data, and the routes.
const LOOP: [&str; 3] = ["exact", "data-sources", "api-server"];

/// Measures the parts in a clone of the last commit, in folders below the target folder.
///
/// # Errors
/// The clone cannot be made, or a build fails.
pub fn measure(root: &Path, target: &Path, parts: &[Part]) -> Result<(), XtaskError> {
    let place = target.join("time");
    if place.exists() {
        fs::remove_dir_all(&place).map_err(XtaskError::io(&place))?;
    }
    fs::create_dir_all(&place).map_err(XtaskError::io(&place))?;
    let clone = CleanClone {
        source: place.join("clone"),
        target: place.join("target"),
    };
    let mut git = command::program("git");
    git.args(["clone", "--quiet"]).arg(root).arg(&clone.source);
    command::run(&mut git)?;
    command::run(clone.cargo().args(["fetch", "--locked"]))?;
    for part in parts {
        match part {
            Part::Programs => clone.programs()?,
            Part::Loop => clone.work_loop()?,
            Part::Shipped => clone.shipped()?,
            Part::Test => clone.test()?,
        }
    }
    fs::remove_dir_all(&place).map_err(XtaskError::io(&place))
}

/// A clean clone with a target folder of its own.
struct CleanClone {
    source: PathBuf,
    target: PathBuf,
}

impl CleanClone {
    fn cargo(&self) -> Command {
        let mut cargo = command::cargo();
        cargo
            .current_dir(&self.source)
            .env("CARGO_TARGET_DIR", &self.target);
        cargo
    }

    fn programs(&self) -> Result<(), XtaskError> {
        let first = ["--release", "--locked", "--package", "api-server"];
        let demo = ["--timings", "--", "demo", "--once"];
        let spent = timed(self.cargo().arg("run").args(first).args(demo))?;
        println!("{spent}  the first command");
        self.print_units()?;
        let further = ["--package", "mcp-server", "--package", "fence-cli"];
        let spent = timed(self.cargo().arg("build").args(first).args(further))?;
        println!("{spent}  all three programs after it");
        Ok(())
    }

    fn work_loop(&self) -> Result<(), XtaskError> {
        for package in LOOP {
            let test = ["test", "--locked", "--package", package];
            command::run(self.cargo().args(test).arg("--no-run"))?;
            let source = self.library(package)?;
            let text = fs::read_to_string(&source).map_err(XtaskError::io(&source))?;
            let changed = format!("{text}\n#[doc(hidden)]\npub const CHANGED: u8 = 0;\n");
            fs::write(&source, changed).map_err(XtaskError::io(&source))?;
            let built = timed(self.cargo().args(test).arg("--no-run"))?;
            let ran = timed(self.cargo().args(test))?;
            println!("{built}  compiling a changed line of {package}");
            println!("{ran}  running its tests");
        }
        Ok(())
    }

    fn library(&self, package: &str) -> Result<PathBuf, XtaskError> {
        let file = ["crates", "bins"]
            .map(|folder| self.source.join(folder).join(package).join("src/lib.rs"))
            .into_iter()
            .find(|file| file.exists());
        file.ok_or_else(|| XtaskError::io(package)(std::io::ErrorKind::NotFound.into()))
    }

    fn shipped(&self) -> Result<(), XtaskError> {
        let build = ["build", "--profile", "dist", "--no-default-features"];
        let package = ["--locked", "--package", "api-server"];
        let spent = timed(self.cargo().args(build).args(package))?;
        let program = self.target.join("dist").join("api-server");
        let file = fs::metadata(&program).map_err(XtaskError::io(&program))?;
        let tenths = file.len().saturating_mul(10) >> 20;
        println!("{spent}  api-server as it is shipped");
        println!("{:>7}.{} MiB  its size", tenths / 10, tenths % 10);
        Ok(())
    }

    fn test(&self) -> Result<(), XtaskError> {
        let spent = timed(self.cargo().args(["--locked", "xtask", "test"]))?;
        println!("{spent}  the second command");
        Ok(())
    }

    fn print_units(&self) -> Result<(), XtaskError> {
        let report = self.target.join("cargo-timings").join("cargo-timing.html");
        let report = fs::read_to_string(&report).map_err(XtaskError::io(&report))?;
        let units = units(&report).ok_or(XtaskError::NoUnits)?;
        println!("  the {LISTED} longest of {} units:", units.len());
        for unit in units.iter().take(LISTED) {
            println!("  {:>7.1} s  {}{}", unit.duration, unit.name, unit.target);
        }
        Ok(())
    }
}

fn timed(command: &mut Command) -> Result<Spent, XtaskError> {
    let watch = Stopwatch::start();
    command::run(command)?;
    Ok(watch.spent())
}

/// One unit of compilation, with the seconds from its start to its end.
#[derive(Debug, PartialEq, Deserialize)]
struct Unit {
    name: String,
    /// Empty for a library, else ` build-script`, ` bin "name"` and the like.
    target: String,
    duration: f64,
}

/// Reads the units of a report of `cargo build --timings`, the longest first. The report is a page
/// whose script has them as JSON.
fn units(report: &str) -> Option<Vec<Unit>> {
    let (_, list) = report.split_once("const UNIT_DATA = ")?;
    let (list, _) = list.split_once(";\n")?;
    let mut units: Vec<Unit> = serde_json::from_str(list).ok()?;
    units.sort_by(|one, other| other.duration.total_cmp(&one.duration));
    Some(units)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_units_of_a_report_are_read_the_longest_first() {
        let report = r#"<script>
const DURATION = 90;
const UNIT_DATA = [
  {"i": 0, "name": "syn", "version": "3.0.9", "target": "", "duration": 7.04, "sections": null},
  {"i": 1, "name": "ring", "version": "0.17.0", "target": " build-script (run)", "duration": 9.5}
];
const CONCURRENCY_DATA = [];
"#;
        let units = units(report).unwrap();
        let names: Vec<_> = units.iter().map(|it| (&*it.name, &*it.target)).collect();
        assert_eq!(names, [("ring", " build-script (run)"), ("syn", "")]);
        assert_eq!(super::units("<script>const DURATION = 90;</script>"), None);
    }
}
