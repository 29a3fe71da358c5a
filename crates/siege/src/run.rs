//! Holds a siege: sets it up, runs it, and judges it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use alloy_primitives::Address;
use api_server::Sources;
use tokio::task::JoinSet;

use crate::SiegeError;
use crate::aftermath::{decided, orders_ended, revocations, testimonies};
use crate::bank::{Money, THIEF};
use crate::buyer::{self, Buyer};
use crate::cast::Cast;
use crate::chance::Chance;
use crate::field::Field;
use crate::judge::{self, Evidence, Finding, Footprint, Held, Purse};
use crate::owner::{self, Owner};
use crate::record::{End, Phase};
use crate::scale::Scale;
use crate::upstreams;
use crate::weather::Weather;
use crate::world::{LEASE, POOL_MICRO_USD, REFILL_MICRO_USD, World};
use crate::{agent, crowd};

/// The result of a siege.
#[derive(Debug, Clone)]
pub struct SiegeOutcome {
    /// The finding about every promise.
    pub findings: Vec<Finding>,
    /// The answers to the crowd, by attack: each status and how often it came.
    pub crowd: BTreeMap<&'static str, String>,
}

/// How many honest agents ask the rail.
const AGENTS: u64 = 3;

/// The time between two purchases of a steady buyer.
const STEADY_EVERY: Duration = Duration::from_millis(250);
/// The time between two purchases of another buyer.
const USUAL_EVERY: Duration = Duration::from_millis(1_000);
/// How long the servers may take to close connections that nobody uses.
const REST: Duration = Duration::from_secs(6);

/// Holds a siege of the servers whose programs are in the folder `programs`.
///
/// # Errors
/// When the siege could not be held.
pub async fn hold(programs: &Path, scale: Scale, seed: u64) -> Result<SiegeOutcome, SiegeError> {
    let mut cast = Cast::draw(seed, scale.servers)?;
    let weather = Arc::new(Weather::new(seed, cast.steady()));
    let begun = Instant::now();
    let accounts = cast.accounts();
    let mut world = World::open(programs, &accounts, scale, weather.clone()).await?;
    let mut at_first = Vec::new();
    for owner in &cast.owners {
        at_first.push(world.bank.money(&[owner.address()])?);
    }
    let (apis, rail) = (world.apis(), world.rail.address());
    let robber = cast.robber.wallet.clone();
    let (rich, poor, refusing) = (cast.rich, cast.poor, cast.refusing);
    let field = Field::new(apis, rail, seed, rich, poor, refusing, robber);
    let field = Arc::new(field);
    // The owners' money is moved once, so nothing fails before that.
    weather.calm_down();
    warm_up(&field, &cast.buyers).await?;
    owner::sub_wallet(&cast.robber, &field).await?;
    for owner in &mut cast.owners {
        owner.settle_in(&field, &world.bank).await?;
    }
    let owners: Arc<[Owner]> = cast.owners.into();
    weather.rise();

    let mut buyers = JoinSet::new();
    for buyer in cast.buyers {
        let every = if buyer.steady {
            STEADY_EVERY
        } else {
            USUAL_EVERY
        };
        buyers.spawn(buyer::keep_buying(buyer, field.clone(), every));
    }
    for owner in owners.iter() {
        buyers.spawn(owner::keep_ordering(owner.clone(), field.clone()));
    }
    let mut agents = JoinSet::new();
    for number in 1..=AGENTS {
        agents.spawn(agent::ask(number, field.clone(), scale.siege));
    }
    let crowd = crowd::gather(&field, &owners);

    tokio::time::sleep(scale.peace).await;
    let in_peace = world.held()?;
    field.enter(Phase::Siege);
    let warm_up = scale.siege / 3;
    let robbed = owners.first().map(Owner::address).unwrap_or_default();
    kill_and_start(&mut world, &field, robbed, scale.kills, warm_up).await?;
    let warm = world.held()?;
    tokio::time::sleep(scale.siege.saturating_sub(warm_up)).await;

    field.enter(Phase::Calm);
    weather.calm_down();
    all(crowd).await?;
    while agents.join_next().await.is_some() {}
    decided(&field, scale.calm, &mut buyers).await?;
    field.enter(Phase::Over);
    all(buyers).await?;

    orders_ended(&field).await;
    let testimonies = testimonies(&field).await;
    let revocations = revocations(&field).await;
    let purses = purses(&owners, &world, at_first)?;
    let stolen = world.bank.money(&[THIEF])?;
    let wallet_owners = world.wallet_owners()?;
    tokio::time::sleep(REST).await;
    let end = world.held()?;
    let seen = field.record.seen().clone();
    let mut answered = BTreeMap::<_, String>::new();
    for ((attack, outcome), count) in &seen.crowd {
        let line = answered.entry(*attack).or_default();
        line.push_str(&format!("{count} x {outcome}  "));
    }
    let evidence = Evidence {
        charges: world.bank.charges(),
        testimonies,
        revocations,
        purses,
        stolen,
        wallet_owners,
        calls: world.upstreams.calls(),
        quotas: upstreams::quotas(&Sources::specs()),
        failed_transactions: world.failed_transactions(),
        pool: REFILL_MICRO_USD
            .saturating_mul(begun.elapsed().as_secs())
            .saturating_add(POOL_MICRO_USD),
        footprints: footprints(&in_peace, &warm, end),
        tolerance: scale.tolerance,
        seen,
    };
    world.close()?;
    Ok(SiegeOutcome {
        findings: judge::judge(&evidence),
        crowd: answered,
    })
}

