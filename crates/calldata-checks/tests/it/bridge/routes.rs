//! The twenty directed routes; every other one is refused.

use std::sync::LazyLock;

use alloy_primitives::U256;
use calldata_checks::{
    Violation,
    bridge::{
        Asked, TransferSpeed,
        chains::{BURN_LIMIT, BridgeChain, CHAINS},
    },
};
use proptest::{prelude::*, sample::select};

use crate::bridge::plan::{Plan, asked};

static ROUTES: LazyLock<Vec<(&BridgeChain, &BridgeChain)>> = LazyLock::new(|| {
    let every = |source| CHAINS.iter().map(move |destination| (source, destination));
    CHAINS
        .iter()
        .flat_map(every)
        .filter(|(source, to)| source.chain_id != to.chain_id)
        .collect()
});

fn on_route((source, destination): (&BridgeChain, &BridgeChain), speed: TransferSpeed) -> Asked {
    Asked {
        account_chain_id: source.chain_id,
        source_chain_id: source.chain_id,
        destination_chain_id: destination.chain_id,
        token: source.usdc,
        speed,
        ..asked()
    }
}

#[test]
fn there_are_twenty_routes() {
    assert_eq!(ROUTES.len(), 20);
}

#[test]
fn a_plan_passes_for_its_own_route_alone() {
    for &route in ROUTES.iter() {
        let plan = Plan::of(on_route(route, TransferSpeed::Standard));
        assert!(plan.judge().is_ok());
        for &other in ROUTES.iter().filter(|&&other| other != route) {
            let mut elsewhere = plan.clone();
            elsewhere.context.asked = on_route(other, TransferSpeed::Standard);
            elsewhere.context.chain_id = other.0.chain_id;
            let expected = if other.0.chain_id == route.0.chain_id {
                "bridge_domain_bound"
            } else {
                "bridge_token_native_usdc"
            };
            assert_eq!(elsewhere.refusal().0, expected);
        }
    }
}

#[test]
fn a_route_is_only_between_two_of_the_five_chains() {
    for chain in &CHAINS {
        let same = Plan::of(on_route((chain, chain), TransferSpeed::Standard));
        assert_eq!(same.refusal().0, "bridge_route_enumerated");
        for unknown in [0, 10, 56, 196, 11_155_111] {
            let route = on_route((chain, &CHAINS[0]), TransferSpeed::Standard);
            let mut plan = Plan::of(route);
            plan.context.asked.destination_chain_id = unknown;
            assert_eq!(plan.refusal().0, "bridge_route_enumerated");
            plan.context.asked = Asked {
                source_chain_id: unknown,
                ..route
            };
            assert_eq!(plan.refusal().0, "bridge_route_enumerated");
        }
    }
}

#[test]
fn fast_leaves_only_from_the_three_fast_chains() {
    for &route in ROUTES.iter() {
        let plan = Plan::of(on_route(route, TransferSpeed::Fast));
        // A meaningless row for fast transfers changes nothing.
        let bare = plan.clone().reading(|c| c.fees.fast_bps = None);
        match route.0.name {
            "Ethereum" | "Base" | "Arbitrum" => {
                assert!(plan.judge().is_ok());
                assert_eq!(bare.refusal().0, "bridge_fee_cap");
            }
            "Polygon" | "Avalanche" => {
                for refused in [plan, bare] {
                    let failure = refused.judge().unwrap_err();
                    assert_eq!(failure.check, "bridge_finality_exact");
                    assert_eq!(
                        failure.violation,
                        Violation::new(
                            format!("there is no fast transfer from {}", route.0.name),
                            "standard",
                            "fast"
                        )
                    );
                }
            }
            other => panic!("{other} is no chain of the route set"),
        }
    }
}

proptest! {
    #[test]
    fn every_route_speed_and_amount_passes_with_the_fee_of_the_rule(
        route in select(&ROUTES[..]),
        fast in any::<bool>(),
        forward in any::<bool>(),
        amount in 1_000_000u64..=10_000_000_000_000,
    ) {
        let speed = if fast && route.0.fast_source { TransferSpeed::Fast } else { TransferSpeed::Standard };
        let asked = Asked { amount: U256::from(amount), forward, ..on_route(route, speed) };
        let plan = Plan::of(asked);
        prop_assert!(plan.judge().is_ok(), "{:?}", plan.judge());
        let burn = plan.facts().unwrap().burn().clone();
        prop_assert!(burn.max_fee < burn.amount);
        prop_assert!(burn.amount <= BURN_LIMIT);
        prop_assert_eq!(burn.hook.is_some(), forward);
        prop_assert_eq!(burn.max_fee.is_zero(), speed == TransferSpeed::Standard && !forward);
    }
}
