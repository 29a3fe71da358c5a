//! Gathers the prices of the judgement of worth ([`readings::worth`]) and has it judged.
//!
//! Every swap, deposit and move that the service signs is judged here. A source that does not
//! answer has no price; the judgement decides whether the others suffice. Each judgement is counted
//! by its result in the metric `svc_worth_judgements_total`.

use std::{sync::Arc, time::Duration};

use alloy_primitives::{Address, U256};
use calldata_checks::okx::NATIVE_COIN;
use metrics::counter;
use readings::{
    Figure,
    defi::chains::gas_coin,
    token::{
        consensus::Quote,
        pools::{self, platform_of},
    },
    worth::{
        AgreedPrice, Exchange, Rules, Side, Stated, StatedToken, Unworthy, Worth, agreed_price,
        judge, judge_statements,
    },
};

use crate::{
    defillama::Defillama,
    dexscreener::Dexscreener,
    error::Error,
    provenance::{Clock, Sourced},
    tokens::{SwapQuote, TokenStanding},
};

/// The metric that counts judgements by their result.
pub const JUDGEMENTS: &str = "svc_worth_judgements_total";
/// The result of a judgement that holds, in the metric.
const HOLDS: &str = "holds";

/// Lets every series of the metric begin at zero.
pub fn begin_metric() {
    for result in [HOLDS].iter().chain(&Unworthy::CODES) {
        counter!(JUDGEMENTS, "result" => *result).increment(0);
    }
}

/// The source of exchange pairs.
const PAIRS: &str = "dexscreener.pairs";
/// A kept answer may be this old. The age of the price itself is judged by the rules.
const KEPT: Duration = Duration::from_secs(60);
/// A pool gives the price of the moment when the source looked at it, because a trade would get
/// that price. A pool without a trade in this time may be abandoned, and gives none.
const TRADED_WITHIN_SECONDS: u64 = 3_600;

/// The one judge of worth: the operator's rules and the sources of prices. Clones share everything.
#[derive(Clone)]
pub struct WorthJudge {
    rules: Arc<Rules>,
    defillama: Defillama,
    dexscreener: Dexscreener,
    clock: Arc<dyn Clock>,
}

