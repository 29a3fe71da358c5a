//! Whom plans are sent for, and the sending itself.

use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::Address;
use custody::Custody;
use data_sources::Clock;
use data_sources::defillama::Defillama;
use delegation_fence::{Admitted, Rule};
use fence_sending::{
    ChainReader, Fault, Funder, GasRules, Pace, Parts, PriceFault, PriceFuture, Prices, Rates,
    Route, RoutedAccounts, Sendings, SubWallets, least_output,
};
use fence_server::{Accounts, Delegations, NoAccounts};
use plan_checks::{BasisPoints, Decimal};
use server_config::{Problem, UpstreamMode};
use storage::sqlite::path_of;
use tx_sender::{
    Chain, HttpTransport, LocalKey, Node, Options, Policy, RpcNode, Sender, SqliteStore, Takeover,
    TransactionSigner, Transport,
};

use crate::config::Config;
use crate::error::ServeError;

/// How long a node is waited for.
const NODE_TIMEOUT: Duration = Duration::from_secs(10);

/// Whom this server can send for.
pub(crate) struct Routes(Vec<Arc<dyn Route>>);

impl Routes {
    /// The sub-wallets of whoever holds their keys.
    pub(crate) fn new(custody: Option<&Arc<dyn Custody>>) -> Self {
        let wallets = custody.map(|custody| {
            let route: Arc<dyn Route> = Arc::new(SubWallets::new(Arc::clone(custody)));
            route
        });
        Self(wallets.into_iter().collect())
    }

    pub(crate) fn accounts(&self) -> Arc<dyn Accounts> {
        match self.0.is_empty() {
            true => Arc::new(NoAccounts),
            false => Arc::new(RoutedAccounts::new(self.0.clone())),
        }
    }
}

/// Starts sending what was ordered, and goes on with what an earlier process has left. Nothing is sent where nobody holds a key.
///
/// # Errors
/// A key of the configuration that is missing or cannot be used.
pub(crate) fn start(
    config: &Config,
    delegations: &Arc<Delegations>,
    routes: Routes,
    defillama: Defillama,
    clock: &Arc<dyn Clock>,
) -> Result<Option<Sendings>, ServeError> {
    let Some(section) = config.delegation.as_ref().filter(|_| !routes.0.is_empty()) else {
        return Ok(None);
    };
    let chain_id = delegations.fence().policy().chain_id();
    let nodes = nodes(config, chain_id)?;
    let of_chain = config.chains.confirmations(chain_id);
    let confirmations = section.confirmations.or(of_chain).unwrap_or(1);
    let chain = ChainReader::new(chain_id, nodes.clone(), confirmations);

    let mut signers: Vec<Arc<dyn TransactionSigner>> = Vec::new();
    let mut gas = GasRules::default();
    if let Some(key) = &config.wallets.gas_account_key {
        let wrong = |_| problem("wallets.gas_account_key", "is no private key");
        let key = LocalKey::from_hex(key).map_err(wrong)?;
        gas.funder = Some(Funder {
            account: key.account(),
            most_per_plan: alloy_primitives::U256::from(config.wallets.gas_topup_most_wei),
        });
        signers.push(Arc::new(key));
    }
    let node = |transport: &Arc<dyn Transport>| -> Arc<dyn Node> {
        Arc::new(RpcNode::new(Arc::clone(transport)))
    };
    let usual = Policy::usual_block_time(chain_id);
    let network = Chain {
        id: chain_id,
        nodes: nodes.iter().map(node).collect(),
        policy: Policy {
            confirmations,
            block_time: config.chains.block_time(chain_id).unwrap_or(usual),
            ..Policy::default()
        },
    };
    let path = path_of(&config.storage.url).map_err(ServeError::Records)?;
    let records = SqliteStore::open(path.with_extension("fence-sender.db"));
    let records = Arc::new(records.map_err(ServeError::Records)?);
    let options = Options {
        // Beside the ledger, which this server has claimed for itself: whoever had a lane has ended.
        takeover: Takeover::AtOnce,
        ..Options::default()
    };
    let clock = Arc::clone(clock);
    // Ten thousand basis points below any price are nothing.
    let prices = (section.max_deviation() < BasisPoints::MAX).then(|| -> Arc<dyn Prices> {
        Arc::new(FencePrices {
            defillama,
            chain: chain.clone(),
            clock: Arc::clone(&clock),
            input_decimals: delegations.fence().policy().input_decimals(),
            max_deviation: section.max_deviation(),
        })
    });
    Ok(Some(Sendings::start(Parts {
        delegations: Arc::clone(delegations),
        routes: routes.0,
        chain,
        sender: Sender::new(records, vec![network], signers, options),
        prices,
        gas,
        pace: Pace::default(),
        clock: Arc::new(move || u64::try_from(clock.now().as_second()).unwrap_or_default()),
    })))
}

