//! Every adapter, connected to one root address.

use std::{collections::BTreeMap, sync::Arc};

use alloy_primitives::B256;
use calldata_checks::BasisPoints;
use data_sources::{
    Clock, Mode, SourceConfig, UpstreamSpec, VenueConfig,
    alternative_me::AlternativeMe,
    anthropic::Anthropic,
    binance::Binance,
    blockscout::Blockscout,
    bybit::Bybit,
    cboe::Cboe,
    circle::{Circle, CircleConfig},
    coindesk::Coindesk,
    coingecko::Coingecko,
    coinpaprika::Coinpaprika,
    cryptopanic::Cryptopanic,
    defillama::Defillama,
    dexscreener::Dexscreener,
    evm::{EvmReader, PUBLIC_ENDPOINTS},
    fal::Fal,
    fourbyte::Fourbyte,
    frankfurter::Frankfurter,
    fred::Fred,
    gemini::Gemini,
    goplus::Goplus,
    hyperliquid::{Hyperliquid, HyperliquidConfig},
    hyperliquid_info::HyperliquidInfo,
    lifi::{Lifi, LifiConfig},
    lunarcrush::Lunarcrush,
    okx::{Okx, OkxConfig},
    okx_futures::OkxFutures,
    openai::Openai,
    perplexity::Perplexity,
    polymarket::{Polymarket, PolymarketConfig},
    probe::{Probed, Rail, Terms},
    rpc::RpcConfig,
    rss::Rss,
    sourcify::Sourcify,
    transport::{Limits, Transport, TransportError},
    treasury::Treasury,
    x_api::XApi,
    yahoo::Yahoo,
};
use jiff::Timestamp;

pub(crate) fn now() -> Timestamp {
    Timestamp::from_second(i64::try_from(replay::RECORDED_AT).unwrap()).unwrap()
}

/// Every adapter, with its upstreams at one root address. The first segment of every path there is
/// the host.
pub(crate) struct World {
    plain: Vec<Box<dyn Probed + Send + Sync>>,
    lifi: Lifi,
    polymarket: Polymarket,
    hyperliquid: Hyperliquid,
    terms: Terms,
}

