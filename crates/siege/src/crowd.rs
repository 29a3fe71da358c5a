//! The hostile crowd. Each attack goes on until the crowd leaves, at a limited pace.

mod fence;
mod payments;
pub mod rail;
mod requests;
mod sockets;
mod wallets;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;

use crate::SiegeError;
use crate::field::{Attacker, Field};
use crate::owner::{self, Owner};

/// A target whose answer costs little.
pub const CHEAP: &str = "/all-tokens?limit=2";

/// The tasks of the running crowd.
pub type Crowd = JoinSet<Result<(), SiegeError>>;

/// Starts the crowd. No attacker acts before the siege begins.
pub fn gather(field: &Arc<Field>, owners: &Arc<[Owner]>) -> Crowd {
    let mut crowd = JoinSet::new();
    let mut join = |name: &'static str, pace: Pace, act: fn(Attacker) -> Act| {
        for number in 0..pace.attackers {
            let attacker = Attacker::new(field, name, number);
            crowd.spawn(again_and_again(attacker, pace, act));
        }
    };
    let pace = |attackers, least, most| Pace {
        attackers,
        least,
        most,
    };
    join("forged signatures", pace(2, 20, 80), |a| {
        Box::pin(payments::forged(a))
    });
    join("forged long signatures", pace(2, 20, 80), |a| {
        Box::pin(payments::forged_long(a))
    });
    join("throw-away keys", pace(2, 40, 160), |a| {
        Box::pin(payments::throw_away(a))
    });
    join("wallets that burn gas", pace(1, 300, 1_000), |a| {
        Box::pin(payments::burning(a))
    });
    join("promises that are not kept", pace(1, 80, 300), |a| {
        Box::pin(payments::deferred(a))
    });
    join("delegated accounts that refuse", pace(1, 200, 800), |a| {
        Box::pin(payments::refusing(a))
    });
    join("payments of others elsewhere", pace(1, 40, 160), |a| {
        Box::pin(payments::elsewhere(a))
    });
    join("payments of others, same request", pace(1, 80, 300), |a| {
        Box::pin(payments::same(a))
    });
    join("payments that were replaced", pace(1, 80, 300), |a| {
        Box::pin(payments::replaced(a))
    });
    join("known nonces, other signatures", pace(1, 40, 160), |a| {
        Box::pin(payments::resigned(a))
    });
    join("fifty at once", pace(1, 1_500, 3_000), |a| {
        Box::pin(payments::fifty(a))
    });
    join("poor account, many at once", pace(1, 1_500, 3_000), |a| {
        Box::pin(payments::poor(a))
    });
    join("repeated identifiers", pace(1, 200, 600), |a| {
        Box::pin(payments::identifiers(a))
    });
    join("max_age=0 on new symbols", pace(2, 30, 120), |a| {
        Box::pin(requests::new_symbols(a))
    });
    join("histories without an end", pace(2, 100, 400), |a| {
        Box::pin(requests::histories(a))
    });
    join("refused prompts", pace(1, 200, 800), |a| {
        Box::pin(requests::prompts(a))
    });
    join("malformed headers", pace(2, 20, 80), |a| {
        Box::pin(requests::malformed(a))
    });
    join("oversized", pace(1, 100, 400), |a| {
        Box::pin(requests::oversized(a))
    });
    join("idle sockets", pace(1, 500, 1_000), |a| {
        Box::pin(sockets::idle(a))
    });
    join("slow heads", pace(20, 100, 500), |a| {
        Box::pin(sockets::slow(a))
    });
    join("half-open connections", pace(1, 1_000, 2_000), |a| {
        Box::pin(sockets::half_open(a))
    });
    join("wallets of strangers", pace(1, 300, 1_000), |a| {
        Box::pin(wallets::strangers(a))
    });
    join("actions without a wallet", pace(1, 800, 2_500), |a| {
        Box::pin(wallets::walletless(a))
    });
    join("actions without funds", pace(1, 800, 2_500), |a| {
        Box::pin(wallets::without_funds(a))
    });
    join(
        "a wallet's file in another place",
        pace(1, 800, 2_000),
        |a| Box::pin(wallets::robber(a)),
    );
    join("revocations before a grant", pace(1, 200, 600), |a| {
        Box::pin(fence::tombstones(a))
    });
    join("rail flood", pace(4, 10, 40), |a| Box::pin(rail::flood(a)));
    join("rail, other tools", pace(2, 20, 80), |a| {
        Box::pin(rail::other_tools(a))
    });
    join("rail, many addresses", pace(6, 2_000, 6_000), |a| {
        Box::pin(rail::sip(a))
    });
    join("rail, malformed", pace(1, 50, 200), |a| {
        Box::pin(rail::malformed(a))
    });
    let thief = Attacker::new(field, owner::THIEF, 0);
    let owners = Arc::clone(owners);
    crowd.spawn(again_and_again(thief, pace(1, 1_500, 4_000), move |a| {
        Box::pin(fence::stolen_key(a, Arc::clone(&owners)))
    }));
    crowd
}

/// One act of an attacker. It returns the attacker for the next act.
type Act = std::pin::Pin<Box<dyn Future<Output = Result<Attacker, SiegeError>> + Send>>;

/// How many attackers there are, and how long each rests between two acts, in milliseconds.
#[derive(Debug, Clone, Copy)]
struct Pace {
    attackers: u64,
    least: u64,
    most: u64,
}

async fn again_and_again(
    mut attacker: Attacker,
    pace: Pace,
    act: impl Fn(Attacker) -> Act + Send + 'static,
) -> Result<(), SiegeError> {
    let field = attacker.field.clone();
    field.siege().await;
    loop {
        let rest: Duration = attacker.chance.millis(pace.least, pace.most);
        if !field.linger(rest).await {
            return Ok(());
        }
        attacker = act(attacker).await?;
    }
}
