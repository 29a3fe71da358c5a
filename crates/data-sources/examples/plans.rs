//! An embedder's own plan service: the adapters of the agent rail behind `plan-builder`, without a
//! server and without anything about payments.
//!
//! ```sh
//! cargo run -p data-sources --example plans -- bridge arguments.json fees.toml https://base.node.example
//! ```
//!
//! The last argument is a node of the account's chain. A swap runs without one, and is not
//! simulated then.

#![allow(
    clippy::print_stdout,
    missing_docs,
    reason = "the example prints what it does"
)]

use std::{collections::BTreeMap, error::Error, sync::Arc};

use data_sources::{
    Clock, SystemClock,
    circle::{Circle, CircleConfig},
    hyperliquid::{Hyperliquid, HyperliquidConfig},
    lifi::{Lifi, LifiConfig},
    polymarket::{Polymarket, PolymarketConfig},
    rpc::{RpcConfig, RpcReader},
    transport::{Transport, TransportError},
};
use plan_builder::{
    FeeDocument, Moment, Policy, Refusal, Request, Sealed, VerifiedPlan, bridge, perp_order,
    pm_order, swap, verify,
};

/// The addresses and keys of the upstreams.
#[derive(Default)]
pub struct Config {
    pub lifi: LifiConfig,
    pub circle: CircleConfig,
    pub polymarket: PolymarketConfig,
    pub hyperliquid: HyperliquidConfig,
    pub nodes: RpcConfig,
}

/// One adapter for each upstream; each is a port of `plan-builder`.
pub struct Venues {
    lifi: Lifi,
    circle: Circle,
    polymarket: Polymarket,
    hyperliquid: Hyperliquid,
    nodes: RpcReader,
}

impl Venues {
    /// Builds the adapters. It makes no connection yet.
    pub fn new(config: Config, clock: &Arc<dyn Clock>) -> Result<Self, TransportError> {
        let transport = Transport::new()?;
        let clock = || Arc::clone(clock);
        Ok(Self {
            lifi: Lifi::new(&transport, config.lifi, clock())?,
            circle: Circle::new(&transport, config.circle, clock())?,
            polymarket: Polymarket::new(&transport, config.polymarket, clock())?,
            hyperliquid: Hyperliquid::new(&transport, config.hyperliquid, clock())?,
            nodes: RpcReader::new(&transport, config.nodes, clock())?,
        })
    }

    /// Asks the rail's upstream, and builds, checks and seals the plan.
    pub async fn plan(
        &self,
        request: &Request,
        policy: &Policy,
        moment: &Moment,
    ) -> Result<Sealed, Refusal> {
        let nodes = &self.nodes;
        match request {
            Request::Swap(request) => swap::build(request, &self.lifi, nodes, policy, moment).await,
            Request::Bridge(request) => {
                bridge::build(request, &self.circle, nodes, nodes, policy, moment).await
            }
            Request::PmOrder(request) => {
                pm_order::build(request, &self.polymarket, policy, moment).await
            }
            Request::PerpOrder(request) => {
                perp_order::build(request, &self.hyperliquid, policy, moment).await
            }
        }
    }
}

/// The time of a clock, with random bytes.
pub fn moment(clock: &Arc<dyn Clock>, entropy: [u8; 32]) -> Moment {
    Moment {
        now_millis: u64::try_from(clock.now().as_millisecond()).unwrap_or_default(),
        entropy,
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let [rail, arguments, fees, node @ ..] = given.as_slice() else {
        return Err(
            "usage: plans <swap|bridge|pm_order|perp_order> <arguments.json> <fees.toml> [node]"
                .into(),
        );
    };
    let rail = calldata_checks::Rail::ALL
        .into_iter()
        .find(|known| known.as_str() == rail)
        .ok_or("no such rail")?;
    let request = Request::parse(rail, &std::fs::read_to_string(arguments)?)?;
    let fees: FeeDocument = toml::from_str(&std::fs::read_to_string(fees)?)?;
    let policy = Policy::new(fees.review()?);

    let mut config = Config::default();
    if let (Some(node), Some(chain_id)) = (node.first(), chain_of(&request)) {
        config.nodes.chains = BTreeMap::from([(chain_id, vec![node.as_str().into()])]);
    }
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let venues = Venues::new(config, &clock)?;
    // Random bytes of the system; an embedder takes those of its own generator.
    let mut entropy = [0; 32];
    std::io::Read::read_exact(&mut std::fs::File::open("/dev/urandom")?, &mut entropy)?;
    let moment = moment(&clock, entropy);

    let sealed = venues.plan(&request, &policy, &moment).await?;
    let verified = verify(&request, sealed.json(), moment.now(), &policy)?;
    println!(
        "{}: {} checks hold until {}",
        sealed.artifact_id(),
        verified.report().assertions().len(),
        verified.valid_until()
    );
    match verified.plan() {
        VerifiedPlan::PmOrder(order) => println!("sign {}", order.order_hash),
        VerifiedPlan::PerpOrder(order) => {
            println!("sign {}", order.signing_digest(moment.now_millis));
        }
        _ => {
            for step in verified.steps() {
                println!("{} to {} data {}", step.kind.as_str(), step.to, step.data);
            }
        }
    }
    Ok(())
}

/// The chain whose nodes the request needs.
fn chain_of(request: &Request) -> Option<u64> {
    match request {
        Request::Swap(request) => Some(request.account().chain_id),
        Request::Bridge(request) => Some(request.account().chain_id),
        Request::PmOrder(_) | Request::PerpOrder(_) => None,
    }
}