/// The nodes of the chain that plans are sent on.
fn nodes(config: &Config, chain_id: u64) -> Result<Vec<Arc<dyn Transport>>, ServeError> {
    let key = format!("chains.{chain_id}.rpc_urls");
    let table = config.chains.0.get(&chain_id.to_string());
    let live = table.filter(|table| table.mode != Some(UpstreamMode::Replay));
    let mut nodes: Vec<Arc<dyn Transport>> = Vec::new();
    for url in live.map_or(&[][..], |table| &table.rpc_urls) {
        let node = HttpTransport::new(&url.clone().into(), NODE_TIMEOUT);
        nodes.push(Arc::new(
            node.map_err(|error| problem(&key, &error.to_string()))?,
        ));
    }
    if nodes.is_empty() {
        let message =
            "is missing: plans are sent on this chain, and nothing is sent that is not read back";
        return Err(problem(&key, message));
    }
    Ok(nodes)
}

fn problem(key: &str, message: &str) -> ServeError {
    ServeError::Delegation(Problem::new(key, message))
}

/// Holds a plan's minimum against prices.
struct FencePrices {
    defillama: Defillama,
    chain: ChainReader,
    clock: Arc<dyn Clock>,
    input_decimals: u8,
    max_deviation: BasisPoints,
}

/// What the source of prices calls the chain of the policy.
const PLATFORM: &str = "base";

/// How old a price may be, and how long it is waited after one that could not be read.
const PRICE_AGE: Duration = Duration::from_secs(60);
const PRICE_PAUSE: Duration = Duration::from_secs(3);

impl FencePrices {
    /// A whole token in US dollars. A price that cannot be read is no reason to send: the plan waits for one until it is over.
    async fn usd(&self, token: Address) -> Result<Decimal, Fault> {
        let asked = self.defillama.token_price(PLATFORM, token, Some(PRICE_AGE));
        let reason = match asked.await {
            Ok(quote) => match quote.value.weakness(self.clock.now()) {
                None => match quote.value.price_usd.to_string().parse() {
                    Ok(price) => return Ok(price),
                    Err(_) => "it has too many digits".to_owned(),
                },
                Some(weakness) => format!("{weakness:?}"),
            },
            Err(error) => error.to_string(),
        };
        tokio::time::sleep(PRICE_PAUSE).await;
        let what = token.to_string();
        Err(PriceFault { what, reason }.into())
    }
}

impl Prices for FencePrices {
    fn judge<'a>(&'a self, admitted: &'a Admitted) -> PriceFuture<'a, Result<(), Rule>> {
        Box::pin(async move {
            let output = admitted.landing.token;
            let rates = Rates {
                input_usd: self.usd(admitted.token).await?,
                output_usd: self.usd(output).await?,
            };
            let sealed = self.chain.sealed(0).await?;
            let decimals = self.chain.decimals(output, sealed.block).await?;
            let least = least_output(
                admitted.amount,
                self.input_decimals,
                decimals,
                &rates,
                self.max_deviation,
            );
            let least = least.ok_or_else(|| {
                Fault::from(PriceFault {
                    what: output.to_string(),
                    reason: "the prices say nothing".to_owned(),
                })
            })?;
            if admitted.landing.at_least >= least {
                return Ok(Ok(()));
            }
            tracing::info!(
                plan = %admitted.payload_digest, %least, promised = %admitted.landing.at_least,
                "a plan promises less than the prices say"
            );
            Ok(Err(Rule::FencePrice))
        })
    }
}
