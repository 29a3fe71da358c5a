//! Tests of owners that are contracts. Another chain may have another contract at the owner's
//! address, or none.

use dev_chain::{arbitrum, base, xlayer};
use wallet_actions::{Action, Order, State, WithdrawOrder};

use crate::bridges::bridge;
use crate::stage::{World, balance, move_tokens, order, owner, reason, wallet};

/// The code of a wallet that accepts everything, and that of another contract.
const CODE: &[u8] = &[0x00];
const OTHER: &[u8] = &[0x5b, 0x00];
/// The code of a contract that answers everything with the id of its chain.
const OWNED_BY_CHAIN: &[u8] = &[0x46, 0x60, 0x00, 0x52, 0x60, 0x20, 0x60, 0x00, 0xf3];

fn withdraw(chain_id: u64, token: alloy_primitives::Address) -> Action {
    Action::Withdraw(WithdrawOrder {
        chain_id,
        token,
        amount: None,
    })
}

/// The order of an owner whose code has accepted the payment.
fn of_contract(number: u8, action: Action) -> Order {
    Order {
        owner_is_key: false,
        ..order(number, action)
    }
}

fn give(world: &World) {
    let owner = owner().address();
    move_tokens(&world.xlayer, xlayer::USDG, owner, wallet(), 10_000_000);
    move_tokens(&world.base, base::USDC, owner, wallet(), 100_000_000);
}

#[tokio::test(start_paused = true)]
async fn funds_of_a_contract_go_to_its_address_elsewhere_only_with_the_same_code() {
    for there in [None, Some(OTHER)] {
        let world = World::of_a_contract([Some(CODE), there, there]);
        give(&world);
        let process = world.process();
        let to_owner = bridge("25", Some(owner().address()));
        for (number, action) in [(1, withdraw(8453, base::USDC)), (2, to_owner)] {
            let refused = process.run(of_contract(number, action)).await.unwrap_err();
            assert_eq!(reason(&refused), "owner_code_differs");
        }
        assert_eq!(balance(&world.base, base::USDC, wallet()), 100_000_000);
        // On its own chain the contract has its address, and the wallet has its own everywhere.
        let home = process.run(of_contract(3, withdraw(196, xlayer::USDG)));
        assert_eq!(home.await.unwrap().state, State::Completed);
        let own = process.run_when_free(of_contract(4, bridge("25", None)));
        assert_eq!(own.await.state, State::Completed);
        assert_eq!(
            balance(&world.arbitrum, arbitrum::USDC, wallet()),
            25_000_000
        );
    }
}

/// The same code, such as that of a proxy, says nothing about its owners.
#[tokio::test(start_paused = true)]
async fn funds_of_a_contract_do_not_go_to_other_owners_of_the_same_code() {
    let world = World::of_a_contract([Some(OWNED_BY_CHAIN); 3]);
    give(&world);
    let process = world.process();
    let to_owner = bridge("25", Some(owner().address()));
    for (number, action) in [(1, withdraw(8453, base::USDC)), (2, to_owner)] {
        let refused = process.run(of_contract(number, action)).await.unwrap_err();
        assert_eq!(reason(&refused), "owner_owners_differ");
    }
    let home = process.run(of_contract(3, withdraw(196, xlayer::USDG)));
    assert_eq!(home.await.unwrap().state, State::Completed);
}

#[tokio::test(start_paused = true)]
async fn the_same_contract_elsewhere_gets_its_funds() {
    let world = World::of_a_contract([Some(CODE); 3]);
    give(&world);
    let process = world.process();
    let to_owner = bridge("25", Some(owner().address()));
    let done = process.run(of_contract(1, to_owner)).await.unwrap();
    assert_eq!(done.state, State::Completed, "{done:#?}");
    let done = process.run_when_free(of_contract(2, withdraw(8453, base::USDC)));
    assert_eq!(done.await.state, State::Completed);
    assert_eq!(balance(&world.base, base::USDC, wallet()), 0);
}

/// An owner without code whose own key has not signed is no account that is known to exist
/// elsewhere.
#[tokio::test(start_paused = true)]
async fn an_owner_without_code_and_without_a_key_is_refused_elsewhere() {
    let world = World::new();
    give(&world);
    let process = world.process();
    let refused = process
        .run(of_contract(1, withdraw(8453, base::USDC)))
        .await;
    assert_eq!(reason(&refused.unwrap_err()), "owner_code_differs");
    // A key has its account on every chain.
    let done = process.run(order(2, withdraw(8453, base::USDC))).await;
    assert_eq!(done.unwrap().state, State::Completed);
}
