//! Plans that are not what was asked for, or not what the venue takes, each refused by its name.
//! The author of a change knows the rules: bytes, JSON, template and example are made to follow it.

use alloy_primitives::{Address, address};
use calldata_checks::{
    Assertion, BasisPoints, Facts as _,
    fees::ReviewedPerpAsset,
    perp_order::{Collateral, PerpOrderFacts, Side, TimeInForce, WireOrderKind},
};

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
fn observations_say_what_was_seen() {
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
        // The id of another coin; of a spot pair; of an outcome.
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
        // The position moved by a list that was compacted.
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
        // The list without its leading null: the dex is taken for the one before it.
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

/// Asks for another price and size, and builds exactly that.
fn asked(price: &str, size: &str) -> impl FnOnce(&mut Draft) {
    move |draft| {
        draft.ask.price = decimal(price);
        draft.ask.size = decimal(size);
        draft.plan.action.orders[0].price = price.to_owned();
        draft.plan.action.orders[0].size = size.to_owned();
    }
}

#[test]
fn a_price_off_the_tick() {
    for price in ["12345.6", "100000.5", "1234.56", "0"] {
        assert_eq!(
            Draft::plain().refused_after(asked(price, "1")),
            "perp_price_tick_exact"
        );
    }
    // The rule moves with szDecimals.
    let name = Draft::plain().refused_after(|draft| {
        asked("1234.5", "1")(draft);
        draft.plan.venue.size_decimals = 6;
    });
    assert_eq!(name, "perp_price_tick_exact");
}

#[test]
fn a_size_off_the_lot() {
    for size in ["0.001234", "0"] {
        assert_eq!(
            Draft::plain().refused_after(asked("100000", size)),
            "perp_size_lot_exact"
        );
    }
}

#[test]
fn an_order_worth_too_little_or_too_much_to_count() {
    for (price, size) in [("99999", "0.0001"), ("1", "9.99999"), ("0.1", "99.9")] {
        let name = Draft::plain().refused_after(asked(price, size));
        assert_eq!(name, "perp_min_notional", "{price} {size}");
    }
    let (price, size) = ("9".repeat(36), "9".repeat(31));
    assert_eq!(
        Draft::plain().refused_after(asked(&price, &size)),
        "perp_min_notional"
    );
    let mut exact = Draft::plain();
    asked("100000", "0.0001")(&mut exact);
    exact.commit();
    exact.judge().expect("exactly 10 USD is enough");
}

/// What is left of a position can be closed however little it is worth, as at the venue.
#[test]
fn an_order_that_only_reduces_has_no_least_value() {
    for (price, size) in [("100000", "0.00001"), ("99999", "0.0001")] {
        let mut draft = Draft::plain();
        asked(price, size)(&mut draft);
        draft.ask.reduce_only = true;
        draft.plan.action.orders[0].reduce_only = true;
        draft.commit();
        let report = draft.judge().unwrap();
        let value = report
            .assertions()
            .iter()
            .find(|a| a.name == "perp_min_notional");
        assert_eq!(
            value.unwrap().observed.as_str(),
            "reduce-only: no least value"
        );
    }
}

#[test]
fn a_slip_of_a_digit() {
    // The mark is 100200.5: at 5 % at most 105210.525 is paid, and at least 95190.475 asked.
    for (is_buy, band, price, holds) in [
        (true, 500, "105210", true),
        (true, 500, "105211", false),
        (true, 500, "1000000", false),
        (true, 500, "1000", true),
        (false, 500, "95191", true),
        (false, 500, "95190", false),
        (false, 500, "1000", false),
        (false, 500, "1000000", true),
        // What the operator configures.
        (true, 9500, "195390", true),
        (true, 9500, "195391", false),
        (false, 9500, "5011", true),
        (false, 9500, "5010", false),
        (true, 1, "100210", true),
        (true, 1, "100211", false),
    ] {
        let mut draft = Draft::plain();
        draft.policy.perp_price_band = BasisPoints::new(band).unwrap();
        draft.ask.side = if is_buy { Side::Buy } else { Side::Sell };
        draft.plan.action.orders[0].is_buy = is_buy;
        asked(price, "0.1")(&mut draft);
        draft.commit();
        let judged = draft.judge().map(|_| ()).map_err(|failure| failure.check);
        let expected = if holds {
            Ok(())
        } else {
            Err("perp_price_band")
        };
        assert_eq!(judged, expected, "{is_buy} {price} within {band}");
    }
    let name = Draft::plain().refused_after(|draft| draft.plan.venue.mark_price = None);
    assert_eq!(name, "perp_price_band");
}

#[test]
fn a_refused_price_is_shown_with_its_bound() {
    for (is_buy, price, expected) in [
        (true, "105211", "at most 105210.525: 500 bps of 100200.5"),
        (false, "95190", "at least 95190.475: 500 bps of 100200.5"),
    ] {
        let mut draft = Draft::plain();
        draft.ask.side = if is_buy { Side::Buy } else { Side::Sell };
        draft.plan.action.orders[0].is_buy = is_buy;
        asked(price, "0.1")(&mut draft);
        draft.commit();
        let violation = draft.judge().unwrap_err().violation;
        assert_eq!(
            (violation.expected.as_str(), violation.observed.as_str()),
            (expected, price)
        );
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
