//! Tests of what the aggregator is asked about exchanges and prices, and of what a plan discloses
//! about them.

use std::sync::Mutex;

use alloy_primitives::{Address, Bytes, U256};
use calldata_checks::{BasisPoints, UtcSeconds, swap::PriceReading};
use plan_builder::{
    Policy, Refusal, Request, Sealed,
    ports::{
        Accounts, IndependentPrice, NoSimulator, PortError, PortErrorReason, SwapAsk, SwapQuote,
        SwapQuotes,
    },
    swap::{self, whitelist},
    verify,
};
use serde_json::{Value, json};

use crate::swap::sample::{
    Draft, FORWARDER, NOW, ROUTER, STRANGER, SUSHI, arguments, moment, now, parse, policy_with,
    ready,
};

/// An aggregator that uses an exchange that is not reviewed, until the request denies it.
#[derive(Default)]
struct Fond {
    /// Whether the aggregator has no other exchange.
    only: bool,
    price: Option<&'static str>,
    asked: Mutex<Vec<SwapAsk>>,
}

impl SwapQuotes for Fond {
    async fn quote(&self, ask: &SwapAsk) -> Result<SwapQuote, PortError> {
        self.asked.lock().unwrap().push(ask.clone());
        let mut draft = Draft::of(ask);
        draft.quote.from_usd = Some("1000".parse().unwrap());
        draft.quote.to_usd = Some("995".parse().unwrap());
        if self.price.is_some() {
            return Ok(draft.finish());
        }
        if !ask.deny_tools.iter().any(|tool| tool == "odos") {
            draft.quote.tool = "odos".to_owned();
            draft.call._swapData[1].callTo = STRANGER;
            draft.call._swapData[1].approveTo = STRANGER;
        } else if self.only {
            return Err(PortError {
                source_name: "lifi".into(),
                reason: PortErrorReason::NoRoute {
                    detail: "no available quotes".to_owned(),
                },
            });
        }
        Ok(draft.finish())
    }

    async fn independent_price(&self, _: &SwapAsk) -> Option<IndependentPrice> {
        Some(IndependentPrice {
            source: "elsewhere".to_owned(),
            reading: PriceReading {
                from_usd: "1".parse().unwrap(),
                from_decimals: 6,
                to_usd: self.price?.parse().unwrap(),
                to_decimals: 18,
                as_of: UtcSeconds::from_unix(NOW),
            },
        })
    }
}

fn built(quotes: &Fond, policy: &Policy) -> Result<Sealed, Refusal> {
    let request = parse(&arguments()).unwrap();
    ready(swap::build(
        &request,
        quotes,
        &NoSimulator,
        policy,
        &moment(),
    ))
}

fn json_of(sealed: &Sealed) -> Value {
    serde_json::from_str(sealed.json()).unwrap()
}

fn reviewed() -> Policy {
    reviewed_with(|_| {})
}

fn reviewed_with(edit: impl FnOnce(&mut Value)) -> Policy {
    policy_with(|fees| {
        fees["chains"][0]["legs"][0]["tools"] = json!(["sushiswap"]);
        fees["swap"] = json!({"deny_tools": ["bebop"], "max_price_impact_bps": 300});
        edit(fees);
    })
}

#[test]
fn an_exchange_that_is_not_reviewed_is_denied_in_a_second_request() {
    let quotes = Fond::default();
    let sealed = built(&quotes, &reviewed()).unwrap();
    assert_eq!(json_of(&sealed)["payload"]["quote"]["tool"], "sushiswap");
    let asked = quotes.asked.lock().unwrap();
    let denied: Vec<_> = asked.iter().map(|ask| ask.deny_tools.clone()).collect();
    assert_eq!(denied, [vec!["bebop"], vec!["bebop", "odos"]]);
    for ask in asked.iter() {
        assert_eq!(ask.allow_tools, ["sushiswap"]);
        assert_eq!(ask.max_price_impact, BasisPoints::new(300));
    }
}

#[test]
fn without_another_quote_the_refusal_is_that_of_the_first_one() {
    let quotes = Fond {
        only: true,
        ..Fond::default()
    };
    let refusal = built(&quotes, &reviewed()).unwrap_err();
    assert_eq!(refusal.check, "agg_targets_value_bound");
    assert_eq!(quotes.asked.lock().unwrap().len(), 2);

    // The builder does not ask again to exclude an exchange that the operator excludes already.
    let policy = reviewed_with(|fees| {
        fees["integrator"] = json!("other");
        fees["swap"] = json!({"max_price_impact_bps": 49, "max_price_deviation_bps": 0});
    });
    let quotes = Fond {
        price: Some("3400"),
        ..Fond::default()
    };
    assert_eq!(
        built(&quotes, &policy).unwrap_err().check,
        "agg_output_price_bound"
    );
    assert_eq!(quotes.asked.lock().unwrap().len(), 1);
}

