//! Tests of the rules: the values that each rule accepts, and those that it refuses.

use alloy_primitives::{U256, hex};
use proptest::prelude::*;

use super::*;
use crate::{EVM_CHAINS, HOME_CHAIN, SECURITY_CHAINS};

const SLIPPAGE: Rule = Rule::Decimal {
    min: "0.1",
    max: "50",
};

fn accepts(rule: Rule, texts: &[&str]) {
    for text in texts {
        assert!(rule.read_text(text).is_ok(), "{rule} should take {text:?}");
    }
}

fn refuses(rule: Rule, texts: &[&str]) {
    for text in texts {
        let fault = rule.read_text(text).expect_err(text);
        assert_eq!(fault.expected(), Some(rule.expected().as_str()));
    }
}

#[test]
fn addresses_follow_their_pattern() {
    let hex40 = "779Ded0c9e1022225f8E0630b35a9b54bE713736";
    accepts(
        Rule::Address,
        &[
            &format!("0x{hex40}"),
            &format!("0x{}", hex40.to_lowercase()),
        ],
    );
    refuses(
        Rule::Address,
        &[
            "",
            "0x",
            hex40,
            &format!("0X{hex40}"),
            &format!("0x{hex40}0"),
            &format!("0x{hex40} "),
            &format!(" 0x{hex40}"),
            &format!("0x0x{}", &hex40[2..]),
            &format!("0x{}g", &hex40[1..]),
        ],
    );
}

#[test]
fn smallest_unit_amounts_end_at_uint256() {
    let max = U256::MAX.to_string();
    assert_eq!(Rule::Uint256.read_text(&max), Ok(Value::Uint(U256::MAX)));
    assert_eq!(Rule::Uint256.read_text("0"), Ok(Value::Uint(U256::ZERO)));
    accepts(Rule::Uint256, &["007", &"0".repeat(78)]);
    let above = format!("{}6", &max[..max.len() - 1]);
    refuses(
        Rule::Uint256,
        &[
            "",
            "-1",
            "1.0",
            "1_000",
            "0x10",
            "1e6",
            " 1",
            &above,
            &"9".repeat(500),
        ],
    );
}

#[test]
fn slippage_is_bounded_exactly() {
    accepts(
        SLIPPAGE,
        &[
            "0.1",
            "0.10",
            "1",
            "50",
            "50.000",
            "00.5",
            "49.999999999999999999999",
        ],
    );
    refuses(
        SLIPPAGE,
        &[
            "0",
            "0.09999999999999999999999",
            "50.0000000000000000001",
            "51",
            "1%",
            ".5",
            "5.",
            "1e1",
        ],
    );
    assert_eq!(SLIPPAGE.read_text("0.50"), Ok(Value::Text("0.5".into())));
}

#[test]
fn amounts_must_be_above_zero() {
    accepts(Rule::Amount, &["1", "0.000001", "1000000000000.5"]);
    refuses(Rule::Amount, &["0", "0.000", "", "-1", "1,000", "max"]);
    accepts(Rule::AmountOr("max"), &["max", "1"]);
    refuses(Rule::AmountOr("max"), &["MAX", "0", "all"]);
}

#[test]
fn symbols_are_trimmed_and_lose_one_dollar_sign() {
    for text in ["BTC", " BTC ", "$BTC", " $BTC "] {
        assert_eq!(
            Rule::Symbol.read_text(text),
            Ok(Value::Text("BTC".into())),
            "{text:?}"
        );
    }
    accepts(
        Rule::Symbol,
        &[
            "USD₮0",
            "1INCH",
            "xyz:TSLA",
            &"a".repeat(64),
            &"₮".repeat(64),
        ],
    );
    refuses(
        Rule::Symbol,
        &[
            "",
            " ",
            "$",
            " $ ",
            "$$X",
            "$ $X",
            "a\0b",
            "a\nb",
            &"a".repeat(65),
        ],
    );
}

