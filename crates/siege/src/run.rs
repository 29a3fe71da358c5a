//! A siege from its set-up to its judgement.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use api_server::Sources;
use http::HeaderValue;
use tokio::task::JoinSet;

use crate::SiegeError;
use crate::buyer::{self, Buyer, DELEGATED_KIND};
use crate::chance::Chance;
use crate::client::{Client, Request};
use crate::field::Field;
use crate::judge::{self, Evidence, Finding, Footprint, Tolerance};
use crate::payment::{Key, Wallet};
use crate::record::{End, Phase};
use crate::upstreams;
use crate::weather::Weather;
use crate::world::{Accounts, POOL_MICRO_USD, REFILL_MICRO_USD, Settlement, World};
use crate::{agent, crowd};

/// The length of a siege, and its tolerances.
#[derive(Debug, Clone, Copy)]
pub struct Scale {
    /// The time with honest buyers only.
    pub peace: Duration,
    /// The time with the crowd.
    pub siege: Duration,
    /// The longest time until everything is decided.
    pub calm: Duration,
    /// The settler.
    pub settlement: Settlement,
    /// How often both servers are killed in the first third of the siege.
    pub kills: u32,
    /// The tolerances.
    pub tolerance: Tolerance,
}

impl Scale {
    /// A short one, for slow machines with other work: times are only reported, and buyers that
    /// wait for the end of a window are not waited for.
    pub const QUICK: Self = Self {
        peace: Duration::from_secs(8),
        siege: Duration::from_secs(35),
        calm: Duration::from_secs(60),
        settlement: Settlement::Facilitator,
        kills: 0,
        tolerance: Tolerance {
            memory: 48 << 20,
            descriptors: 128,
            ratio: None,
            p99: Some(Duration::from_secs(10)),
            waiting: true,
        },
    };

    /// A siege of this many minutes.
    pub const fn minutes(minutes: u64) -> Self {
        Self {
            peace: Duration::from_secs(30),
            siege: Duration::from_secs(minutes.saturating_mul(60)),
            calm: Duration::from_secs(300),
            settlement: Settlement::Facilitator,
            kills: 0,
            tolerance: Tolerance {
                memory: 48 << 20,
                descriptors: 128,
                ratio: Some(3),
                p99: None,
                waiting: false,
            },
        }
    }
}

/// The outcome of a siege.
#[derive(Debug, Clone)]
pub struct SiegeOutcome {
    /// Every promise.
    pub findings: Vec<Finding>,
    /// The answers to the crowd, by attack: statuses with their numbers.
    pub crowd: BTreeMap<&'static str, String>,
}

/// Honest buyers whose times are measured.
const STEADY: u8 = 6;
/// Honest buyers whose dependencies fail.
const USUAL: u8 = 6;
/// Honest buyers that also hang up.
const FLAKY: u8 = 4;
/// Honest buyers that pay from contract wallets.
const CONTRACTS: u8 = 2;
/// Honest buyers whose accounts have delegated to code.
const DELEGATED: u8 = 2;
/// Honest agents at the rail.
const AGENTS: u64 = 3;

/// The time between two purchases of a steady buyer.
const STEADY_EVERY: Duration = Duration::from_millis(250);
/// The time between two purchases of another buyer.
const USUAL_EVERY: Duration = Duration::from_millis(1_000);
/// How long the servers may take to close unused connections.
const REST: Duration = Duration::from_secs(6);

/// The purchases of steady buyers: they are in the server's memory, so no upstream determines their
/// time.
const KEPT: [&str; 2] = ["/all-tokens?limit=3", "/all-tokens?limit=5"];

