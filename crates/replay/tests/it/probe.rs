//! Tests of the probe against the recordings: unchanged, and with each member dropped, renamed and
//! retyped.

mod background;
mod contract;
mod difference;
mod errors;
mod mutation;
mod script;
mod world;

use std::collections::BTreeSet;

use data_sources::{
    probe::{Row, State, exit_code, probe},
    transport::Transport,
};
use replay::{Recordings, ReplayServer};

use self::world::{World, now};

async fn found() -> Vec<Row> {
    let replay = ReplayServer::start(Recordings::embedded().unwrap())
        .await
        .unwrap();
    let world = World::new(&Transport::new().unwrap(), &replay.url());
    let mut rows = Vec::new();
    for adapter in world.adapters() {
        rows.extend(probe(adapter.as_ref(), now(), &|_| Vec::new()).await.rows);
    }
    rows
}

/// The sources without a recording: some feeds, a series that needs a key, and the gas price of
/// nodes.
const UNRECORDED: [&str; 5] = [
    "rss.decrypt",
    "rss.blockworks",
    "rss.thedefiant",
    "fred.series",
    "rpc.gas-price",
];

#[tokio::test]
async fn the_recordings_match_their_own_form() {
    let rows = found().await;
    for row in &rows {
        let unrecorded = UNRECORDED.contains(&row.source);
        let expected = [State::Ok, State::Kept, State::NotAsked].contains(&row.state);
        assert!(expected || unrecorded, "{row:?}");
        assert_eq!(row.tolerated, 0, "{row:?}");
    }
    let others: Vec<Row> = rows
        .into_iter()
        .filter(|row| !UNRECORDED.contains(&row.source))
        .collect();
    assert_eq!(exit_code(&others), 0);
}

#[tokio::test]
async fn every_source_of_every_adapter_is_asked() {
    let replay = ReplayServer::start(Recordings::embedded().unwrap())
        .await
        .unwrap();
    let world = World::new(&Transport::new().unwrap(), &replay.url());
    for adapter in world.adapters() {
        let Some(source) = adapter.source().filter(|source| !source.spec().models) else {
            continue;
        };
        let asked: BTreeSet<&str> = adapter
            .questions()
            .iter()
            .flat_map(|question| question.sources.iter().copied())
            .collect();
        let all: BTreeSet<&str> = source.spec().sources.iter().copied().collect();
        assert_eq!(asked, all, "{}", source.spec().name);
    }
}
