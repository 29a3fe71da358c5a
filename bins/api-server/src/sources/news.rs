//! News and posts.

use data_sources::alternative_me::AlternativeMe;
use data_sources::coindesk::Coindesk;
use data_sources::cryptopanic::Cryptopanic;
use data_sources::lunarcrush::Lunarcrush;
use data_sources::news::{NewsDesk, NewsSources};
use data_sources::okx::Okx;
use data_sources::rss::Rss;
use data_sources::x_api::XApi;
use readings::news::Digest;

use super::connect::Connect;
use crate::answer::LastRendered;
use crate::error::ServeError;
use crate::snapshots::{Current, Snapshot};

/// The sources of news, and their hourly digest.
#[derive(Debug)]
pub(crate) struct News {
    pub(crate) desk: NewsDesk,
    /// The adapters behind the desk.
    pub(crate) feeds: NewsSources,
    pub(crate) lunarcrush: Lunarcrush,
    /// The digest, gathered every hour.
    pub(crate) digest: Current<Digest>,
    /// The last rendered digest.
    pub(crate) rendered: LastRendered<Snapshot<Digest>>,
}

impl News {
    pub(super) fn connect(connect: &Connect<'_>, okx: Okx) -> Result<Self, ServeError> {
        let feeds = NewsSources {
            okx,
            coindesk: connect.one("coindesk", Coindesk::new)?,
            rss: connect.one("rss", Rss::new)?,
            alternative_me: connect.one("alternative_me", AlternativeMe::new)?,
            cryptopanic: connect.one("cryptopanic", Cryptopanic::new)?,
            x_api: connect.one("x_api", XApi::new)?,
        };
        Ok(Self {
            desk: NewsDesk::new(feeds.clone(), connect.clock.clone()),
            feeds,
            lunarcrush: connect.one("lunarcrush", Lunarcrush::new)?,
            digest: Current::nothing(),
            rendered: LastRendered::default(),
        })
    }
}
