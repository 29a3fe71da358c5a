//! Mandates, and the yields that they are checked with.

use std::sync::Arc;

use jiff::Timestamp;
use watch_server::{Edition, EditionFuture, Mandates, Store, Yields};
use yield_watch::Snapshot;

use super::{EDITION_FRESH_SECONDS, Sources};

impl Sources {
    /// With a place for mandates. They have the clock by which data ages.
    #[must_use]
    pub fn with_mandates(mut self, store: Arc<dyn Store>) -> Self {
        let clock = self.context.clock().clone();
        self.mandates = Some(Mandates::new(store, Arc::new(move || clock.now())));
        self
    }

    /// The mandates, where they are kept.
    pub(crate) fn mandates(&self) -> Option<&Mandates> {
        self.mandates.as_ref()
    }

    /// Whether the yields are gathered that mandates are checked with.
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
                    // In whole seconds, as the times of checks.
                    taken_at: Timestamp::from_second(taken_at.as_second()).unwrap_or(taken_at),
                    max_age_seconds: EDITION_FRESH_SECONDS,
                },
                markets: match self.wallets.actions {
                    // What wallets can move into is read from the chain as well.
                    Some(_) => self.defi.with_reserves(&edition).await,
                    None => edition.markets.clone(),
                },
            })
        })
    }
}
