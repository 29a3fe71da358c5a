//! The upstreams behind the routes, by domain, connected from a configuration.
//!
//! An operation takes the domains that it reads, so its signature shows them. An adapter that
//! several domains need is cloned; clones share their state.

mod accounts;
mod ai;
mod chain;
mod connect;
mod defi;
mod derivatives;
mod limits;
mod news;
mod probed;
mod rails;
mod security;
mod tokens;
mod tradfi;
mod wallets;
mod watch;

use std::collections::BTreeMap;
use std::sync::Arc;

use chain_reader::ChainReader;
use data_sources::alternative_me::AlternativeMe;
use data_sources::anthropic::Anthropic;
use data_sources::binance::Binance;
use data_sources::blockscout::Blockscout;
use data_sources::bybit::Bybit;
use data_sources::cboe::Cboe;
use data_sources::circle::Circle;
use data_sources::coindesk::Coindesk;
use data_sources::coingecko::Coingecko;
use data_sources::coinpaprika::Coinpaprika;
use data_sources::cryptopanic::Cryptopanic;
use data_sources::defillama::Defillama;
use data_sources::dexscreener::Dexscreener;
use data_sources::fal::Fal;
use data_sources::fourbyte::Fourbyte;
use data_sources::frankfurter::Frankfurter;
use data_sources::fred::Fred;
use data_sources::gemini::Gemini;
use data_sources::goplus::Goplus;
use data_sources::hyperliquid_info::HyperliquidInfo;
use data_sources::lifi::Lifi;
use data_sources::lunarcrush::Lunarcrush;
use data_sources::okx_futures::OkxFutures;
use data_sources::openai::Openai;
use data_sources::perplexity::Perplexity;
use data_sources::probe::Board;
use data_sources::rss::Rss;
use data_sources::sourcify::Sourcify;
use data_sources::treasury::Treasury;
use data_sources::worth::WorthJudge;
use data_sources::x_api::XApi;
use data_sources::yahoo::Yahoo;
use data_sources::{Clock, Source, UpstreamSpec};
use jiff::Timestamp;
use storage::AnyStore;
use wallet_actions::{ListedProduct, WalletActions};
use watch_server::Mandates;

pub(crate) use self::accounts::Accounts;
pub(crate) use self::ai::Ai;
pub(crate) use self::chain::Chain;
use self::connect::Connect;
pub(crate) use self::defi::{Defi, EDITION_FRESH_SECONDS, Edition, USUAL_TOKENS};
pub(crate) use self::derivatives::Derivatives;
pub(crate) use self::news::News;
pub(crate) use self::rails::Rails;
pub(crate) use self::security::Security;
pub(crate) use self::tokens::{TOKEN_LIST_FRESH_SECONDS, Tokens};
pub(crate) use self::tradfi::Tradfi;
use self::wallets::MandateLimits;
pub(crate) use self::wallets::Wallets;
use crate::config::{Config, DatasetsSection};
use crate::context::Context;
use crate::error::ServeError;
use crate::fees;
use crate::memory::Memory;
use crate::reviewed::Unreviewed;
use crate::snapshots::{NewsDigest, Running, Snapshots, YieldPools, holder};

/// The adapters of every upstream, by domain, and the clock that ages data.
#[derive(Debug)]
pub struct Sources {
    pub(crate) context: Context,
    pub(crate) accounts: Accounts,
    pub(crate) ai: Ai,
    pub(crate) chain: Chain,
    pub(crate) defi: Defi,
    pub(crate) derivatives: Derivatives,
    pub(crate) news: News,
    pub(crate) security: Security,
    pub(crate) tokens: Tokens,
    pub(crate) tradfi: Tradfi,
    pub(crate) wallets: Wallets,
    pub(crate) rails: Arc<Rails>,
    /// The judge of what swaps and deposits are worth.
    pub(crate) worth: WorthJudge,
    /// The datasets that are refreshed on a schedule.
    pub(crate) snapshots: Snapshots,
    /// Earlier readings of tokens.
    pub(crate) memory: Memory,
    /// The unreviewed contracts that the aggregator named.
    pub(crate) unreviewed: Arc<Unreviewed>,
    /// The results of the last probes of the upstreams.
    pub(crate) probes: Board,
    running: Running,
    gathers: DatasetsSection,
    mandates: Option<Mandates>,
    store: Option<Arc<AnyStore>>,
}

impl Sources {
    /// Connects every upstream of a configuration. Sends no request yet.
    ///
    /// # Errors
    /// An upstream whose address cannot be used.
    pub fn connect(config: &Config, clock: Arc<dyn Clock>) -> Result<Self, ServeError> {
        let connect = Connect::new(config, clock.clone())?;
        let okx = connect.okx()?;
        let evm = connect.evm()?;
        let defillama = connect.one("defillama", Defillama::new)?;
        let policy = fees::policy(config).map_err(ServeError::Fees)?;
        let fees = policy.map(|policy| policy.fees);
        let tokens = Tokens::connect(&connect, okx.clone(), defillama.clone())?;
        let worth = WorthJudge::new(
            config.worth.rules(),
            defillama.clone(),
            tokens.dexscreener.clone(),
            clock.clone(),
        );
        Ok(Self {
            context: connect.context(),
            accounts: Accounts::connect(&connect, okx.clone(), evm.clone(), defillama.clone())?,
            ai: Ai::connect(&connect)?,
            chain: Chain::connect(&connect, evm.clone())?,
            defi: Defi::new(okx.clone(), evm, defillama, clock),
            derivatives: Derivatives::connect(&connect)?,
            news: News::connect(&connect, okx.clone())?,
            security: Security::connect(&connect, okx)?,
            tokens,
            tradfi: Tradfi::connect(&connect)?,
            wallets: connect.wallets(),
            rails: Arc::new(Rails::connect(&connect, fees.as_deref())?),
            worth,
            snapshots: Snapshots::default(),
            memory: Memory::default(),
            unreviewed: Arc::default(),
            probes: Board::default(),
            running: Running::default(),
            gathers: config.datasets,
            mandates: None,
            store: None,
        })
    }

