//! Several servers over one database, and their faults: they are stopped and crash, they are held
//! up for longer than their lease, and one or all of them are cut off from the database.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::task::JoinSet;

use super::payers::Account;
use super::schedule::stop;
use super::server::Server;
use super::store::Store;
use super::world::catalogs;

/// Lets faults happen to each server and to the database, all at the same time.
pub(super) async fn operate<S: Store>(server: &Arc<Server<S>>, accounts: &[Arc<Account>]) {
    let mut happening = JoinSet::new();
    for place in 0..server.world.servers {
        let (server, accounts) = (Arc::clone(server), accounts.to_vec());
        happening.spawn(async move { happen_to(&server, place, &accounts).await });
    }
    let database = Arc::clone(server);
    happening.spawn(async move { lose_the_database(&database).await });
    while let Some(happened) = happening.join_next().await {
        happened.unwrap();
    }
    // Rarely so long that payments become undecidable meanwhile.
    let seconds = match server.world.chance.one_in(4) {
        true => 3_000,
        false => server.world.chance.between(10, 300),
    };
    server.world.sleep(seconds).await;
}

/// Lets one fault happen to one server. Afterwards the server runs and reaches the database.
async fn happen_to<S: Store>(server: &Server<S>, place: usize, accounts: &[Arc<Account>]) {
    let world = &server.world;
    for _ in 0..world.chance.below(5) {
        world.sleep(world.chance.pick(&[1, 4, 15, 60])).await;
        world.chance.pause().await;
        let kind = world
            .chance
            .pick(&["crash", "stop", "held up", "held up", "cut off"]);
        let seconds = world.chance.pick(&[2, 8, 20, 60, 200]);
        world.note(|| format!("server {place}: {kind}, for {seconds} s"));
        match kind {
            "crash" => server.crash(place),
            "stop" => stop(server, place, accounts).await,
            kind => {
                let Some(process) = server.running(place) else {
                    continue;
                };
                let hold = |held: bool| match kind {
                    "held up" => process.life.hold_up(held),
                    _ => process.life.cut_off(held),
                };
                hold(true);
                world.sleep(seconds).await;
                hold(false);
                continue;
            }
        }
        world.sleep(seconds / 2).await;
        server.start(place, Arc::clone(&catalogs()[0])).await;
    }
}

/// Takes the database away for a while.
async fn lose_the_database<S: Store>(server: &Server<S>) {
    let world = &server.world;
    for _ in 0..world.chance.below(3) {
        world.sleep(world.chance.pick(&[3, 20, 90])).await;
        world.note(|| "database: away".to_owned());
        world.database_is_away.store(true, Ordering::SeqCst);
        world.sleep(world.chance.pick(&[1, 6, 30])).await;
        world.database_is_away.store(false, Ordering::SeqCst);
        world.note(|| "database: there again".to_owned());
    }
}
