//! Which fills the venue still has: the newest ten thousand of an account. Older ones are gone, and a span
//! of time that had them looks like one in which nothing happened.

use alloy_primitives::Address;
use jiff::{SignedDuration, Timestamp};
use readings::derivatives::{HistoryItem, HistoryKind, Window};

use super::{
    HyperliquidInfo,
    history::{PAGES, most},
};
use crate::{
    error::Error,
    provenance::{Provenance, Sourced},
};

/// So many fills of a span until now are fewer than the venue keeps, whatever happened since it was read.
const FEW: usize = 8_000;
/// A span that ends so long ago ends now.
const JUST_NOW: SignedDuration = SignedDuration::from_mins(1);

/// The first page of everything that the venue has.
#[derive(Clone, Copy, Debug)]
pub(super) struct OldestFills {
    first: Option<Timestamp>,
    last: Option<Timestamp>,
    full: bool,
}

impl OldestFills {
    fn of(page: &[HistoryItem]) -> Self {
        let times = || page.iter().map(HistoryItem::time);
        Self {
            first: times().min(),
            last: times().max(),
            full: page.len() >= most(HistoryKind::Fill),
        }
    }
}

impl HyperliquidInfo {
    /// The time before which the venue has dropped fills of `user`, when `window` reaches beyond it.
    /// `told` is how many fills the window has. A window until now with few of them needs no call, and
    /// most others one.
    pub(super) async fn dropped_before(
        &self,
        user: Address,
        window: Window,
        told: usize,
        sources: &mut Vec<Provenance>,
    ) -> Result<Option<Timestamp>, Error> {
        let since = self.source.now().duration_since(window.end);
        if since <= JUST_NOW && told < FEW {
            return Ok(None);
        }
        let oldest = self.oldest_fills(user).await?;
        sources.extend(oldest.sources);
        let oldest = oldest.value;
        if !oldest.full || oldest.first.is_some_and(|first| first < window.start) {
            return Ok(None);
        }
        let kept_from = self.kept_from(user, oldest).await?;
        sources.extend(kept_from.sources);
        Ok(kept_from.value.filter(|from| *from >= window.start))
    }

    async fn oldest_fills(&self, user: Address) -> Result<Sourced<OldestFills>, Error> {
        let this = self.clone();
        let fetch = move || async move {
            let (start, end) = (Timestamp::UNIX_EPOCH, this.source.now());
            let page = this.page(user, HistoryKind::Fill, start, end).await?;
            Ok(page.map(|items| OldestFills::of(&items)))
        };
        self.oldest.get(user, None, fetch).await
    }

    /// The time of the oldest fill when all that there are fill as many pages as the venue keeps; `None`
    /// when there are fewer, so that none was dropped.
    async fn kept_from(
        &self,
        user: Address,
        oldest: OldestFills,
    ) -> Result<Sourced<Option<Timestamp>>, Error> {
        let this = self.clone();
        let fetch = move || async move {
            let mut last = oldest.last;
            let mut sources = Vec::new();
            for _ in 1..PAGES {
                let Some(start) = last else { break };
                let end = this.source.now();
                let page = this.page(user, HistoryKind::Fill, start, end).await?;
                sources = page.sources;
                let next = OldestFills::of(&page.value);
                if !next.full {
                    let value = None;
                    return Ok(Sourced { value, sources });
                }
                last = next.last.filter(|last| *last > start);
            }
            let value = oldest.first;
            Ok(Sourced { value, sources })
        };
        self.kept_from.get(user, None, fetch).await
    }
}
