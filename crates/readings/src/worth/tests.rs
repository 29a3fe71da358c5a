use std::slice::from_ref;

use alloy_primitives::address;
use proptest::prelude::*;

use super::*;
use crate::token::consensus::Weakness;

const NOW: i64 = 1_795_222_920;
const IN: Address = address!("0x4ae46a509f6b1d9056937ba4500cb143933d2dc8");
const OUT: Address = address!("0xe538905cf8410324e03a5a23c1c177a474d59b2b");
const LLAMA: &str = "defillama.coins";
const POOLS: &str = "dexscreener.pairs";
/// A chain on which no source is strong.
const PLAIN: u64 = 42_161;
/// A chain on which DefiLlama is strong.
const TRUSTING: u64 = 196;

fn now() -> Timestamp {
    Timestamp::from_second(NOW).unwrap()
}

fn figure(text: &str) -> Figure {
    text.parse().unwrap()
}

/// A price that counts: DefiLlama states its certainty, DexScreener its liquidity.
fn quote(source: &'static str, price: &str) -> Quote {
    Quote {
        source,
        price_usd: figure(price),
        as_of: Some(now()),
        liquidity_usd: (source == POOLS).then(|| figure("2000000")),
        certainty_ratio: (source == LLAMA).then(|| figure("0.99")),
    }
}

fn both(price: &str) -> [Quote; 2] {
    [quote(LLAMA, price), quote(POOLS, price)]
}

fn exchange(amount: &str, out: &str) -> Exchange {
    let side = |token, amount| Side {
        token,
        amount: Some(figure(amount)),
    };
    Exchange {
        chain_id: PLAIN,
        input: side(IN, amount),
        output: side(OUT, out),
        stated: Stated::default(),
        max_price_impact_bps: None,
    }
}

fn judged(exchange: &Exchange, of: (&[Quote], &[Quote])) -> Result<Worth, &'static str> {
    judge(exchange, of, &Rules::default(), now()).map_err(|unworthy| unworthy.code())
}

#[test]
fn an_exchange_at_the_price_holds_and_says_what_it_is_worth() {
    let worth = judged(&exchange("1000", "8.4"), (&both("1"), &both("118.42"))).unwrap();
    let figures = (worth.input_usd, worth.output_usd, worth.loss_bps);
    assert_eq!(figures, (figure("1000"), figure("994.728"), figure("53")));
    assert_eq!((worth.limit_bps, worth.output_price.quotes.len()), (300, 2));
    let gain = judged(&exchange("1000", "8.5"), (&both("1"), &both("118.42"))).unwrap();
    assert!(gain.loss_bps.get().is_sign_negative());
}

/// The ruinous quotes are honest about their own amounts.
#[test]
fn an_output_that_is_worth_too_little_is_refused() {
    let prices = (both("1"), both("100"));
    let of = |out| judged(&exchange("1000", out), (&prices.0, &prices.1)).map(|_| ());
    assert_eq!(of("0.0085"), Err("price_impact_too_high"));
    assert_eq!(of("9.6999999999"), Err("price_impact_too_high"));
    assert_eq!(of("9.7"), Ok(()));
    assert_eq!(of("0"), Err("price_impact_too_high"));
}

#[test]
fn what_the_quote_admits_needs_no_price() {
    let honest = exchange("1000", "10");
    let of = |stated| {
        let told = Exchange {
            stated,
            ..honest.clone()
        };
        judged(&told, (&[], &[])).unwrap_err()
    };
    let token = |is_honeypot, tax: Option<&str>| StatedToken {
        is_honeypot,
        tax_ratio: tax.map(figure),
    };
    let impact = |pct| Stated {
        impact_pct: Some(figure(pct)),
        ..Stated::default()
    };
    for (pct, code) in [
        ("-83.33", "price_impact_too_high"),
        ("-3.01", "price_impact_too_high"),
        ("-3.0001", "price_impact_too_high"),
        // Harmless statements leave the judgement to the prices, and there are none.
        ("-3", "worth_unknown"),
        ("-0.05", "worth_unknown"),
        ("12", "worth_unknown"),
    ] {
        assert_eq!(of(impact(pct)), code, "{pct}");
    }
    for (said, code) in [
        (token(Some(true), None), "token_is_honeypot"),
        (token(Some(false), Some("0.99")), "token_tax_too_high"),
        (token(None, Some("0.0101")), "token_tax_too_high"),
        (token(Some(false), Some("0.01")), "worth_unknown"),
        (token(None, None), "worth_unknown"),
    ] {
        for stated in [
            Stated {
                output: said,
                ..Stated::default()
            },
            Stated {
                input: said,
                ..Stated::default()
            },
        ] {
            assert_eq!(of(stated), code, "{said:?}");
        }
    }
}

#[test]
fn two_sources_must_agree_or_a_strong_one_suffices_alone() {
    let (one, [llama, pools]) = (both("1"), both("100"));
    let of = |chain_id, quotes: &[Quote]| {
        let asked = Exchange {
            chain_id,
            ..exchange("1000", "10")
        };
        judged(&asked, (&one, quotes)).map(|worth| worth.output_price.usd.to_string())
    };
    let price = |text: &str| Ok(text.to_owned());
    assert_eq!(of(PLAIN, &[llama.clone(), pools.clone()]), price("100"));
    assert_eq!(
        of(PLAIN, &[llama.clone(), quote(POOLS, "102")]),
        price("101")
    );
    for too_few in [&[][..], from_ref(&llama), from_ref(&pools)] {
        assert_eq!(of(PLAIN, too_few), Err("worth_unknown"));
    }
    // A source that speaks twice has one voice.
    assert_eq!(
        of(PLAIN, &[llama.clone(), llama.clone()]),
        Err("worth_unknown")
    );
    assert_eq!(of(TRUSTING, from_ref(&llama)), price("100"));
    assert_eq!(of(TRUSTING, from_ref(&pools)), Err("worth_unknown"));
    // Nobody may contradict it.
    for chain_id in [PLAIN, TRUSTING] {
        let lies = [quote(LLAMA, "100"), quote(POOLS, "0.01")];
        assert_eq!(of(chain_id, &lies), Err("worth_unknown"));
    }
    // The aggregator that quotes the swap, and any source that is not listed, say nothing.
    let own = [
        quote("okx.market-price", "100"),
        quote("elsewhere", "100"),
        llama,
    ];
    assert_eq!(of(PLAIN, &own), Err("worth_unknown"));
}

