//! The context of every answer: the present time, and which sources are recordings.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use data_sources::{Clock, Mode};
use jiff::Timestamp;

/// The clock that ages data, and the mode of each source.
pub(crate) struct Context {
    clock: Arc<dyn Clock>,
    /// The mode of the nodes of all chains.
    nodes: Mode,
    /// The mode of every other source, by its id.
    modes: BTreeMap<&'static str, Mode>,
}

impl Context {
    /// Makes the context. `nodes` is the mode of all chains' nodes. `modes` holds the mode of every
    /// other source by its id.
    pub(crate) fn new(
        clock: Arc<dyn Clock>,
        nodes: Mode,
        modes: BTreeMap<&'static str, Mode>,
    ) -> Self {
        Self {
            clock,
            nodes,
            modes,
        }
    }

    /// The clock that ages data.
    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// The present time on the clock that ages data.
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The mode of a source: live or recorded. An unknown source counts as live.
    pub(crate) fn mode_of(&self, source: &str) -> Mode {
        if source.starts_with("rpc.") {
            return self.nodes;
        }
        self.modes.get(source).copied().unwrap_or(Mode::Live)
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("nodes", &self.nodes)
            .field("modes", &self.modes)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use data_sources::SystemClock;

    use super::*;

    #[test]
    fn nodes_have_one_mode_and_every_other_source_its_own() {
        let modes = BTreeMap::from([("a.one", Mode::Replay), ("b.two", Mode::Live)]);
        let context = Context::new(Arc::new(SystemClock), Mode::Replay, modes);
        assert_eq!(context.mode_of("rpc.eip155-196"), Mode::Replay);
        assert_eq!(context.mode_of("a.one"), Mode::Replay);
        assert_eq!(context.mode_of("b.two"), Mode::Live);
        assert_eq!(context.mode_of("unknown"), Mode::Live);
    }
}
