//! Mandates, and the yields against which they are checked.

use std::sync::Arc;

use jiff::Timestamp;
use watch_server::{Edition, EditionFuture, Mandates, Store, Yields};
use yield_watch::Snapshot;

use super::{EDITION_FRESH_SECONDS, Sources};

impl Sources {
    /// Adds the store of mandates. They use the clock that ages data.
    #[must_use]
    pub fn with_mandates(mut self, store: Arc<dyn Store>) -> Self {
        let clock = self.context.clock().clone();
        self.mandates = Some(Mandates::new(store, Arc::new(move || clock.now())));
        self
    }

    /// The mandates, if they are stored.
    pub(crate) fn mandates(&self) -> Option<&Mandates> {
        self.mandates.as_ref()
    }

    /// Whether the yields for checking mandates are gathered.
    pub(crate) fn gathers_yields(&self) -> bool {
        self.gathers.yields && self.defi.defillama.source().disabled().is_none()
    }
}

impl Yields for Sources {
    fn latest(&self) -> EditionFuture<'_> {
        Box::pin(async {
            let edition = self.defi.newest(self.now()).await?;
            let taken_at = edition.as_of();
            Some(Edition {
                snapshot: Snapshot {
                    id: edition.snapshot_id().to_owned(),
                    // In whole seconds, like the times of checks.
                    taken_at: Timestamp::from_second(taken_at.as_second()).unwrap_or(taken_at),
                    max_age_seconds: EDITION_FRESH_SECONDS,
                },
                markets: match self.wallets.custody {
                    // A move needs two sources that agree on the yields.
                    Some(_) => self.defi.confirmed(&edition, &self.wallets.chains).await,
                    None => edition.markets.clone(),
                },
            })
        })
    }
}
