//! Computes how many connections the process's limit of open descriptors allows.

/// The number of descriptors that connections never use. They are kept for the ledger's files, for
/// upstreams and for settlements, so that idle connections cannot make a paid call fail half-way.
/// When the limit is below twice this number, half of the limit is kept.
pub const RESERVED_DESCRIPTORS: usize = 256;

/// How many connections fit into a limit of descriptors: at most `wanted`, at least one. Without a
/// limit, all of them fit.
pub(crate) fn connections(wanted: usize, limit: Option<usize>) -> usize {
    limit.map_or(wanted, |limit| {
        let reserved = RESERVED_DESCRIPTORS.min(limit / 2);
        wanted.min(limit.saturating_sub(reserved).max(1))
    })
}

/// Raises the process's soft limit of open descriptors to the hard one, which needs no privilege.
/// Returns the limit that now holds; `None` where there is none.
#[cfg(unix)]
pub(crate) fn raise_limit() -> Option<usize> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        let raised = Rlimit {
            current: limit.maximum,
            maximum: limit.maximum,
        };
        // Some systems refuse a value above another limit. Then the soft limit stays as it is.
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
    fn connections_leave_descriptors_for_the_work() {
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
