//! Gathers the prices of the judgement of worth ([`readings::worth`]) and has it judged.
//!
//! Every swap, deposit and move that the service signs is judged here. A source that does not
//! answer has no price; the judgement decides whether the others suffice. Each judgement is counted
//! by its result in the metric `svc_worth_judgements_total`.

use std::{collections::BTreeMap, fmt::Write as _, sync::Arc, time::Duration};

use alloy_primitives::{Address, U256};
use calldata_checks::{BasisPoints, okx::NATIVE_COIN};
use metrics::counter;
use plan_builder::{
    Judgement, Refusal,
    ports::{self, SwapAsk},
};
use readings::{
    Decimal, Figure,
    defi::chains::gas_coin,
    token::{
        consensus::Quote,
        pools::{self, platform_of},
    },
    worth::{
        AgreedPrice, ChainSources, Exchange, NoPrice, Rules, Side, Stated, StatedToken, Unworthy,
        Worth, agreed_price, judge, judge_statements,
    },
};
use tokio::time::timeout;

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

/// The decimals of a chain's coin, and of its wrapped token.
const COIN_DECIMALS: u8 = 18;
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
        counted(self.judge_now(exchange).await)
    }

    /// Judges like [`Self::judge`], and waits at most this long for the sources. What the quote
    /// admits needs no source.
    ///
    /// # Errors
    /// [`Unworthy`]: the exchange must not be signed.
    pub async fn judge_within(
        &self,
        exchange: &Exchange,
        patience: Duration,
    ) -> Result<Worth, Unworthy> {
        let judged = timeout(patience, self.judge_now(exchange)).await;
        counted(judged.unwrap_or_else(|_| Err(NoPrice::Late.into())))
    }

    async fn judge_now(&self, exchange: &Exchange) -> Result<Worth, Unworthy> {
        // What the quote admits needs no price, and no request for one.
        judge_statements(exchange, &self.rules)?;
        let chain_id = exchange.chain_id;
        let (input, output) = tokio::join!(
            self.quotes(&self.rules, chain_id, exchange.input.token),
            self.quotes(&self.rules, chain_id, exchange.output.token),
        );
        judge(exchange, (&input, &output), &self.rules, self.clock.now())
    }

    /// The present price of a token on which its sources agree.
    ///
    /// # Errors
    /// [`Unworthy::Unknown`]
    pub async fn price(&self, chain_id: u64, token: Address) -> Result<AgreedPrice, Unworthy> {
        let price = self.price_by(&self.rules, chain_id, token).await;
        price.map_err(|reason| {
            counter!(JUDGEMENTS, "result" => Unworthy::UNKNOWN).increment(1);
            tracing::info!(%reason, "a token has no price that counts");
            reason.into()
        })
    }

    /// The present price of a chain's coin, for budgets of gas: that of its wrapped token. On every
    /// chain DefiLlama suffices, unless the pools contradict it. No exchange is judged by it.
    ///
    /// # Errors
    /// [`NoPrice`]
    pub async fn coin_price(&self, chain_id: u64) -> Result<AgreedPrice, NoPrice> {
        let rules = Rules {
            limits: self.rules.limits,
            chains: BTreeMap::new(),
            others: ChainSources::trusting_defillama(),
        };
        self.price_by(&rules, chain_id, NATIVE_COIN).await
    }

    async fn price_by(
        &self,
        rules: &Rules,
        chain_id: u64,
        token: Address,
    ) -> Result<AgreedPrice, NoPrice> {
        let quotes = self.quotes(rules, chain_id, token).await;
        agreed_price(chain_id, token, &quotes, rules, self.clock.now())
    }

    /// The question to the aggregator, with its own guard set to the limit for this caller.
    #[must_use]
    pub fn guarded(&self, ask: &SwapAsk) -> SwapAsk {
        let asked = ask.max_price_impact.map(|bps| bps.get().into());
        let (most, _) = self.rules.limits.of_caller(asked);
        SwapAsk {
            max_price_impact: u16::try_from(most).ok().and_then(BasisPoints::new),
            ..ask.clone()
        }
    }

    /// Judges a quote for an unsigned plan. `decimals` are those of the input and the output token,
    /// as far as somebody else than the aggregator states them. Without prices the judgement is
    /// unknown, and says why.
    ///
    /// # Errors
    /// The refusal of a swap that breaks a limit, under the code of its [`Unworthy`].
    pub async fn judge_quote(
        &self,
        ask: &SwapAsk,
        quote: &ports::SwapQuote,
        decimals: [Option<u8>; 2],
    ) -> Result<Judgement, Refusal> {
        let [of_input, of_output] = decimals;
        let whole = |token, atoms, decimals: Option<u8>| match decimals {
            Some(decimals) => side(token, atoms, decimals),
            None => Side {
                token,
                amount: None,
            },
        };
        let exchange = Exchange {
            chain_id: ask.chain_id,
            input: whole(ask.from_token, ask.from_amount, of_input),
            output: whole(ask.to_token, quote.to_amount, of_output),
            stated: stated(quote.price_impact()),
            max_price_impact_bps: ask.max_price_impact.map(|bps| bps.get().into()),
        };
        match self.judge(&exchange).await {
            Ok(worth) => {
                let least = whole(ask.to_token, quote.to_amount_min, of_output);
                Ok(Judgement::output_price(true, &described(&worth, &least)))
            }
            Err(unknown @ Unworthy::Unknown(_)) => {
                Ok(Judgement::output_price(false, &unknown.to_string()))
            }
            Err(unworthy) => {
                let refusal = Refusal::new(unworthy.code(), unworthy.to_string());
                Err(match unworthy.compared() {
                    Some((expected, observed)) => refusal.comparing(expected, observed),
                    None => refusal,
                })
            }
        }
    }

    /// The decimals of a token: 18 for a chain's own wrapped coin, otherwise what DefiLlama states.
    pub async fn decimals(&self, chain_id: u64, token: Address) -> Option<u8> {
        if gas_coin(chain_id).is_some_and(|coin| coin.token == token) {
            return Some(COIN_DECIMALS);
        }
        let platform = Defillama::platform(chain_id)?;
        let stated = self.defillama.token_decimals(platform, token, Some(KEPT));
        stated.await.ok().flatten()
    }

    /// The quotes of the chain's sources. The chain's own coin has the price of its wrapped token,
    /// which may be on another chain; then no pools are asked.
    async fn quotes(&self, rules: &Rules, chain_id: u64, token: Address) -> Vec<Quote> {
        let (here, pools) = (Defillama::platform(chain_id), platform_of(chain_id));
        let coin = gas_coin(chain_id).filter(|_| token == NATIVE_COIN);
        let (platform, pools, token) = match coin {
            Some(coin) => (
                Some(coin.platform),
                pools.filter(|_| here == Some(coin.platform)),
                coin.token,
            ),
            None => (here, pools, token),
        };
        let asks = |name: &str| {
            let sources = &rules.sources(chain_id).independent;
            sources.iter().any(|source| source == name)
        };
        let (of_llama, of_pools) = tokio::join!(
            async {
                match asks(Defillama::SPEC.name) {
                    true => self.of_defillama(platform?, token).await,
                    false => None,
                }
            },
            async {
                match asks(Dexscreener::SPEC.name) {
                    true => self.of_pools(pools?, token).await,
                    false => None,
                }
            },
        );
        of_llama.into_iter().chain(of_pools).collect()
    }

    async fn of_defillama(&self, platform: &'static str, token: Address) -> Option<Quote> {
        let price = self.defillama.token_price(platform, token, Some(KEPT));
        Some(answered(Defillama::SPEC.name, token, price.await)?.value)
    }

    async fn of_pools(&self, platform: &'static str, token: Address) -> Option<Quote> {
        let pairs = self.dexscreener.pairs(platform, token, Some(KEPT)).await;
        let pairs = answered(Dexscreener::SPEC.name, token, pairs)?;
        let looked_at = pairs.sources.iter().map(|source| source.fetched_at).min()?;
        let address = token.to_string();
        let deepest = pools::spot(platform, &address, &pairs.value)?;
        if pools::contrary(platform, &address, &pairs.value, &deepest).is_some() {
            tracing::debug!(source = PAIRS, %token, "the pools contradict each other");
            return None;
        }
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

/// Counts a judgement by its result.
fn counted(judged: Result<Worth, Unworthy>) -> Result<Worth, Unworthy> {
    let result = judged.as_ref().map_or_else(Unworthy::code, |_| HOLDS);
    counter!(JUDGEMENTS, "result" => result).increment(1);
    if let Err(unworthy) = &judged {
        tracing::debug!(code = unworthy.code(), %unworthy, "an exchange does not hold its worth");
    }
    judged
}

/// One side of an exchange: `atoms` of the smallest unit of a token with these decimals.
#[must_use]
pub fn side(token: Address, atoms: U256, decimals: u8) -> Side {
    Side {
        token,
        amount: exact::format_units(atoms, decimals).parse().ok(),
    }
}

/// What a quote says about itself that states a loss, and nothing about its tokens.
#[must_use]
pub fn stated(impact: Option<BasisPoints>) -> Stated {
    Stated {
        impact_pct: impact.map(|bps| Figure(-Decimal::new(bps.get().into(), 2))),
        ..Stated::default()
    }
}

/// The evidence of a judgement that holds, in one line.
fn described(worth: &Worth, least: &Side) -> String {
    let Worth {
        input_usd,
        output_usd,
        loss_bps,
        limit_bps,
        input_price,
        output_price,
    } = worth;
    let least_usd = least
        .amount
        .and_then(|amount| amount.get().checked_mul(output_price.usd.get()))
        .map_or_else(String::new, |usd| {
            let usd = Figure(usd.round_dp(6));
            format!("; the minimum is worth {usd} USD")
        });
    let (input, output) = (supported(input_price), supported(output_price));
    format!(
        "{input_usd} USD in, {output_usd} USD out: {loss_bps} basis points less, at most {limit_bps}{least_usd}; \
         input at {input}; output at {output}"
    )
}

/// A price with the quotes that support it, each with its time, liquidity and confidence.
fn supported(price: &AgreedPrice) -> String {
    let quotes: Vec<String> = price.quotes.iter().map(supporting).collect();
    format!("{} USD ({})", price.usd, quotes.join("; "))
}

fn supporting(quote: &Quote) -> String {
    let mut text = quote.source.to_owned();
    // Writing to a string cannot fail.
    if let Some(as_of) = quote.as_of {
        let _ = write!(text, " of {as_of:.0}");
    }
    if let Some(liquidity) = quote.liquidity_usd {
        let _ = write!(text, ", liquidity {liquidity} USD");
    }
    if let Some(certainty) = quote.certainty_ratio {
        let _ = write!(text, ", confidence {certainty}");
    }
    text
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
            tax_ratio: self
                .tax_rate
                .as_ref()
                .map(|rate| rate.as_str().parse().unwrap_or(Figure(Decimal::MAX))),
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
