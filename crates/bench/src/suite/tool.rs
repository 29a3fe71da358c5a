//! The size and the start of `fence-cli`.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::site::Site;
use crate::BenchError;
use crate::report::{Amount, Finding, Limit, Report};

const STARTS: usize = 51;

pub(super) fn run(site: &Site, report: &mut Report) -> Result<(), BenchError> {
    let program = site.tool();
    let (size, start) = measured(&program, STARTS)?;
    report.add(Finding {
        name: "fence-cli, size as it is shipped",
        ours: Amount::Memory(size),
        limit: Limit::AtMost(Amount::Memory(10 << 20)),
    });
    report.add(Finding {
        name: "fence-cli --version, start to end",
        ours: Amount::Time(start),
        limit: Limit::AtMost(Amount::Time(Duration::from_millis(10))),
    });
    Ok(())
}

/// The size of a program's file, and the median time of several runs of `--version`.
fn measured(program: &Path, starts: usize) -> Result<(u64, Duration), BenchError> {
    let file = program.metadata().map_err(BenchError::io(program))?;
    if !file.is_file() || file.permissions().mode() & 0o100 == 0 {
        return Err(BenchError::io(program)(
            std::io::ErrorKind::PermissionDenied.into(),
        ));
    }
    let mut times = Vec::new();
    for _ in 0..starts {
        let begun = Instant::now();
        let status = Command::new(program)
            .arg("--version")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .status()
            .map_err(BenchError::io(program))?;
        times.push(begun.elapsed());
        if !status.success() {
            return Err(BenchError::io(program)(std::io::Error::other(
                "--version ended with an error",
            )));
        }
    }
    times.sort_unstable();
    let median = times.get(starts / 2).copied().unwrap_or(Duration::MAX);
    Ok((file.len(), median))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_measured_and_one_that_fails_is_not() {
        let (size, start) = measured(Path::new("/bin/true"), 3).unwrap();
        assert!(size > 0 && start < Duration::MAX);
        assert!(measured(Path::new("/bin/false"), 1).is_err());
        assert!(measured(Path::new("/no/such/program"), 1).is_err());
        assert!(measured(Path::new("/etc"), 1).is_err());
    }
}
