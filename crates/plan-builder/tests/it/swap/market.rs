//! Tests of what the aggregator is asked about exchanges and prices, and of what a plan discloses
//! about them.

use std::sync::Mutex;

use alloy_primitives::{Address, Bytes, U256};
use calldata_checks::{BasisPoints, UtcSeconds};
use plan_builder::{
    Judgement, Policy, Refusal, Request, Sealed,
    ports::{Accounts, NoSimulator, PortError, PortErrorReason, SwapAsk, SwapQuote, SwapQuotes},
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
    /// What its swaps are judged to be worth. The aggregator then uses the reviewed exchange.
    worth: Option<Result<Judgement, Refusal>>,
    asked: Mutex<Vec<SwapAsk>>,
}

impl SwapQuotes for Fond {
    async fn quote(&self, ask: &SwapAsk) -> Result<SwapQuote, PortError> {
        self.asked.lock().unwrap().push(ask.clone());
        let mut draft = Draft::of(ask);
        draft.quote.from_usd = Some("1000".parse().unwrap());
        draft.quote.to_usd = Some("995".parse().unwrap());
        if self.worth.is_some() {
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

    async fn judge_worth(&self, ask: &SwapAsk, quote: &SwapQuote) -> Result<Judgement, Refusal> {
        assert_eq!(ask.from_amount, quote.from_amount);
        self.worth
            .clone()
            .unwrap_or_else(|| Ok(Judgement::output_price(false, "no prices")))
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
        fees["swap"] = json!({"deny_tools": ["bebop"]});
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
        assert_eq!(ask.max_price_impact, None);
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

    // The builder does not ask again when the quote passes every check and is not worth it.
    let policy = reviewed();
    let quotes = Fond {
        worth: Some(Err(too_much())),
        ..Fond::default()
    };
    let refusal = built(&quotes, &policy).unwrap_err();
    assert_eq!(refusal.check, Refusal::PRICE_IMPACT);
    assert_eq!(quotes.asked.lock().unwrap().len(), 1);
}

fn too_much() -> Refusal {
    Refusal::new(Refusal::PRICE_IMPACT, "the swap loses too much").comparing(300, 9_000)
}

#[test]
fn a_judgement_of_worth_is_in_the_plan_or_refuses_it() {
    let request = Request::Swap(parse(&arguments()).unwrap());
    let policy = reviewed();
    let judged = |worth| {
        let quotes = Fond {
            worth: Some(worth),
            ..Fond::default()
        };
        built(&quotes, &policy)
    };
    let note = |plan: &Value| {
        let notes = plan["disclosure"]["notes"].as_array().unwrap();
        notes
            .iter()
            .any(|note| note.as_str().unwrap().contains("worth_unknown"))
    };
    for (holds, result) in [(true, "holds"), (false, "unknown")] {
        let worth = Judgement::output_price(holds, "1000 USD in,\u{202e} 995 USD out");
        let sealed = judged(Ok(worth.clone())).unwrap();
        let plan = json_of(&sealed);
        assert_eq!(plan["schema_version"], "1.3");
        assert_eq!(plan["assertions"].as_array().unwrap().len(), 12);
        assert_eq!(
            plan["judgements"],
            json!([{
                "establishes": worth.establishes(),
                "name": "agg_output_price_bound",
                "observed": "1000 USD in, 995 USD out",
                "result": result,
            }])
        );
        // Only a plan whose worth is unknown says so in words.
        assert_eq!(note(&plan), !holds);
        assert_eq!(
            plan["disclosure"]["minimum_output"]["quote_price_impact_bps"],
            50
        );
        let verified = verify(&request, sealed.json(), now(), &policy).unwrap();
        assert_eq!(verified.judgements(), [worth]);
    }
    let refusal = judged(Err(too_much())).unwrap_err();
    assert_eq!(refusal, too_much());
}

#[test]
fn the_callers_limit_of_the_impact_is_asked_for_and_is_part_of_the_request() {
    let quotes = Fond::default();
    let plain = parse(&arguments()).unwrap();
    let request = plain
        .with_max_price_impact(BasisPoints::new(500).unwrap())
        .unwrap();
    let mut written = arguments();
    written["maxPriceImpactBps"] = json!(500);
    assert_eq!(parse(&written).unwrap(), request);
    let policy = reviewed();
    let sealed = ready(swap::build(
        &request,
        &quotes,
        &NoSimulator,
        &policy,
        &moment(),
    ))
    .unwrap();
    for ask in quotes.asked.lock().unwrap().iter() {
        assert_eq!(ask.max_price_impact, BasisPoints::new(500));
    }
    let refusal = verify(&Request::Swap(plain), sealed.json(), now(), &policy).unwrap_err();
    assert_eq!(refusal.check, Refusal::INTENT_DIGEST);
    for wrong in [json!(10_001), json!(-1), json!("3 %")] {
        written["maxPriceImpactBps"] = wrong;
        let refusal = parse(&written).unwrap_err();
        let path = refusal.request_path.as_deref();
        assert_eq!(path, Some("$.maxPriceImpactBps"));
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