impl WorthJudge {
    /// Makes a judge of these rules and sources. `clock` gives the age of prices.
    #[must_use]
    pub fn new(
        rules: Rules,
        defillama: Defillama,
        dexscreener: Dexscreener,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            rules: Arc::new(rules),
            defillama,
            dexscreener,
            clock,
        }
    }

    /// The operator's rules.
    #[must_use]
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Judges an exchange at the present prices of its tokens.
    ///
    /// # Errors
    /// [`Unworthy`]: the exchange must not be signed.
    pub async fn judge(&self, exchange: &Exchange) -> Result<Worth, Unworthy> {
        let judged = self.judge_now(exchange).await;
        let result = judged.as_ref().map_or_else(Unworthy::code, |_| HOLDS);
        counter!(JUDGEMENTS, "result" => result).increment(1);
        if let Err(unworthy) = &judged {
            tracing::info!(code = unworthy.code(), %unworthy, "an exchange does not hold its worth");
        }
        judged
    }

    async fn judge_now(&self, exchange: &Exchange) -> Result<Worth, Unworthy> {
        // What the quote admits needs no price, and no request for one.
        judge_statements(exchange, &self.rules)?;
        let chain_id = exchange.chain_id;
        let (input, output) = tokio::join!(
            self.quotes(chain_id, exchange.input.token),
            self.quotes(chain_id, exchange.output.token),
        );
        judge(exchange, (&input, &output), &self.rules, self.clock.now())
    }

    /// The present price of a token on which its sources agree.
    ///
    /// # Errors
    /// [`Unworthy::Unknown`]
    pub async fn price(&self, chain_id: u64, token: Address) -> Result<AgreedPrice, Unworthy> {
        let quotes = self.quotes(chain_id, token).await;
        let price = agreed_price(chain_id, token, &quotes, &self.rules, self.clock.now());
        price.map_err(|reason| {
            counter!(JUDGEMENTS, "result" => Unworthy::UNKNOWN).increment(1);
            tracing::info!(%reason, "a token has no price that counts");
            reason.into()
        })
    }

    /// The quotes of the chain's sources. The chain's own coin has the price of its wrapped token.
    async fn quotes(&self, chain_id: u64, token: Address) -> Vec<Quote> {
        let token = match (token == NATIVE_COIN, gas_coin(chain_id)) {
            (true, Some(coin)) if Defillama::platform(chain_id) == Some(coin.platform) => {
                coin.token
            }
            _ => token,
        };
        let asks = |name: &str| {
            let sources = &self.rules.sources(chain_id).independent;
            sources.iter().any(|source| source == name)
        };
        let (of_llama, of_pools) = tokio::join!(
            async {
                match asks(Defillama::SPEC.name) {
                    true => self.of_defillama(chain_id, token).await,
                    false => None,
                }
            },
            async {
                match asks(Dexscreener::SPEC.name) {
                    true => self.of_pools(chain_id, token).await,
                    false => None,
                }
            },
        );
        of_llama.into_iter().chain(of_pools).collect()
    }

    async fn of_defillama(&self, chain_id: u64, token: Address) -> Option<Quote> {
        let platform = Defillama::platform(chain_id)?;
        let price = self.defillama.token_price(platform, token, Some(KEPT));
        Some(answered(Defillama::SPEC.name, token, price.await)?.value)
    }

    async fn of_pools(&self, chain_id: u64, token: Address) -> Option<Quote> {
        let platform = platform_of(chain_id)?;
        let pairs = self.dexscreener.pairs(platform, token, Some(KEPT)).await;
        let pairs = answered(Dexscreener::SPEC.name, token, pairs)?;
        let looked_at = pairs.sources.iter().map(|source| source.fetched_at).min()?;
        let deepest = pools::spot(platform, &token.to_string(), &pairs.value)?;
        let is_traded = deepest
            .traded_within_seconds
            .is_some_and(|seconds| seconds <= TRADED_WITHIN_SECONDS);
        Some(Quote {
            source: PAIRS,
            price_usd: deepest.price_usd,
            as_of: is_traded.then_some(looked_at),
            liquidity_usd: Some(deepest.liquidity_usd),
            certainty_ratio: None,
        })
    }
}

impl std::fmt::Debug for WorthJudge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WorthJudge")
            .field("rules", &self.rules)
            .finish_non_exhaustive()
    }
}

/// One side of an exchange: `atoms` of the smallest unit of a token with these decimals.
#[must_use]
pub fn side(token: Address, atoms: U256, decimals: u8) -> Side {
    Side {
        token,
        amount: exact::format_units(atoms, decimals).parse().ok(),
    }
}

impl SwapQuote {
    /// What the quote says about itself, for the judgement of worth.
    #[must_use]
    pub fn stated(&self) -> Stated {
        let figure = |text: &String| text.parse::<Figure>().ok();
        Stated {
            impact_pct: self.price_impact_pct.as_ref().and_then(figure),
            input: self.from_token.stated(),
            output: self.to_token.stated(),
        }
    }
}

impl TokenStanding {
    fn stated(&self) -> StatedToken {
        StatedToken {
            is_honeypot: self.is_honeypot,
            // A tax with more digits than a figure has is not a small one.
            tax_ratio: self.tax_rate.as_ref().map(|rate| {
                rate.as_str()
                    .parse()
                    .unwrap_or(Figure(readings::Decimal::MAX))
            }),
        }
    }
}

fn answered<T>(
    source: &'static str,
    token: Address,
    answer: Result<Sourced<T>, Error>,
) -> Option<Sourced<T>> {
    answer
        .inspect_err(|error| tracing::debug!(source, %token, %error, "a source has no price"))
        .ok()
}
