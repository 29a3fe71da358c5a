//! Plans that differ from the request, or that the venue would refuse, each refused by its name.
//! The author of a change knows the rules and adapts bytes, JSON, template and example.

mod figures;

use alloy_primitives::{Address, address};
use calldata_checks::fees::ReviewedPerpAsset;
use calldata_checks::perp_order::{Collateral, PerpOrderFacts, Side, TimeInForce, WireOrderKind};
use calldata_checks::{Assertion, Facts as _};

use crate::perp_order::draft::{BUILDER, Draft, VAULT, decimal};

#[test]
fn the_table_and_its_order() {
    let names: Vec<_> = PerpOrderFacts::CHECKS
        .iter()
        .map(|check| check.name)
        .collect();
    insta::assert_snapshot!(names.join("\n"), @r"
    perp_account_bound
    perp_network_exact
    perp_asset_bound
    perp_side_price_size_bound
    perp_price_tick_exact
    perp_size_lot_exact
    perp_min_notional
    perp_tpsl_reduce_only
    perp_tpsl_direction
    perp_tpsl_size_bound
    perp_tpsl_limit_bound
    perp_grouping_exact
    perp_builder_fee_exact
    perp_action_canonical
    perp_action_hash_committed
    perp_expiry_committed
    perp_cloid_bound
    perp_price_band
    payload_digest_committed
    artifact_expiry_committed
    ");
    let report = Draft::plain().judge().unwrap();
    let passed: Vec<_> = report
        .assertions()
        .iter()
        .map(|assertion| assertion.name)
        .collect();
    assert_eq!(passed, names);
}

#[test]
fn observations_describe_the_order() {
    let report = Draft::protected().judge().unwrap();
    let lines: Vec<_> = report
        .assertions()
        .iter()
        .map(|a| format!("{}: {}", a.name, a.observed.as_str()))
        .collect();
    insta::assert_snapshot!(lines.join("\n"), @r"
    perp_account_bound: order owner is the account
    perp_network_exact: mainnet, domain Exchange 1, chain id 1337
    perp_asset_bound: BTC is asset 0, not reviewed, in USDC
    perp_side_price_size_bound: buy 0.001 at 100000 Gtc
    perp_price_tick_exact: on the tick for szDecimals 5
    perp_size_lot_exact: at most 5 decimals
    perp_min_notional: 100 USD
    perp_tpsl_reduce_only: 2 of 2: reduce-only, opposite side
    perp_tpsl_direction: 2 of 2: beyond entry and mark
    perp_tpsl_size_bound: 2 of 2: the entry's size
    perp_tpsl_limit_bound: 2 of 2: within the tolerance
    perp_grouping_exact: normalTpsl
    perp_builder_fee_exact: no builder
    perp_action_canonical: 231 bytes
    perp_action_hash_committed: digest recomputed for nonce 1768146914155
    perp_expiry_committed: expiresAfter 1768146974000
    perp_cloid_bound: none
    perp_price_band: 100000 at a mark of 100200.5, within 500 bps
    payload_digest_committed: keccak256 over RFC 8785 without this digest
    artifact_expiry_committed: 2026-01-11T15:56:14Z
    ");
}

#[test]
fn another_account() {
    let other = address!("00000000000000000000000000000000000000aa");
    let name = Draft::plain().refused_after(|draft| draft.plan.order_owner = other);
    assert_eq!(name, "perp_account_bound");
    let name = Draft::plain().refused_after(|draft| draft.ask.account = other);
    assert_eq!(name, "perp_account_bound");
    let name = Draft::plain().refused_after(|draft| {
        draft.ask.account = Address::ZERO;
        draft.plan.order_owner = Address::ZERO;
    });
    assert_eq!(name, "perp_account_bound");
}

#[test]
fn another_vault() {
    let name = Draft::plain().refused_after(|draft| draft.plan.recipe.vault_address = Some(VAULT));
    assert_eq!(name, "perp_account_bound");
    let mut vault = Draft::plain();
    vault.ask.vault = Some(VAULT);
    vault.plan.recipe.vault_address = Some(VAULT);
    vault.commit();
    for other in [None, Some(BUILDER)] {
        let name = vault
            .clone()
            .refused_after(|draft| draft.plan.recipe.vault_address = other);
        assert_eq!(name, "perp_account_bound");
    }
}

#[test]
fn another_network() {
    let changes: [fn(&mut Draft); 8] = [
        |draft| draft.plan.recipe.source = "b".to_owned(),
        |draft| draft.plan.recipe.source = "A".to_owned(),
        |draft| {
            draft.plan.endpoint = "https://api.hyperliquid-testnet.xyz/exchange".to_owned();
        },
        |draft| draft.plan.kind = "hl_user_action".to_owned(),
        |draft| draft.plan.recipe.domain.name = "HyperliquidSignTransaction".to_owned(),
        |draft| draft.plan.recipe.domain.version = "2".to_owned(),
        |draft| draft.plan.recipe.domain.chain_id = 42_161,
        |draft| draft.plan.recipe.domain.verifying_contract = VAULT,
    ];
    for change in changes {
        assert_eq!(Draft::plain().refused_after(change), "perp_network_exact");
    }
}

#[test]
fn another_asset() {
    let changes: [fn(&mut Draft); 11] = [
        // The id of another coin, of a spot pair, of an outcome.
        |draft| draft.plan.action.orders[0].asset = 1,
        |draft| draft.plan.action.orders[0].asset = 10_107,
        |draft| draft.plan.action.orders[0].asset = 100_000_010,
        // The whole reading is of another coin, of a spot pair, of an outcome.
        |draft| draft.plan.venue.coin = "ETH".to_owned(),
        |draft| draft.plan.venue.asset_id = 1,
        |draft| {
            draft.plan.venue.universe_index = 10_107;
            draft.plan.venue.asset_id = 10_107;
            draft.plan.action.orders[0].asset = 10_107;
        },
        |draft| {
            draft.plan.venue.asset_id = 100_000_010;
            draft.plan.action.orders[0].asset = 100_000_010;
        },
        // The position of the asset in a list from which earlier entries were removed.
        |draft| draft.plan.venue.universe_index = 1,
        |draft| draft.plan.venue.delisted = true,
        // A dex that the coin does not name.
        |draft| draft.plan.venue.dex = "xyz".to_owned(),
        |draft| {
            draft.plan.venue.dex_index = 1;
            draft.plan.venue.asset_id = 110_000;
            draft.plan.action.orders[0].asset = 110_000;
        },
    ];
    for (index, change) in changes.into_iter().enumerate() {
        assert_eq!(
            Draft::plain().refused_after(change),
            "perp_asset_bound",
            "change {index}"
        );
    }
    let name = Draft::protected().refused_after(|draft| draft.plan.action.orders[2].asset = 1);
    assert_eq!(name, "perp_asset_bound");
}

#[test]
fn an_asset_that_was_reviewed_is_that_one() {
    let decimals = Draft::plain().plan.venue.size_decimals;
    let judged = |asset_id, size_decimals| {
        let mut draft = Draft::plain();
        draft.policy.perp_assets = vec![ReviewedPerpAsset {
            coin: "BTC".to_owned(),
            asset_id,
            size_decimals,
        }];
        draft.judge()
    };
    let report = judged(0, decimals).unwrap();
    let of_asset = |passed: &&Assertion| passed.name == "perp_asset_bound";
    let passed = report.assertions().iter().find(of_asset).unwrap();
    assert_eq!(
        passed.observed.as_str(),
        "BTC is asset 0, reviewed, in USDC"
    );
    for (asset_id, size_decimals) in [(1, decimals), (0, decimals + 1)] {
        let failure = judged(asset_id, size_decimals).unwrap_err();
        assert_eq!(failure.check, "perp_asset_bound");
    }
}

/// An order on a builder-deployed dex.
fn deployed() -> Draft {
    let mut draft = Draft::plain();
    draft.ask.coin = "xyz:NVDA".to_owned();
    draft.ask.price = decimal("181.55");
    draft.ask.size = decimal("0.125");
    let venue = &mut draft.plan.venue;
    venue.coin = "xyz:NVDA".to_owned();
    venue.dex = "xyz".to_owned();
    venue.dex_index = 1;
    venue.universe_index = 1;
    venue.asset_id = 110_001;
    venue.size_decimals = 3;
    let order = &mut draft.plan.action.orders[0];
    order.asset = 110_001;
    order.price = "181.55".to_owned();
    order.size = "0.125".to_owned();
    draft.commit();
    draft
}

#[test]
fn a_builder_deployed_asset() {
    deployed().judge().unwrap();
    let changes: [fn(&mut Draft); 3] = [
        // The list was read without its leading null, so that each dex has the index of the dex
        // before it.
        |draft| {
            draft.plan.venue.dex_index = 0;
            draft.plan.venue.asset_id = 1;
            draft.plan.action.orders[0].asset = 1;
        },
        |draft| draft.plan.action.orders[0].asset = 1,
        |draft| {
            draft.plan.venue.asset_id = 100_001;
            draft.plan.action.orders[0].asset = 100_001;
        },
    ];
    for change in changes {
        assert_eq!(deployed().refused_after(change), "perp_asset_bound");
    }
}

#[test]
fn another_order() {
    let changes: [fn(&mut Draft); 10] = [
        |draft| draft.plan.action.orders[0].is_buy = false,
        |draft| draft.plan.action.orders[0].price = "100001".to_owned(),
        |draft| draft.plan.action.orders[0].size = "0.01".to_owned(),
        |draft| draft.plan.action.orders[0].reduce_only = true,
        |draft| {
            draft.plan.action.orders[0].kind = WireOrderKind::Limit {
                tif: "Ioc".to_owned(),
            };
        },
        |draft| draft.ask.side = Side::Sell,
        |draft| draft.ask.price = decimal("99999"),
        |draft| draft.ask.size = decimal("0.0011"),
        |draft| draft.ask.tif = TimeInForce::Alo,
        |draft| draft.ask.reduce_only = true,
    ];
    for (index, change) in changes.into_iter().enumerate() {
        let name = Draft::plain().refused_after(change);
        assert_eq!(name, "perp_side_price_size_bound", "change {index}");
    }
}

#[test]
fn a_collateral_that_is_none_of_the_dex() {
    for (dex_index, token, name, holds) in [
        (0, 0, "USDC", true),
        (0, 0, "USDH", false),
        (0, 7, "USDC", false),
        (0, 7, "USDH", false),
        (1, 0, "USDC", true),
        (1, 360, "USDH", true),
        (1, 360, "USDC", false),
        (1, 0, "USDH", false),
        (1, 360, "", false),
    ] {
        let mut draft = Draft::plain();
        if dex_index == 1 {
            draft.ask.coin = "xyz:BTC".to_owned();
            draft.plan.venue.coin = "xyz:BTC".to_owned();
            draft.plan.venue.dex = "xyz".to_owned();
            draft.plan.venue.dex_index = 1;
            draft.plan.venue.asset_id = 110_000;
            draft.plan.action.orders[0].asset = 110_000;
        }
        draft.plan.venue.collateral = Collateral {
            token,
            name: name.to_owned(),
        };
        draft.commit();
        let judged = draft.judge().map(|_| ()).map_err(|failure| failure.check);
        let expected = if holds {
            Ok(())
        } else {
            Err("perp_asset_bound")
        };
        assert_eq!(judged, expected, "{dex_index} {token} {name}");
    }
}