/// A change of a quote, the source of the quote, and what makes it weak.
type Weakened = (fn(&mut Quote), &'static str, Weakness);

#[test]
fn a_price_that_is_old_thin_or_unsupported_does_not_count() {
    let of = |change: fn(&mut Quote), source| {
        let mut weak = quote(source, "100");
        change(&mut weak);
        let other = if source == LLAMA { POOLS } else { LLAMA };
        let asked = exchange("1000", "10");
        let quotes = [weak, quote(other, "100")];
        match judge(&asked, (&both("1"), &quotes), &Rules::default(), now()) {
            Err(Unworthy::Unknown(NoPrice::TooFew { discounted, .. })) => Some(discounted[0].1),
            other => panic!("{other:?}"),
        }
    };
    let weak: [Weakened; 6] = [
        (
            |quote| quote.as_of = Timestamp::from_second(NOW - 301).ok(),
            LLAMA,
            Weakness::Old,
        ),
        (|quote| quote.as_of = None, LLAMA, Weakness::Untimed),
        // A missing certainty is no certainty.
        (
            |quote| quote.certainty_ratio = None,
            LLAMA,
            Weakness::Unsure,
        ),
        (
            |quote| quote.certainty_ratio = Some(figure("0.89")),
            LLAMA,
            Weakness::Unsure,
        ),
        (|quote| quote.liquidity_usd = None, POOLS, Weakness::Unsure),
        (
            |quote| quote.liquidity_usd = Some(figure("9999.99")),
            POOLS,
            Weakness::Thin,
        ),
    ];
    for (change, source, expected) in weak {
        assert_eq!(of(change, source), Some(expected));
    }
}

#[test]
fn a_caller_s_limit_tightens_and_loosens_up_to_the_ceiling() {
    let prices = (both("1"), both("100"));
    let of = |out, max_price_impact_bps, impact: Option<&str>| {
        let asked = Exchange {
            max_price_impact_bps,
            stated: Stated {
                impact_pct: impact.map(figure),
                ..Stated::default()
            },
            ..exchange("1000", out)
        };
        judged(&asked, (&prices.0, &prices.1)).map(|worth| worth.limit_bps)
    };
    let refused = Err("price_impact_too_high");
    assert_eq!(of("9.9", None, None), Ok(300));
    assert_eq!(of("9.9", Some(99), None), refused);
    assert_eq!(of("9.9", Some(100), None), Ok(100));
    assert_eq!(of("9.5", Some(500), Some("-5")), Ok(500));
    assert_eq!(of("9.5", Some(500), Some("-5.01")), refused);
    // Nobody gets beyond the operator's ceiling.
    assert_eq!(of("8.99", Some(10_000), None), refused);
    assert_eq!(of("9", Some(10_000), None), Ok(1_000));
}

#[test]
fn amounts_without_a_figure_are_not_judged() {
    let prices = (both("1"), both("100"));
    for (input, output) in [(None, Some("1")), (Some("1"), None), (Some("0"), Some("1"))] {
        let mut asked = exchange("1", "1");
        asked.input.amount = input.map(figure);
        asked.output.amount = output.map(figure);
        assert_eq!(judged(&asked, (&prices.0, &prices.1)), Err("worth_unknown"));
    }
    let huge = exchange(
        "79228162514264337593543950335",
        "79228162514264337593543950335",
    );
    assert_eq!(judged(&huge, (&prices.0, &prices.1)), Err("worth_unknown"));
}

#[test]
fn codes_are_listed_and_reasons_name_the_token() {
    let unknown = judge(&exchange("1", "1"), (&[], &[]), &Rules::default(), now()).unwrap_err();
    assert_eq!(unknown.code(), Unworthy::UNKNOWN);
    assert_eq!(
        unknown.to_string(),
        format!(
            "what the exchange is worth cannot be judged: {IN}: no source has a price that counts; 2 must agree"
        )
    );
    assert_eq!(unknown.compared(), None);
    assert!(Unworthy::CODES.contains(&unknown.code()));
}

proptest! {
    /// Whatever the amounts and prices are, an exchange that holds gives back at least its limit.
    #[test]
    fn what_holds_is_within_the_limit(
        amount in 1u64..1_000_000_000, out in 0u64..1_000_000_000,
        usd_in in 1u64..1_000_000, usd_out in 1u64..1_000_000,
        asked in proptest::option::of(0u32..20_000),
    ) {
        let exchange = Exchange {
            max_price_impact_bps: asked,
            ..exchange(&amount.to_string(), &out.to_string())
        };
        let prices = (both(&usd_in.to_string()), both(&usd_out.to_string()));
        let (given, got) = (u128::from(amount) * u128::from(usd_in), u128::from(out) * u128::from(usd_out));
        let limit = u128::from(Rules::default().limits.of_caller(asked).1);
        let holds = judged(&exchange, (&prices.0, &prices.1)).is_ok();
        prop_assert_eq!(holds, got * 10_000 >= given * (10_000 - limit));
    }
}
