//! Tests of records that a database has lost. A replica may lack the last commits after a failover.

use std::sync::Arc;

use dev_chain::xlayer;
use tx_sender::{MemoryStore, Store as _};
use wallet_actions::State;

use crate::memory::Memory;
use crate::stage::{World, balance, order, steps, wallet};
use crate::withdrawals::{give, withdraw};

/// The intent and the sender's record of it are lost, and the caller sends the same payment again.
#[tokio::test(start_paused = true)]
async fn a_withdrawal_whose_records_are_lost_happens_once() {
    let mut world = World::new();
    world.servers = true;
    give(&world, 10_000_000);
    let process = world.process();
    let first = process.run(order(1, withdraw(Some("1")))).await.unwrap();
    let record = world.records.get(&first.key(0)).await.unwrap().unwrap();
    let lost = process.run(order(2, withdraw(Some("2")))).await.unwrap();
    assert_eq!(
        (first.state, lost.state),
        (State::Completed, State::Completed)
    );
    process.actions.close().await;
    process.sender.close().await;

    world.records = Arc::new(MemoryStore::default());
    world.records.insert(record).await.unwrap();
    world.store = Arc::new(Memory::default());
    let process = world.process();
    let again = process.run(order(2, withdraw(Some("2")))).await.unwrap();
    assert_eq!(again.state, State::Failed);
    assert_eq!(again.halted.as_deref(), Some("step_displaced"));
    assert_eq!(steps(&again), ["transfer not_sent"]);
    assert_eq!(balance(&world.xlayer, xlayer::USDG, wallet()), 7_000_000);
    // The wallet can act again.
    let next = process.run(order(3, withdraw(Some("3")))).await.unwrap();
    assert_eq!(next.state, State::Completed);
    assert_eq!(balance(&world.xlayer, xlayer::USDG, wallet()), 4_000_000);
}
