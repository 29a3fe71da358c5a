//! The number of connections that the process's limit of open descriptors allows.

/// Descriptors that connections never use. They are for the ledger's files, for upstreams and for
/// settlements, so that idle sockets cannot make a paid call fail half-way. When the limit is below
/// twice this number, half of it is reserved.
pub const RESERVED_DESCRIPTORS: usize = 256;

/// The number of connections, at most `wanted` and at least one, that fit into a limit of
/// descriptors; all of them without a limit.
pub(crate) fn connections(wanted: usize, limit: Option<usize>) -> usize {
    limit.map_or(wanted, |limit| {
        let reserved = RESERVED_DESCRIPTORS.min(limit / 2);
        wanted.min(limit.saturating_sub(reserved).max(1))
    })
}

/// Raises the process's soft limit of open descriptors to the hard one, which needs no privilege.
/// Returns the effective limit; `None` where there is none.
#[cfg(unix)]
pub(crate) fn raise_limit() -> Option<usize> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        let raised = Rlimit {
            current: limit.maximum,
            maximum: limit.maximum,
        };
        // Some systems refuse a value above another limit: the soft limit then stays.
        let _ = setrlimit(Resource::Nofile, raised);
    }
    let limit = getrlimit(Resource::Nofile).current?;
    usize::try_from(limit).ok()
}

#[cfg(not(unix))]
pub(crate) fn raise_limit() -> Option<usize> {
    None
}

#[cfg(test)]
mod tests {
    use super::connections;

    #[test]
    fn connections_leave_descriptors_for_the_work_itself() {
        for (wanted, limit, connections_) in [
            (16_384, None, 16_384),
            (16_384, Some(1_048_576), 16_384),
            (16_384, Some(16_640), 16_384),
            (16_384, Some(16_639), 16_383),
            (16_384, Some(1_024), 768),
            (100, Some(1_024), 100),
            (16_384, Some(256), 128),
            (16_384, Some(1), 1),
            (16_384, Some(0), 1),
        ] {
            assert_eq!(connections(wanted, limit), connections_, "{limit:?}");
        }
    }
}