#[test]
fn an_independent_price_is_in_the_plan_and_bounds_it() {
    let request = Request::Swap(parse(&arguments()).unwrap());
    // The swap gives 0.3 WETH for 1,000.000007 USDC. At a price of 3,330 the output is worth 999,
    // at 3,300 it is worth 990.
    for (price, most, accepted) in [
        ("3330", 10, false),
        ("3330", 11, true),
        ("3300", 100, false),
    ] {
        let bounded =
            |most: u16| reviewed_with(|fees| fees["swap"]["max_price_deviation_bps"] = json!(most));
        let policy = bounded(most);
        let quotes = Fond {
            price: Some(price),
            ..Fond::default()
        };
        match built(&quotes, &policy) {
            Err(refusal) => {
                assert!(!accepted, "{refusal}");
                assert_eq!(refusal.check, "agg_output_price_bound");
            }
            Ok(sealed) => {
                assert!(accepted);
                let plan = json_of(&sealed);
                assert_eq!(plan["payload"]["independent_price"]["to_usd"], "3330");
                assert_eq!(
                    plan["disclosure"]["minimum_output"],
                    json!({
                        "amount": "298500000000000000",
                        "basis": "quote_relative",
                        "below_independent_price_bps": 60,
                        "below_quote_bps": 50,
                        "quote_price_impact_bps": 50,
                    })
                );
                verify(&request, sealed.json(), now(), &policy).unwrap();
                // A verifier with a stricter policy refuses the same plan by the same name.
                let refusal = verify(&request, sealed.json(), now(), &bounded(10)).unwrap_err();
                assert_eq!(refusal.check, "agg_output_price_bound");
            }
        }
    }
}

#[test]
fn legs_that_run_code_of_the_quotes_choosing_are_marked() {
    let policy = reviewed();
    let notes = |policy: &Policy| {
        let plan = json_of(&built(&Fond::default(), policy).unwrap());
        let leg = plan["disclosure"]["legs"][0].clone();
        assert_eq!(leg["contract"], SUSHI.to_string());
        assert_eq!(leg["function"], "0x5f3bd1c8");
        let notes = plan["disclosure"]["notes"].as_array().unwrap().len();
        (leg["runs_arbitrary_code"].clone(), notes)
    };
    let (unmarked, fewer) = notes(&policy);
    let marked = reviewed_with(|fees| {
        fees["chains"][0]["legs"][0]["runs_arbitrary_code"] = json!(true);
    });
    let (marked, more) = notes(&marked);
    assert_eq!((unmarked, marked), (json!(false), json!(true)));
    assert_eq!(more, fewer + 1);
}

#[test]
fn a_plan_ends_with_the_quote_of_its_exchange() {
    let living = |seconds: u64| {
        reviewed_with(|fees| {
            fees["chains"][0]["legs"][0]["max_life_seconds"] = json!(seconds);
        })
    };
    let policy = living(31);
    let sealed = built(&Fond::default(), &policy).unwrap();
    assert_eq!(sealed.valid_until(), UtcSeconds::from_unix(NOW + 31));
    let request = Request::Swap(parse(&arguments()).unwrap());
    verify(&request, sealed.json(), now(), &policy).unwrap();
    let refusal = verify(&request, sealed.json(), now(), &living(30)).unwrap_err();
    assert_eq!(refusal.check, "artifact_expiry_committed");
}

/// A router that accepts every contract except one.
struct Router {
    refuses: Option<Address>,
    fails: bool,
}

impl Accounts for Router {
    async fn code(&self, _: u64, _: Address) -> Result<Bytes, PortError> {
        Ok(Bytes::new())
    }

    async fn call(&self, _: u64, to: Address, data: Bytes) -> Result<Option<Bytes>, PortError> {
        assert_eq!((to, data.len()), (ROUTER, 68));
        // The sources of the router have the function
        // `isContractSelectorWhitelisted(address,bytes4)`.
        assert_eq!(
            data[..4],
            alloy_primitives::keccak256("isContractSelectorWhitelisted(address,bytes4)")[..4]
        );
        if self.fails {
            return Err(PortError {
                source_name: "rpc".into(),
                reason: PortErrorReason::Unavailable {
                    detail: "time-out".to_owned(),
                },
            });
        }
        let asked = Address::from_slice(&data[16..36]);
        let yes = U256::from(u8::from(self.refuses != Some(asked)));
        Ok(Some(yes.to_be_bytes::<32>().to_vec().into()))
    }
}

#[test]
fn reviewed_legs_are_compared_with_the_routers_whitelist() {
    let policy = reviewed_with(|fees| {
        fees["chains"][0]["legs"][0]["spender"] = json!(STRANGER);
    })
    .fees;
    let listed = |router: &Router| {
        let listings = ready(whitelist::of_chain(router, &policy, &policy.chains[0]));
        let of = |one: &whitelist::Listing| {
            (
                one.key.clone(),
                one.contract,
                one.listed.as_ref().ok().copied(),
            )
        };
        listings.iter().map(of).collect::<Vec<_>>()
    };
    let key = |key: &str| key.to_owned();
    let all = Router {
        refuses: None,
        fails: false,
    };
    assert_eq!(
        listed(&all),
        [
            (key("chains[0].forwarder"), FORWARDER, Some(true)),
            (key("chains[0].legs[0]"), SUSHI, Some(true)),
            (key("chains[0].legs[0].spender"), STRANGER, Some(true)),
        ]
    );
    let one = Router {
        refuses: Some(SUSHI),
        fails: false,
    };
    let answers: Vec<_> = listed(&one).into_iter().map(|(_, _, yes)| yes).collect();
    assert_eq!(answers, [Some(true), Some(false), Some(true)]);
    let none = Router {
        refuses: None,
        fails: true,
    };
    assert_eq!(
        listed(&none),
        [(key("chains[0].forwarder"), FORWARDER, None)]
    );
}
