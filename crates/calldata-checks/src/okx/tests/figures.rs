use super::*;
use crate::UtcSeconds;

/// Judges the good swap with other figures than the calldata has.
fn code_with(change: impl FnOnce(&mut Quote<'_>)) -> &'static str {
    let reviewed = ReviewedContracts::default();
    let data = dag().abi_encode();
    let asked = asked();
    let mut quote = Quote {
        chain_index: "196",
        from_token: asked.from_token,
        from_decimals: U256::from(6),
        to_token: asked.to_token,
        amount: asked.amount,
        max_spend: None,
        slippage_percent: None,
        call: OfferedCall {
            to: reviewed.routers[0],
            from: asked.account,
            value: U256::ZERO,
            data: &data,
            quoted_output: U256::from(QUOTED),
            min_output: U256::from(MIN),
        },
    };
    change(&mut quote);
    code(super::super::judge(
        &quote,
        &asked,
        &reviewed,
        UtcSeconds::from_unix(NOW),
    ))
}

#[test]
fn figures_that_agree_are_accepted_however_they_are_spelled() {
    assert_eq!(code_with(|_| ()), "accepted");
    assert_eq!(code_with(|q| q.slippage_percent = Some("1.00")), "accepted");
    let spend = asked().amount;
    assert_eq!(code_with(|q| q.max_spend = Some(spend)), "accepted");
}

#[test]
fn every_lie_in_the_figures_has_its_name() {
    for chain in ["1", "0196", "196 ", "196\u{200b}", ""] {
        assert_eq!(
            code_with(|q| q.chain_index = chain),
            "quote_chain",
            "{chain:?}"
        );
    }
    assert_eq!(code_with(|q| q.from_token = THIEF), "quote_token");
    assert_eq!(code_with(|q| q.to_token = THIEF), "quote_token");
    assert_eq!(
        code_with(|q| q.from_decimals = U256::from(18)),
        "quote_decimals"
    );
    assert_eq!(code_with(|q| q.amount += U256::from(1)), "quote_amount");
    assert_eq!(
        code_with(|q| q.call.quoted_output = U256::ZERO),
        "quote_output"
    );
    for percent in ["0.01", "NaN", "", "1%", "1.0000001"] {
        let observed = code_with(|q| q.slippage_percent = Some(percent));
        assert_eq!(observed, "slippage_mismatch", "{percent:?}");
    }
    let above = asked().amount + U256::from(1);
    assert_eq!(
        code_with(|q| q.max_spend = Some(above)),
        "max_spend_above_amount"
    );
}

#[test]
fn a_refusal_repeats_little_of_a_foreign_text() {
    let reviewed = ReviewedContracts::default();
    let long = "9".repeat(1_000) + "\u{202e}";
    let data = dag().abi_encode();
    let quote = Quote {
        chain_index: &long,
        from_token: USDT0,
        from_decimals: U256::from(6),
        to_token: WOKB,
        amount: asked().amount,
        max_spend: None,
        slippage_percent: None,
        call: OfferedCall {
            to: reviewed.routers[0],
            from: USER,
            value: U256::ZERO,
            data: &data,
            quoted_output: U256::from(QUOTED),
            min_output: U256::from(MIN),
        },
    };
    let refusal =
        super::super::judge(&quote, &asked(), &reviewed, UtcSeconds::from_unix(NOW)).unwrap_err();
    assert!(refusal.to_string().len() < 100 && refusal.to_string().is_ascii());
}
