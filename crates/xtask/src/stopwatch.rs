//! Elapsed seconds, and processor seconds of the programs that a task starts.

use std::fmt;
use std::fs;
use std::time::{Duration, Instant};

/// Measures from its start.
#[derive(Debug)]
pub struct Stopwatch {
    started: Instant,
    processor: Option<Duration>,
}

/// The time that something took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spent {
    /// From start to end.
    pub elapsed: Duration,
    /// On all processors, by programs that have ended. `None` where the system does not tell.
    pub processor: Option<Duration>,
}

impl Stopwatch {
    /// Starts it.
    #[must_use]
    pub fn start() -> Self {
        Self {
            started: Instant::now(),
            processor: of_children(),
        }
    }

    /// Returns the time since the start.
    #[must_use]
    pub fn spent(&self) -> Spent {
        let processor = of_children().zip(self.processor);
        Spent {
            elapsed: self.started.elapsed(),
            processor: processor.map(|(now, then)| now.saturating_sub(then)),
        }
    }
}

impl fmt::Display for Spent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>7.1} s", self.elapsed.as_secs_f64())?;
        match self.processor {
            Some(processor) => write!(f, " {:>7.1} CPU-s", processor.as_secs_f64()),
            None => write!(f, " {:>7} CPU-s", "?"),
        }
    }
}

/// Returns the processor time of all child processes that have ended, with their own children.
fn of_children() -> Option<Duration> {
    children_in(&fs::read_to_string("/proc/self/stat").ok()?)
}

/// Reads `cutime` and `cstime`, the members 16 and 17 of proc_pid_stat(5). Linux counts them in
/// hundredths of a second on all common platforms. The second member is the program's name in
/// parentheses, and may contain spaces.
fn children_in(stat: &str) -> Option<Duration> {
    let (_, members) = stat.rsplit_once(')')?;
    let mut members = members.split_whitespace().skip(13);
    let user: u64 = members.next()?.parse().ok()?;
    let system: u64 = members.next()?.parse().ok()?;
    Some(Duration::from_millis(
        user.saturating_add(system).saturating_mul(10),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command;

    #[test]
    fn the_times_of_children_are_read_after_the_name() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194304 100 200 0 0 5 6 150 25 20 0 1 0 99 1000 10";
        assert_eq!(children_in(stat), Some(Duration::from_millis(1_750)));
        assert_eq!(children_in("7 (a) S 1"), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_program_that_works_takes_processor_time() {
        let watch = Stopwatch::start();
        let count = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done";
        command::run(command::program("sh").args(["-c", count])).unwrap();
        let spent = watch.spent();
        assert!(spent.processor > Some(Duration::ZERO), "{spent}");
        assert!(spent.elapsed > Duration::ZERO);
    }
}