/// Holds a siege with the servers of a folder.
///
/// # Errors
/// When it could not be set up.
pub async fn hold(programs: &Path, scale: Scale, seed: u64) -> Result<SiegeOutcome, SiegeError> {
    let cast = Cast::draw(seed)?;
    let weather = Arc::new(Weather::new(seed, cast.steady()));
    let begun = Instant::now();
    let accounts = cast.accounts();
    let mut world = World::open(programs, &accounts, scale.settlement, weather.clone()).await?;
    let (api, rail) = (world.api.address(), world.rail.address());
    let field = Field::new(api, rail, seed, cast.rich, cast.poor, cast.refusing);
    let field = Arc::new(field);
    warm_up(&field, &cast.buyers).await?;

    let mut buyers = JoinSet::new();
    for buyer in cast.buyers {
        let every = if buyer.steady {
            STEADY_EVERY
        } else {
            USUAL_EVERY
        };
        buyers.spawn(buyer::keep_buying(buyer, field.clone(), every));
    }
    let mut agents = JoinSet::new();
    for number in 1..=AGENTS {
        agents.spawn(agent::ask(number, field.clone(), scale.siege));
    }
    let crowd = crowd::gather(&field);

    tokio::time::sleep(scale.peace).await;
    let in_peace = world.held()?;
    field.enter(Phase::Siege);
    let warm_up = scale.siege / 3;
    kill_and_start(&mut world, &field, scale.kills, warm_up).await?;
    let warm = world.held()?;
    tokio::time::sleep(scale.siege.saturating_sub(warm_up)).await;

    field.enter(Phase::Calm);
    weather.calm_down();
    all(crowd).await?;
    while agents.join_next().await.is_some() {}
    let open = decided(&field, scale.calm, &mut buyers).await?;
    field.enter(Phase::Over);
    all(buyers).await?;

    let states = look_up_all(&field).await?;
    tokio::time::sleep(REST).await;
    let end = world.held()?;
    let footprints = [("api-server", 0), ("mcp-server", 1)].map(|(server, at): (_, usize)| {
        let of = |held: &[judge::Held; 2]| held.get(at).copied().unwrap_or(judge::Held::NOTHING);
        let warm = judge::Held {
            descriptors: of(&in_peace).descriptors,
            ..of(&warm)
        };
        Footprint {
            server,
            warm,
            end: of(&end),
        }
    });
    let seen = field.record.seen().clone();
    let mut answered = BTreeMap::<_, String>::new();
    for ((attack, outcome), count) in &seen.crowd {
        let line = answered.entry(*attack).or_default();
        line.push_str(&format!("{count} x {outcome}  "));
    }
    let evidence = Evidence {
        charges: world.bank.charges(),
        states,
        open,
        calls: world.upstreams.calls(),
        quotas: upstreams::quotas(&Sources::specs()),
        failed_transactions: world.failed_transactions(),
        pool: REFILL_MICRO_USD
            .saturating_mul(begun.elapsed().as_secs())
            .saturating_add(POOL_MICRO_USD),
        footprints: footprints.to_vec(),
        tolerance: scale.tolerance,
        seen,
    };
    world.close()?;
    Ok(SiegeOutcome {
        findings: judge::judge(&evidence),
        crowd: answered,
    })
}

/// Kills the paid API and then the agent rail this many times within a time, at moments that the
/// seed determines, and restarts each at once.
async fn kill_and_start(
    world: &mut World,
    field: &Field,
    kills: u32,
    within: Duration,
) -> Result<(), SiegeError> {
    let mut chance = Chance::of(field.seed, "kills");
    let share = within / kills.saturating_add(1);
    let millis = u64::try_from(share.as_millis()).unwrap_or_default();
    for _ in 0..kills {
        let before = chance.millis(0, millis);
        tokio::time::sleep(before).await;
        field.interrupted();
        world.kill_and_start_api()?;
        field.interrupted();
        world.kill_and_start_rail()?;
        tokio::time::sleep(share.saturating_sub(before)).await;
    }
    tokio::time::sleep(share).await;
    Ok(())
}

/// The participants.
struct Cast {
    buyers: Vec<Buyer>,
    rich: Vec<Wallet>,
    poor: Vec<Wallet>,
    refusing: Vec<Wallet>,
}

impl Cast {
    fn draw(seed: u64) -> Result<Self, SiegeError> {
        let mut chance = Chance::of(seed, "wallets");
        let mut wallets = |count: u8| -> Result<Vec<Wallet>, SiegeError> {
            (0..count).map(|_| Wallet::draw(&mut chance)).collect()
        };
        let kept = KEPT.map(str::to_owned).to_vec();
        let mut usual = kept.clone();
        for token in [
            "0xe538905cf8410324e03A5A23C1c177a474D59b2b",
            "0x779Ded0c9e1022225f8E0630b35a9b54bE713736",
            "0x4ae46a509F6b1D9056937BA4500cb143933D2dc8",
        ] {
            usual.push(format!("/price?token={token}"));
        }
        let mut buyers = Vec::new();
        for (kind, count, targets, hang_ups) in [
            ("steady", STEADY, &kept, 0),
            ("usual", USUAL, &usual, 0),
            ("flaky", FLAKY, &usual, 2),
            ("contract", CONTRACTS, &usual, 0),
            (DELEGATED_KIND, DELEGATED, &usual, 0),
        ] {
            for (number, wallet) in (0_u8..).zip(wallets(count)?) {
                let address = format!("10.0.{}.{number}", kind.len());
                buyers.push(Buyer {
                    name: format!("{kind} buyer {number}"),
                    wallet: match kind {
                        "contract" => wallet.of_contract(),
                        _ => wallet,
                    },
                    address: HeaderValue::try_from(address).unwrap_or(HeaderValue::from_static("")),
                    targets: targets.clone(),
                    steady: kind == "steady",
                    hang_ups,
                });
            }
        }
        Ok(Self {
            buyers,
            rich: wallets(3)?,
            poor: wallets(8)?,
            refusing: wallets(2)?,
        })
    }

    fn steady(&self) -> Vec<alloy_primitives::Address> {
        let steady = self.buyers.iter().filter(|buyer| buyer.steady);
        steady.map(|buyer| buyer.wallet.address()).collect()
    }

