//! Which fills the venue still has: the newest ten thousand of an account. Older ones are gone, and
//! a span of time that had them looks like one in which nothing happened.

use alloy_primitives::Address;
use jiff::{SignedDuration, Timestamp};
use readings::derivatives::{HistoryItem, HistoryKind, Window};

use super::{HyperliquidInfo, history::most, purse::Purse};
use crate::{error::Error, provenance::Sourced};

/// A span that ends so long ago ends now.
const JUST_NOW: SignedDuration = SignedDuration::from_mins(1);

/// The first page of everything that the venue has.
#[derive(Clone, Copy, Debug)]
pub(super) struct OldestFills {
    first: Option<Timestamp>,
    count: usize,
}

impl HyperliquidInfo {
    /// The time of the oldest fill of `user` that the venue has, when `window` reaches beyond it
    /// and older ones may have been dropped.
    ///
    /// A window until now needs no look: it is told in fewer pages than the venue keeps. An account
    /// whose fills fit on one page has lost none.
    pub(super) async fn dropped_before(
        &self,
        user: Address,
        window: Window,
        purse: &mut Purse,
    ) -> Result<Option<Timestamp>, Error> {
        if self.source.now().duration_since(window.end) <= JUST_NOW {
            return Ok(None);
        }
        let oldest = self.oldest_fills(user).await?.value;
        purse.spend(oldest.count);
        let full = oldest.count >= most(HistoryKind::Fill);
        Ok(oldest.first.filter(|first| full && *first >= window.start))
    }

    async fn oldest_fills(&self, user: Address) -> Result<Sourced<OldestFills>, Error> {
        let this = self.clone();
        let fetch = move || async move {
            let (start, end) = (Timestamp::UNIX_EPOCH, this.source.now());
            let page = this.page(user, HistoryKind::Fill, start, end).await?;
            Ok(page.map(|items| OldestFills {
                first: items.iter().map(HistoryItem::time).min(),
                count: items.len(),
            }))
        };
        self.oldest.get(user, None, fetch).await
    }
}