impl World {
    pub(crate) fn new(transport: &Transport, root: &str) -> Self {
        let at = |public: &str| format!("{root}/{}", public.strip_prefix("https://").unwrap());
        let clock: Arc<dyn Clock> = Arc::new(now());
        let limits = Limits {
            attempts: 1,
            ..Limits::USUAL
        };
        let mode = Mode::Replay;
        let config = |spec: &UpstreamSpec| SourceConfig {
            urls: spec
                .urls
                .iter()
                .map(|(key, url)| ((*key).to_owned(), at(url)))
                .collect(),
            mode,
            ..SourceConfig::default()
        };
        let connect = Connect {
            transport,
            clock: clock.clone(),
            config: &config,
        };
        let nodes = PUBLIC_ENDPOINTS
            .iter()
            .map(|(id, [url, _])| (*id, vec![at(url).into()]))
            .collect::<BTreeMap<_, _>>();
        let nodes = RpcConfig {
            chains: nodes,
            mode,
            ..RpcConfig::default()
        };
        let okx = OkxConfig {
            base_url: at("https://web3.okx.com"),
            mode,
            limits,
            ..OkxConfig::default()
        };
        let circle = CircleConfig {
            base_url: at("https://iris-api.circle.com"),
            common: VenueConfig {
                mode,
                limits,
                ..VenueConfig::default()
            },
        };
        let plain: Vec<Box<dyn Probed + Send + Sync>> = vec![
            Box::new(Okx::new(transport, okx, clock.clone()).unwrap()),
            connect.one(Goplus::SPEC, Goplus::new),
            connect.one(Coingecko::SPEC, Coingecko::new),
            connect.one(Coinpaprika::SPEC, Coinpaprika::new),
            connect.one(Dexscreener::SPEC, Dexscreener::new),
            connect.one(Defillama::SPEC, Defillama::new),
            connect.one(HyperliquidInfo::SPEC, HyperliquidInfo::new),
            connect.one(Binance::SPEC, Binance::new),
            connect.one(OkxFutures::SPEC, OkxFutures::new),
            connect.one(Bybit::SPEC, Bybit::new),
            connect.one(Fred::SPEC, Fred::new),
            connect.one(Treasury::SPEC, Treasury::new),
            connect.one(Cboe::SPEC, Cboe::new),
            connect.one(Frankfurter::SPEC, Frankfurter::new),
            connect.one(Yahoo::SPEC, Yahoo::new),
            connect.one(AlternativeMe::SPEC, AlternativeMe::new),
            connect.one(Coindesk::SPEC, Coindesk::new),
            connect.one(Rss::SPEC, Rss::new),
            connect.one(Cryptopanic::SPEC, Cryptopanic::new),
            connect.one(Lunarcrush::SPEC, Lunarcrush::new),
            connect.one(XApi::SPEC, XApi::new),
            connect.one(Openai::SPEC, Openai::new),
            connect.one(Anthropic::SPEC, Anthropic::new),
            connect.one(Gemini::SPEC, Gemini::new),
            connect.one(Fal::SPEC, Fal::new),
            connect.one(Perplexity::SPEC, Perplexity::new),
            connect.one(Sourcify::SPEC, Sourcify::new),
            connect.one(Fourbyte::SPEC, Fourbyte::new),
            connect.one(Blockscout::SPEC, Blockscout::new),
            Box::new(EvmReader::new(transport, nodes, clock.clone()).unwrap()),
            Box::new(Circle::new(transport, circle, clock.clone()).unwrap()),
        ];
        let lifi = LifiConfig {
            base_url: at("https://li.quest/v1"),
            common: VenueConfig {
                mode,
                limits,
                ..VenueConfig::default()
            },
            ..LifiConfig::default()
        };
        let polymarket = PolymarketConfig {
            clob_url: at("https://clob.polymarket.com"),
            gamma_url: at("https://gamma-api.polymarket.com"),
            common: VenueConfig {
                mode,
                limits,
                ..VenueConfig::default()
            },
        };
        let hyperliquid = HyperliquidConfig {
            base_url: at("https://api.hyperliquid.xyz"),
            common: VenueConfig {
                mode,
                limits,
                ..VenueConfig::default()
            },
            ..HyperliquidConfig::default()
        };
        Self {
            plain,
            lifi: Lifi::new(transport, lifi, clock.clone()).unwrap(),
            polymarket: Polymarket::new(transport, polymarket, clock.clone()).unwrap(),
            hyperliquid: Hyperliquid::new(transport, hyperliquid, clock).unwrap(),
            terms: Terms {
                integrator: "svc".to_owned(),
                fee: BasisPoints::new(30).unwrap(),
                builder_code: B256::repeat_byte(0x11),
                builder: None,
            },
        }
    }

    pub(crate) fn adapters(&self) -> Vec<Box<dyn Probed + Send + '_>> {
        let terms = &self.terms;
        let mut all: Vec<Box<dyn Probed + Send + '_>> = Vec::new();
        for adapter in &self.plain {
            all.push(Box::new(Borrowed(adapter.as_ref())));
        }
        all.push(Box::new(Rail {
            adapter: &self.lifi,
            terms,
        }));
        all.push(Box::new(Rail {
            adapter: &self.polymarket,
            terms,
        }));
        all.push(Box::new(Rail {
            adapter: &self.hyperliquid,
            terms,
        }));
        all
    }
}

struct Borrowed<'a>(&'a (dyn Probed + Send + Sync));

impl Probed for Borrowed<'_> {
    fn source(&self) -> Option<&data_sources::Source> {
        self.0.source()
    }

    fn questions(&self) -> Vec<data_sources::probe::Question<'_>> {
        self.0.questions()
    }
}

struct Connect<'a> {
    transport: &'a Transport,
    clock: Arc<dyn Clock>,
    config: &'a dyn Fn(&UpstreamSpec) -> SourceConfig,
}

impl Connect<'_> {
    fn one<T: Probed + Send + Sync + 'static>(
        &self,
        spec: &UpstreamSpec,
        new: impl FnOnce(&Transport, SourceConfig, Arc<dyn Clock>) -> Result<T, TransportError>,
    ) -> Box<dyn Probed + Send + Sync> {
        let config = (self.config)(spec);
        Box::new(new(self.transport, config, self.clock.clone()).unwrap())
    }
}