/// Combines what the owners had at first with what they have now in their accounts and sub-wallets.
fn purses(owners: &[Owner], world: &World, at_first: Vec<Money>) -> Result<Vec<Purse>, SiegeError> {
    let mut purses = Vec::new();
    for (owner, at_first) in owners.iter().zip(at_first) {
        let at_end = world.bank.money(&[owner.address(), owner.wallet])?;
        purses.push(Purse {
            owner: owner.address(),
            at_first,
            at_end,
        });
    }
    Ok(purses)
}

/// Combines the measurements: the memory under the crowd and the descriptors before it, and both at
/// the end.
fn footprints(
    in_peace: &[(String, Held)],
    warm: &[(String, Held)],
    end: Vec<(String, Held)>,
) -> Vec<Footprint> {
    let before = in_peace.iter().zip(warm);
    let all = end.into_iter().zip(before);
    all.map(|((server, end), ((_, in_peace), (_, warm)))| Footprint {
        server,
        warm: Held {
            memory: warm.memory,
            descriptors: in_peace.descriptors,
        },
        end,
    })
    .collect()
}

/// Kills each server of the paid API in turn, and the agent rail, this many times, and starts each
/// again at once. All this takes the time `within`. The seed determines the moments.
async fn kill_and_start(
    world: &mut World,
    field: &Field,
    robbed: Address,
    kills: u32,
    within: Duration,
) -> Result<(), SiegeError> {
    let mut chance = Chance::of(field.seed, "kills");
    let servers = field.apis.len();
    let each = u32::try_from(servers).unwrap_or(u32::MAX).max(1);
    let share = within / kills.saturating_add(1) / each;
    let millis = u64::try_from(share.as_millis()).unwrap_or_default();
    // Another server continues what a dead one has begun when the dead one's lease ends.
    let effect = if servers > 1 { LEASE } else { Duration::ZERO };
    for _ in 0..kills {
        for server in 0..servers {
            let before = chance.millis(0, millis);
            tokio::time::sleep(before).await;
            field.interrupted(Duration::ZERO);
            world.kill_and_start_api(server, field.robber.address(), robbed)?;
            field.interrupted(effect);
            if server == 0 {
                world.kill_and_start_rail()?;
            }
            tokio::time::sleep(share.saturating_sub(before)).await;
        }
    }
    let used = share.saturating_mul(kills.saturating_mul(each));
    tokio::time::sleep(within.saturating_sub(used)).await;
    Ok(())
}

/// Buys every target once at each server. Then cacheable data is in the caches, and every target is
/// known to be sold.
async fn warm_up(field: &Arc<Field>, buyers: &[Buyer]) -> Result<(), SiegeError> {
    let mut chance = Chance::of(field.seed, "warm-up");
    let mut client = field.client();
    let (Some(steady), Some(usual)) = (buyers.first(), buyers.last()) else {
        return Ok(());
    };
    let targets = usual.targets.iter();
    for target in targets.flat_map(|target| std::iter::repeat_n(target, field.apis.len())) {
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