    /// Adds the store for everything that is kept beside payments. Without a store, features that
    /// need one are refused.
    #[must_use]
    pub fn with_store(mut self, store: Arc<AnyStore>) -> Self {
        let clock = self.context.clock().clone();
        self.running.prune(store.clone(), clock.clone());
        self.running
            .remember(self.memory.clone(), store.clone(), clock.clone());
        self.running
            .keep_posts(self.news.feeds.x_api.clone(), store.clone(), clock.clone());
        if self.gathers.news {
            let digest = NewsDigest {
                desk: self.news.desk.clone(),
            };
            let clock = clock.clone();
            self.news.digest = self.running.start(digest, store.clone(), clock, holder());
        }
        if self.gathers.yields {
            let pools = YieldPools::new(self.defi.defillama.clone());
            self.defi.pools = self.running.start(pools, store.clone(), clock, holder());
        }
        self.snapshots = Snapshots {
            news: self.news.digest.clone(),
            yields: self.defi.pools.clone(),
        };
        self.store = Some(store);
        self
    }

    /// Adds the custodian of sub-wallets' keys.
    #[must_use]
    pub fn with_custody(mut self, custody: Arc<dyn custody::Custody>) -> Self {
        self.wallets.custody = Some(custody);
        self
    }

    /// Adds the faults of the files of sub-wallets, if keys are in files.
    #[must_use]
    pub(crate) fn with_wallet_faults(mut self, faults: Option<custody::WalletFaults>) -> Self {
        self.wallets.faults = faults.unwrap_or_default();
        self
    }

    /// Adds the reviewed products for deposits, and the readers of their chains.
    #[must_use]
    pub(crate) fn with_products(
        mut self,
        reviewed: Vec<ListedProduct>,
        readers: BTreeMap<u64, ChainReader>,
    ) -> Self {
        self.wallets.reviewed = reviewed.into();
        self.wallets.readers = readers;
        self
    }

    /// Adds the executor of sub-wallets' actions.
    #[must_use]
    pub(crate) fn with_actions(mut self, actions: Option<WalletActions>) -> Self {
        self.wallets.actions = actions;
        self
    }

    /// The store beside payments: datasets and artifacts.
    pub(crate) fn store(&self) -> Option<&Arc<AnyStore>> {
        self.store.as_ref()
    }

    /// Keeps the counters of the upstreams' limits in the store and continues from its values.
    /// Without a store they are counted in memory.
    pub(crate) async fn keep_limits(&self) {
        if let Some(store) = &self.store {
            limits::keep_limits(self, store).await;
        }
    }

    /// Sets the metrics of the remaining budgets and quotas.
    pub(crate) fn measure_limits(&self) {
        limits::measure(self);
    }

    /// The static facts about every upstream.
    #[must_use]
    pub fn specs() -> [&'static UpstreamSpec; 31] {
        [
            &data_sources::okx::SPEC,
            Goplus::SPEC,
            Coingecko::SPEC,
            Coinpaprika::SPEC,
            Dexscreener::SPEC,
            Defillama::SPEC,
            HyperliquidInfo::SPEC,
            Binance::SPEC,
            OkxFutures::SPEC,
            Bybit::SPEC,
            Fred::SPEC,
            Treasury::SPEC,
            Cboe::SPEC,
            Frankfurter::SPEC,
            Yahoo::SPEC,
            AlternativeMe::SPEC,
            Coindesk::SPEC,
            Rss::SPEC,
            Cryptopanic::SPEC,
            Lunarcrush::SPEC,
            XApi::SPEC,
            Openai::SPEC,
            Anthropic::SPEC,
            Gemini::SPEC,
            Fal::SPEC,
            Perplexity::SPEC,
            Sourcify::SPEC,
            Fourbyte::SPEC,
            Blockscout::SPEC,
            Lifi::SPEC,
            Circle::SPEC,
        ]
    }

    /// The present time on the clock that ages data.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.context.now()
    }

    /// Every upstream, for `/status`.
    pub(crate) fn all(&self) -> Vec<&Source> {
        let feeds = &self.news.feeds;
        let mut all = vec![
            self.tokens.okx.source(),
            self.security.goplus.source(),
            self.tokens.coingecko.source(),
            self.tokens.coinpaprika.source(),
            self.tokens.dexscreener.source(),
            self.defi.defillama.source(),
            self.derivatives.hyperliquid.source(),
            self.derivatives.binance.source(),
            self.derivatives.okx_futures.source(),
            self.derivatives.bybit.source(),
            self.tradfi.fred.source(),
            self.tradfi.treasury.source(),
            self.tradfi.cboe.source(),
            self.tradfi.frankfurter.source(),
            self.tradfi.yahoo.source(),
            feeds.alternative_me.source(),
            feeds.coindesk.source(),
            feeds.cryptopanic.source(),
            self.news.lunarcrush.source(),
            feeds.x_api.source(),
            self.ai.openai.source(),
            self.ai.anthropic.source(),
            self.ai.gemini.source(),
            self.ai.fal.source(),
            self.ai.perplexity.source(),
            self.chain.sourcify.source(),
            self.chain.fourbyte.source(),
            self.accounts.blockscout.source(),
            self.rails.aggregator.lifi.source(),
            self.rails.circle.source(),
        ];
        all.extend(feeds.rss.feeds());
        all
    }
}
