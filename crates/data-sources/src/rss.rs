//! News feeds of publishers, in RSS or Atom. Each publisher is a separate upstream, so a failing
//! one does not affect the others.

mod feed;

use std::{collections::BTreeMap, sync::Arc};

use readings::news::Article;

use crate::{
    budget::{Families, Rate},
    error::SourceError,
    provenance::{Clock, Sourced},
    source::{Fault, KeyRule, Source, SourceConfig, UpstreamSpec},
    transport::{Limits, Media, Transport, TransportError},
};

const LIMITS: Limits = Limits::USUAL.within_seconds(8).up_to_bytes(4 * 1024 * 1024);

/// One feed: its publisher, its address and its limits.
struct Feed {
    publisher: &'static str,
    /// The path of the feed.
    path: &'static str,
    spec: UpstreamSpec,
}

macro_rules! feed {
    ($publisher:literal, $id:literal, $key:literal, $url:literal, $path:literal) => {
        Feed {
            publisher: $publisher,
            path: $path,
            spec: UpstreamSpec {
                name: "rss",
                urls: &[($key, $url)],
                key: KeyRule::Keyless,
                sources: &[$id],
                families: Families::One(Rate::per_minute(10)),
                limits: LIMITS,
                ..UpstreamSpec::DATA
            },
        }
    };
}

static FEEDS: [Feed; 6] = [
    feed!(
        "CoinDesk",
        "rss.coindesk",
        "coindesk_url",
        "https://www.coindesk.com/arc/outboundfeeds/rss",
        "/"
    ),
    feed!(
        "Cointelegraph",
        "rss.cointelegraph",
        "cointelegraph_url",
        "https://cointelegraph.com/rss",
        ""
    ),
    feed!(
        "The Block",
        "rss.theblock",
        "theblock_url",
        "https://www.theblock.co/rss.xml",
        ""
    ),
    feed!(
        "Decrypt",
        "rss.decrypt",
        "decrypt_url",
        "https://decrypt.co/feed",
        ""
    ),
    feed!(
        "Blockworks",
        "rss.blockworks",
        "blockworks_url",
        "https://blockworks.co/feed",
        ""
    ),
    feed!(
        "The Defiant",
        "rss.thedefiant",
        "thedefiant_url",
        "https://thedefiant.io/feed",
        ""
    ),
];

static SPEC: UpstreamSpec = UpstreamSpec {
    name: "rss",
    urls: &[
        (
            "coindesk_url",
            "https://www.coindesk.com/arc/outboundfeeds/rss",
        ),
        ("cointelegraph_url", "https://cointelegraph.com/rss"),
        ("theblock_url", "https://www.theblock.co/rss.xml"),
        ("decrypt_url", "https://decrypt.co/feed"),
        ("blockworks_url", "https://blockworks.co/feed"),
        ("thedefiant_url", "https://thedefiant.io/feed"),
    ],
    key: KeyRule::Keyless,
    sources: &[
        "rss.coindesk",
        "rss.cointelegraph",
        "rss.theblock",
        "rss.decrypt",
        "rss.blockworks",
        "rss.thedefiant",
    ],
    families: Families::EachAddress(Rate::per_minute(10)),
    limits: LIMITS,
    ..UpstreamSpec::DATA
};

/// News feeds of publishers. Clones share everything.
#[derive(Clone, Debug)]
pub struct Rss {
    feeds: Vec<Source>,
    /// All feeds under one name, for the configuration. It is never asked.
    all: Source,
}

impl Rss {
    /// The feeds and their limits.
    pub const SPEC: &'static UpstreamSpec = &SPEC;

    /// Builds the adapter. It makes no connection yet.
    ///
    /// # Errors
    ///
    /// A [`TransportError`] when an address cannot be used.
    pub fn new(
        transport: &Transport,
        config: SourceConfig,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, TransportError> {
        let own = |feed: &'static Feed| {
            let of_feed =
                |(key, _): &(&String, &String)| feed.spec.urls.iter().any(|(own, _)| own == key);
            let urls: BTreeMap<String, String> = config
                .urls
                .iter()
                .filter(of_feed)
                .map(|(key, url)| (key.clone(), url.clone()))
                .collect();
            let config = SourceConfig {
                urls,
                ..config.clone()
            };
            Source::new(transport, &feed.spec, config, clock.clone())
        };
        Ok(Self {
            feeds: FEEDS.iter().map(own).collect::<Result<_, _>>()?,
            all: Source::new(transport, Self::SPEC, config.clone(), clock.clone())?,
        })
    }

    /// All feeds under one name.
    pub fn source(&self) -> &Source {
        &self.all
    }

    /// Each feed, in the order of [`Self::SPEC`]'s sources.
    pub fn feeds(&self) -> &[Source] {
        &self.feeds
    }

    /// The newest articles of one feed, by its index in [`Self::feeds`].
    ///
    /// # Errors
    ///
    /// A [`SourceError`]. A page in HTML is malformed, whatever its status says.
    pub(crate) async fn articles(&self, feed: usize) -> Result<Sourced<Vec<Article>>, SourceError> {
        let (Some(source), Some(feed)) = (self.feeds.get(feed), FEEDS.get(feed)) else {
            let kind = crate::SourceErrorKind::Unreachable;
            return Err(SourceError {
                source: "rss",
                kind,
            });
        };
        let id = feed.spec.sources.first().copied().unwrap_or("rss");
        let now = source.now();
        let ask = source.get(id, feed.path).media(Media::Feed);
        source
            .ask(ask, |reply| {
                feed::read(id, feed.publisher, &reply.body, now)
                    .map_err(Fault::<SourceError>::Upstream)
            })
            .await
    }
}
