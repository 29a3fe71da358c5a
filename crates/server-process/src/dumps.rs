//! Keeps the memory of the process out of files. A core dump has every key that the process holds.

/// Forbids core dumps of this process. On Linux it also forbids other processes of the same user to
/// read its memory. When the system refuses, a line on standard error says so, and the process goes
/// on. Call it before a secret is read.
#[cfg(unix)]
pub fn forbid_core_dumps() {
    use std::io::Write as _;

    if let Err(error) = forbid() {
        drop(writeln!(
            std::io::stderr(),
            "core dumps of this process are not forbidden: {error}"
        ));
    }
}

#[cfg(unix)]
fn forbid() -> std::io::Result<()> {
    use rustix::process::{Resource, Rlimit, setrlimit};

    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    setrlimit(Resource::Core, none)?;
    // A program that takes dumps from a pipe gets them whatever the limit is.
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};

        set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    }
    Ok(())
}

/// Does nothing on a system without core dumps.
#[cfg(not(unix))]
pub fn forbid_core_dumps() {}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use rustix::process::{DumpableBehavior, Resource, dumpable_behavior, getrlimit};

    use super::*;

    #[test]
    fn a_process_that_forbids_dumps_has_none() {
        forbid_core_dumps();
        let limit = getrlimit(Resource::Core);
        assert_eq!((limit.current, limit.maximum), (Some(0), Some(0)));
        assert_eq!(dumpable_behavior().unwrap(), DumpableBehavior::NotDumpable);
    }
}