    fn accounts(&self) -> Accounts {
        let buyers = self.buyers.iter().map(|buyer| &buyer.wallet);
        let delegated = self
            .buyers
            .iter()
            .filter(|buyer| buyer.name.starts_with(DELEGATED_KIND));
        Accounts {
            delegated: delegated.map(|buyer| buyer.wallet.address()).collect(),
            refusing: self.refusing.iter().map(Wallet::address).collect(),
            contracts: buyers.clone().filter_map(Wallet::contract).collect(),
            rich: buyers.chain(&self.rich).map(Wallet::address).collect(),
            poor: self.poor.iter().map(Wallet::address).collect(),
        }
    }
}

/// A steady buyer buys every target once, so that cacheable data is cached, and every target is
/// known to be sold.
async fn warm_up(field: &Arc<Field>, buyers: &[Buyer]) -> Result<(), SiegeError> {
    let mut chance = Chance::of(field.seed, "warm-up");
    let mut client = Client::new(field.api);
    let (Some(steady), Some(usual)) = (buyers.first(), buyers.last()) else {
        return Ok(());
    };
    for target in &usual.targets {
        let buyer = Buyer {
            targets: vec![target.clone()],
            steady: false,
            ..steady.clone()
        };
        let bought = buyer.buy(field, &mut client, &mut chance);
        let bought = tokio::time::timeout(Duration::from_secs(20), bought).await;
        if let Ok(failed @ Err(_)) = bought {
            failed?;
        }
        let seen = field.record.seen();
        match seen.purchases.last().map(|purchase| &purchase.end) {
            Some(End::Answered(_)) => {}
            other => {
                return Err(SiegeError::NotReady {
                    what: "a first purchase",
                    observed: format!("{target}: {other:?}"),
                });
            }
        }
    }
    Ok(())
}

async fn all(mut tasks: JoinSet<Result<(), SiegeError>>) -> Result<(), SiegeError> {
    while let Some(ended) = tasks.join_next().await {
        ended.map_err(std::io::Error::other)??;
    }
    Ok(())
}

/// Waits until every buyer has finished and the server has decided every payment, or the time is
/// up. Returns the server's count of open payments.
async fn decided(
    field: &Field,
    most: Duration,
    buyers: &mut JoinSet<Result<(), SiegeError>>,
) -> Result<BTreeMap<String, u64>, SiegeError> {
    let begun = Instant::now();
    loop {
        while let Some(ended) = buyers.try_join_next() {
            ended.map_err(std::io::Error::other)??;
        }
        let open = open_payments(field).await;
        let quiet = !open.is_empty() && open.values().all(|count| *count == 0);
        if (quiet && buyers.is_empty()) || begun.elapsed() > most {
            return Ok(open);
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

/// `svc_payments_open` by state; nothing when the server does not answer.
async fn open_payments(field: &Field) -> BTreeMap<String, u64> {
    let answer = Client::new(field.api).send(&Request::get("/metrics")).await;
    let body = answer.map(|answer| answer.body).unwrap_or_default();
    let text = String::from_utf8_lossy(&body);
    text.lines().filter_map(open_in).collect()
}

fn open_in(line: &str) -> Option<(String, u64)> {
    let rest = line.strip_prefix("svc_payments_open{state=\"")?;
    let (state, count) = rest.split_once("\"} ")?;
    Some((state.to_owned(), count.trim().parse().ok()?))
}

/// Asks the server for the state of every authorization that was ever sent.
async fn look_up_all(field: &Field) -> Result<BTreeMap<Key, String>, SiegeError> {
    let keys = field.record.seen().keys.clone();
    let mut client = Client::new(field.api);
    let mut states = BTreeMap::new();
    for key in keys {
        let answer = client.send(&Request::get(key.look_up())).await;
        if let Some(state) = answer.ok().as_ref().and_then(buyer::state) {
            states.insert(key, state);
        }
    }
    Ok(states)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_payments_are_read_from_the_metrics() {
        let line = r#"svc_payments_open{state="in_flight"} 3"#;
        assert_eq!(open_in(line), Some(("in_flight".to_owned(), 3)));
        assert_eq!(open_in("# TYPE svc_payments_open gauge"), None);
    }

    #[test]
    fn delegated_accounts_buy_and_attack() {
        let accounts = Cast::draw(1).unwrap().accounts();
        let count = |of: &[alloy_primitives::Address]| u8::try_from(of.len()).unwrap();
        assert_eq!(
            (count(&accounts.delegated), count(&accounts.refusing)),
            (DELEGATED, 2)
        );
        let rich = |account| accounts.rich.contains(account);
        assert!(accounts.delegated.iter().all(rich));
    }

    #[test]
    fn a_seed_casts_the_same_wallets() {
        let addresses = |seed| Cast::draw(seed).unwrap().accounts().rich;
        assert_eq!(addresses(1), addresses(1));
        assert_ne!(addresses(1), addresses(2));
    }
}
