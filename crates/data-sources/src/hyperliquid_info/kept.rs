//! Detects dropped fills. The venue keeps the newest ten thousand fills of an account. Older ones
//! are gone, and their span of time looks empty.

use alloy_primitives::Address;
use jiff::{SignedDuration, Timestamp};
use readings::derivatives::{HistoryItem, HistoryKind, Window};

use super::{
    HyperliquidInfo,
    purse::{Purse, most},
};
use crate::{error::Error, provenance::Sourced};

/// A span that ended this recently counts as ending now.
const JUST_NOW: SignedDuration = SignedDuration::from_mins(1);

/// The first page of all fills that the venue has.
#[derive(Clone, Copy, Debug)]
pub(super) struct OldestFills {
    first: Option<Timestamp>,
    count: usize,
}

impl HyperliquidInfo {
    /// The time of the oldest fill of `user` that the venue has, when `window` reaches beyond it
    /// and older ones may have been dropped.
    ///
    /// A window that ends now needs no check: the venue keeps more pages than are read of it. An
    /// account whose fills fit on one page has lost none.
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
