//! One schedule: callers, an operator and faults, then a time without faults, then the check of the
//! promises.

use std::sync::Arc;

use alloy_primitives::U256;
use ledger::Journal as _;
use tokio::task::JoinSet;

use super::buyer::{Buyer, Purchases};
use super::check::{check, check_credit, check_earned, check_stopped};
use super::journal::at_once;
use super::payers::Account;
use super::server::Server;
use super::several;
use super::store::Store;
use super::world::{Fleet, World, catalogs};
use crate::payment::tests::payer::Payer;

/// The result of a schedule.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) notes: Vec<String>,
    pub(super) violations: Vec<String>,
}

/// Runs the schedule of a seed over an empty store, on a runtime of one thread. Its time is paused
/// and advances only when no task can run.
pub(super) fn run<S: Store>(
    seed: u64,
    fleet: Fleet,
    with_notes: bool,
    store: impl FnOnce(&World) -> S,
) -> Outcome {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let world = Arc::new(World::new(seed, fleet, with_notes));
        let server = Arc::new(Server::new(Arc::clone(&world), store(&world)));
        schedule(&server).await;
        Outcome {
            notes: world.notes(),
            violations: world.violations(),
        }
    })
}

async fn schedule<S: Store>(server: &Arc<Server<S>>) {
    let world = &server.world;
    world.note(|| format!("{:?}, reads the chain: {}", world.rates, world.reads_chain));
    let accounts = accounts(world);
    let purchases = Arc::<Purchases>::default();
    for place in 0..world.servers {
        server.start(place, Arc::clone(&catalogs()[0])).await;
    }
    let mut buyers = JoinSet::new();
    for number in 1..=world.chance.between(1, 4) {
        let which = world.chance.below(u64::try_from(accounts.len()).unwrap());
        let buyer = Buyer {
            server: Arc::clone(server),
            account: Arc::clone(&accounts[usize::try_from(which).unwrap()]),
            address: [10, 0, 0, u8::try_from(number).unwrap()].into(),
            purchases: Arc::clone(&purchases),
        };
        buyers.spawn(buyer.buy(world.chance.between(1, 3)));
    }
    match world.servers {
        1 => operate(server, &accounts).await,
        _ => several::operate(server, &accounts).await,
    }
    world.make_peace();
    while let Some(bought) = buyers.join_next().await {
        bought.unwrap();
    }
    come_to_rest(server).await;
    let purchases = Arc::into_inner(purchases).unwrap().into_inner().unwrap();
    check(server, &purchases).await;
    for account in &accounts {
        check_earned(server, &purchases, account);
    }
    for place in 0..world.servers {
        stop(server, place, &accounts).await;
    }
}

/// Some accounts with a key, and one wallet if wallets can pay. Some have hardly any money.
fn accounts(world: &World) -> Vec<Arc<Account>> {
    let mut accounts = vec![Account::Key(Payer::new(1)), Account::Key(Payer::new(2))];
    if world.reads_chain {
        accounts.push(Account::Wallet);
    }
    for account in &accounts {
        let money = world.chance.pick(&[1_000_000, 1_000_000, 1_000_000, 5_000]);
        for option in catalogs()[0]
            .offer(super::buyer::MENU[0].operation)
            .options()
        {
            world
                .chain
                .fund(account.address(), option.asset, U256::from(money));
        }
    }
    accounts.into_iter().map(Arc::new).collect()
}

/// Acts as the operator and the machine: stops processes or lets them crash, and starts them again,
/// sometimes with other terms.
async fn operate<S: Store>(server: &Arc<Server<S>>, accounts: &[Arc<Account>]) {
    let world = &server.world;
    for _ in 0..world.chance.below(4) {
        world.sleep(world.chance.pick(&[1, 4, 15, 60, 200])).await;
        world.chance.pause().await;
        match world.chance.one_in(2) {
            true => server.crash(0),
            false => stop(server, 0, accounts).await,
        }
        world.sleep(world.chance.below(20)).await;
        server
            .start(
                0,
                Arc::clone(&catalogs()[usize::try_from(world.chance.below(4)).unwrap()]),
            )
            .await;
    }
    // Rarely so long that payments become undecidable meanwhile.
    let seconds = match world.chance.one_in(4) {
        true => 3_000,
        false => world.chance.between(10, 300),
    };
    world.sleep(seconds).await;
}

pub(super) async fn stop<S: Store>(server: &Server<S>, place: usize, accounts: &[Arc<Account>]) {
    if let Some(process) = server.stop(place).await {
        check_stopped(server, &process);
        for account in accounts {
            check_credit(server, &process, account);
        }
    }
}

/// Lets sweeps and reconciliation run until nothing is open, a few hours at most.
async fn come_to_rest<S: Store>(server: &Server<S>) {
    // Longer than any pause that began before, so that every server has its lease.
    if server.world.servers > 1 {
        server.world.sleep(120).await;
    }
    for _ in 0..240 {
        let counts = at_once(server.journal().open_counts()).unwrap();
        if counts.in_flight + counts.unknown == 0 {
            return;
        }
        server.world.sleep(60).await;
    }
}