#[test]
fn a_prompt_is_never_repeated_in_a_problem() {
    let fault = Rule::Prompt { max: 5 }
        .read_text("secret words")
        .unwrap_err();
    assert_eq!(
        fault.to_string(),
        "expected text of 1 to 5 characters, observed 12 characters"
    );
    accepts(
        Rule::Prompt { max: 5 },
        &["a\nb", "  abcde  ", "日本語です"],
    );
    refuses(Rule::Prompt { max: 5 }, &["", "   ", "a\u{1b}b"]);
}

#[test]
fn chains_are_taken_by_id_or_name() {
    let rule = Rule::Chain(&SECURITY_CHAINS);
    for text in ["196", "xlayer", "XLayer"] {
        assert_eq!(rule.read_text(text), Ok(Value::Chain(HOME_CHAIN)));
    }
    refuses(rule, &["", "linea", "59144", "-1"]);
    let list = Rule::Chains(&EVM_CHAINS);
    accepts(list, &["base", "196, 8453", "scroll,linea,1"]);
    refuses(list, &["", "base,", "base,8453", "solana"]);
}

#[test]
fn bytes_have_a_length() {
    let rule = Rule::Bytes { min: 2, max: 3 };
    accepts(rule, &["0x0011", "0xAAbbCC"]);
    refuses(
        rule,
        &["", "0x", "0x00", "0x001", "0x00112233", "0011", "0x00112g"],
    );
}

#[test]
fn words_numbers_flags_and_cursors_are_read_strictly() {
    let risk = Rule::Choice(&["low", "high"]);
    accepts(risk, &["low", "high"]);
    refuses(risk, &["", "LOW", "mid"]);
    let limit = Rule::Integer { min: 1, max: 100 };
    accepts(limit, &["1", "100", "007"]);
    refuses(
        limit,
        &["0", "101", "", "1.0", "+1", "99999999999999999999999"],
    );
    accepts(Rule::Flag, &["0", "1", "true", "false"]);
    refuses(Rule::Flag, &["", "yes", "TRUE", "2"]);
    accepts(Rule::Cursor, &["abc", "eyJvIjoxMDB9==", "a-b_c.d~e:f/g+h"]);
    refuses(Rule::Cursor, &["", "a b", "a\"b", &"a".repeat(513)]);
    refuses(Rule::Lines { max: 2 }, &["a"]);
    refuses(Rule::Object(&[]), &["{}"]);
}

fn text_rules() -> impl Strategy<Value = Rule> {
    prop::sample::select(vec![
        Rule::Address,
        Rule::Hash,
        Rule::Bytes { min: 1, max: 8 },
        Rule::Uint256,
        Rule::Amount,
        Rule::AmountOr("max"),
        SLIPPAGE,
        Rule::Symbol,
        Rule::Line { max: 10 },
        Rule::Prompt { max: 20 },
        Rule::Choice(&["a", "b"]),
        Rule::Chain(&SECURITY_CHAINS),
        Rule::Chains(&EVM_CHAINS),
        Rule::Integer { min: 3, max: 900 },
        Rule::Flag,
        Rule::Boolean,
        Rule::Cursor,
        Rule::Timestamp,
    ])
}

proptest! {
    #[test]
    fn an_accepted_value_reads_back_the_same(rule in text_rules(), text in "\\PC{0,30}|[0-9.$, ]{1,20}|0x[0-9a-fA-F]{1,64}|1[0-9]{12}") {
        if let Ok(value) = rule.read_text(&text) {
            prop_assert_eq!(rule.read_text(&value.to_string()), Ok(value));
        }
    }

    #[test]
    fn addresses_and_hashes_round_trip(bytes in any::<[u8; 32]>()) {
        let hash = B256::from(bytes);
        prop_assert_eq!(Rule::Hash.read_text(&hash.to_string()), Ok(Value::Hash(hash)));
        let address = Address::from_word(hash);
        prop_assert_eq!(Rule::Address.read_text(&address.to_string()), Ok(Value::Address(address)));
        let lower = format!("0x{}", hex::encode(address));
        prop_assert_eq!(Rule::Address.read_text(&lower), Ok(Value::Address(address)));
    }
}
