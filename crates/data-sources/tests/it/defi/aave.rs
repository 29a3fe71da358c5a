//! Aave behind a node that answers well, in part, and not at all.

use std::{collections::BTreeMap, sync::Arc};

use alloy_primitives::{Address, Bytes, U256, hex};
use alloy_sol_types::{SolCall, sol};
use data_sources::{aave::Aave, evm::EvmReader, rpc::RpcConfig, transport::Transport};
use readings::defi::position::{Side, total_usd};
use serde_json::{Value, json};
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate, matchers::any};

use super::{now, recorded};

sol! {
    struct Call3 { address target; bool allowFailure; bytes callData; }
    struct Outcome3 { bool success; bytes returnData; }
    function aggregate3(Call3[] calls) external payable returns (Outcome3[] returnData);
}

const CONFIGURATION: [u8; 4] = [0x3e, 0x15, 0x01, 0x41];
const PRICE: [u8; 4] = [0xb3, 0x59, 0x6f, 0x07];
const RESERVE: [u8; 4] = [0x35, 0xea, 0x6a, 0x75];
const USER: [u8; 4] = [0x28, 0xdd, 0x2d, 0x01];
const USDG: &str = "4ae46a509f6b1d9056937ba4500cb143933d2dc8";

fn account() -> Address {
    "0x1f9840a85d5aF5bf1D1762F925BDADdC4201F984"
        .parse()
        .unwrap()
}

/// A change to the result of one call of a batch, by selector and first argument.
type Change = fn(selector: [u8; 4], asset: &str, outcome: &mut Outcome3);

/// A node that answers the recorded requests with the recorded answers, after a change.
struct Node<F> {
    recordings: Vec<(Value, Value)>,
    change: F,
}

impl<F: Fn([u8; 4], &str, &mut Outcome3)> Node<F> {
    fn new(change: F) -> Self {
        let manifest: Value = serde_json::from_str(&recorded("aave/manifest.json")).unwrap();
        let read = |entry: &Value| {
            let file = entry["file"].as_str().unwrap();
            let answer: Value = serde_json::from_str(&recorded(&format!("aave/{file}"))).unwrap();
            (
                entry["request"]["body"]["params"].clone(),
                answer["result"].clone(),
            )
        };
        let recordings = manifest["fixtures"].as_array().unwrap().iter().map(read);
        Self {
            recordings: recordings.collect(),
            change,
        }
    }

    fn call(&self, params: &Value) -> Value {
        let found = self.recordings.iter().find(|(asked, _)| asked == params);
        let (_, result) = found.expect("a request that is recorded, byte for byte");
        let asked: Bytes = params[0]["data"].as_str().unwrap().parse().unwrap();
        let asked = aggregate3Call::abi_decode(&asked).unwrap().calls;
        let result: Bytes = result.as_str().unwrap().parse().unwrap();
        let mut outcomes = aggregate3Call::abi_decode_returns(&result).unwrap();
        for (call, outcome) in asked.iter().zip(&mut outcomes) {
            let selector = call.callData[..4].try_into().unwrap();
            let asset = call
                .callData
                .get(16..36)
                .map(hex::encode)
                .unwrap_or_default();
            (self.change)(selector, &asset, outcome);
        }
        json!(Bytes::from(aggregate3Call::abi_encode_returns(&outcomes)))
    }
}

impl<F: Fn([u8; 4], &str, &mut Outcome3) + Send + Sync> Respond for Node<F> {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        let result = match body["method"].as_str().unwrap() {
            "eth_chainId" => json!("0xc4"),
            "eth_call" => self.call(&body["params"]),
            other => panic!("{other}"),
        };
        let answer = json!({"jsonrpc": "2.0", "id": body["id"], "result": result});
        ResponseTemplate::new(200).set_body_json(answer)
    }
}

async fn aave(
    change: impl Fn([u8; 4], &str, &mut Outcome3) + Send + Sync + 'static,
) -> (Aave, MockServer) {
    let server = MockServer::start().await;
    Mock::given(any())
        .respond_with(Node::new(change))
        .mount(&server)
        .await;
    (over(&server), server)
}

fn over(server: &MockServer) -> Aave {
    let config = RpcConfig {
        chains: BTreeMap::from([(196, vec![server.uri().into()])]),
        ..RpcConfig::default()
    };
    let clock = Arc::new(now());
    let evm = EvmReader::new(&Transport::new().unwrap(), config, clock.clone()).unwrap();
    Aave::new(evm, clock)
}

fn word(value: u64) -> Bytes {
    U256::from(value).to_be_bytes_vec().into()
}

fn unchanged(_: [u8; 4], _: &str, _: &mut Outcome3) {}

#[tokio::test]
async fn reserves_are_markets_with_their_unlent_value() {
    let (aave, _server) = aave(unchanged).await;
    let found = aave.markets(None).await.unwrap();
    let rows: Vec<_> = found
        .value
        .iter()
        .map(|row| {
            (
                row.pool.as_str(),
                row.apy_pct.to_string(),
                row.tvl_usd.normalize().to_string(),
            )
        })
        .collect();
    // The rate 0.040374 compounds to 4.12 %; 31,234,567 tokens at 0.9999 dollars are not lent out.
    let first = (
        "aave-v3-xlayer-usdt0",
        "4.120011".to_owned(),
        "31231443.5433".to_owned(),
    );
    assert_eq!(rows[0], first);
    assert_eq!(rows.len(), 10, "one reserve is frozen");
    assert_eq!(found.value[0].symbol, "USD₮0");
    assert_eq!(found.sources[0].source, "rpc.xlayer");
    let block = found.sources[0].as_of.unwrap();
    assert_eq!(block.to_string(), "2026-11-21T01:01:58Z");
}

#[tokio::test]
async fn a_reserve_with_a_missing_figure_is_left_out() {
    let (aave, _server) = aave(|selector, asset, outcome| {
        if selector == PRICE && asset == USDG {
            *outcome = Outcome3 {
                success: false,
                returnData: Bytes::new(),
            };
        }
    })
    .await;
    let found = aave.markets(None).await.unwrap().value;
    assert_eq!(found.len(), 9);
    assert!(!found.iter().any(|row| row.symbol == "USDG"));
}

#[tokio::test]
async fn reserves_that_take_no_deposits_are_no_markets() {
    let changes: [Change; 3] = [
        // The reserve is frozen, or not active, or has a price of zero.
        |selector, asset, outcome| {
            if selector == CONFIGURATION && asset == USDG {
                let mut words = outcome.returnData.to_vec();
                words[319] = 1;
                outcome.returnData = words.into();
            }
        },
        |selector, asset, outcome| {
            if selector == CONFIGURATION && asset == USDG {
                let mut words = outcome.returnData.to_vec();
                words[287] = 0;
                outcome.returnData = words.into();
            }
        },
        |selector, asset, outcome| {
            if selector == PRICE && asset == USDG {
                outcome.returnData = word(0);
            }
        },
    ];
    for change in changes {
        let (aave, _server) = aave(change).await;
        let found = aave.markets(None).await.unwrap().value;
        assert!(found.len() == 9 && !found.iter().any(|row| row.symbol == "USDG"));
    }
}

#[tokio::test]
async fn a_rate_in_another_unit_is_no_yield() {
    let (aave, _server) = aave(|selector, asset, outcome| {
        if selector == RESERVE && asset == USDG {
            let mut words = outcome.returnData.to_vec();
            words[160..192].fill(0xff);
            outcome.returnData = words.into();
        }
    })
    .await;
    assert!(
        !aave
            .markets(None)
            .await
            .unwrap()
            .value
            .iter()
            .any(|row| row.symbol == "USDG")
    );
}

#[tokio::test]
async fn positions_are_read_with_debt_and_health() {
    let (aave, _server) = aave(unchanged).await;
    let found = aave.positions(account(), None).await.unwrap().value;
    assert!(found.complete);
    let found = &found.positions;
    let rows: Vec<_> = found
        .iter()
        .map(|row| {
            (
                row.position_id.as_str(),
                row.amount.unwrap().to_string(),
                row.side,
            )
        })
        .collect();
    assert_eq!(
        rows,
        [
            ("196-aave-v3-usdt0", "1112.44".to_owned(), Side::Supply),
            ("196-aave-v3-usdg", "500.12".to_owned(), Side::Supply),
            ("196-aave-v3-gho-borrow", "100.1".to_owned(), Side::Borrow),
        ]
    );
    assert_eq!(found[0].health.unwrap().to_string(), "12.56");
    // The total: 1112.44 × 0.9999 + 500.12 − 100.1 × 0.9995.
    assert_eq!(total_usd(found).unwrap().to_string(), "1512.39");
}

#[tokio::test]
async fn an_account_without_positions_has_none_and_no_health() {
    let (aave, _server) = aave(unchanged).await;
    let found = aave
        .positions(Address::repeat_byte(0x11), None)
        .await
        .unwrap();
    assert!(found.value.positions.is_empty() && found.value.complete);
}

/// The pool's own totals cover all reserves, also those that were added later.
#[tokio::test]
async fn rows_that_do_not_cover_the_account_are_incomplete() {
    const ACCOUNT: [u8; 4] = [0xbf, 0x92, 0x85, 0x7c];
    let changes: [Change; 3] = [
        // 2 dollars of collateral in another reserve; a debt of 1; a total that is no amount.
        |selector, _, outcome| {
            if selector == ACCOUNT {
                plus(outcome, 0, 200_000_000);
            }
        },
        |selector, _, outcome| {
            if selector == ACCOUNT {
                plus(outcome, 1, 100_000_000);
            }
        },
        |selector, _, outcome| {
            if selector == ACCOUNT {
                let mut words = outcome.returnData.to_vec();
                words[..32].fill(0xff);
                outcome.returnData = words.into();
            }
        },
    ];
    for change in changes {
        let (aave, _server) = aave(change).await;
        let found = aave.positions(account(), None).await.unwrap().value;
        assert_eq!(
            (found.positions.len(), found.complete),
            (3, false),
            "{found:?}"
        );
    }
    // Differences within roundings do not count.
    let (held, _server) = aave(|selector, _, outcome| {
        if selector == ACCOUNT {
            plus(outcome, 0, 1_000_000);
        }
    })
    .await;
    let found = held.positions(account(), None).await.unwrap().value;
    assert!(found.complete);
}

/// Adds `atoms` to one word of a call's result.
fn plus(outcome: &mut Outcome3, word: usize, atoms: u64) {
    let mut words = outcome.returnData.to_vec();
    let place = word * 32..(word + 1) * 32;
    let value = U256::from_be_slice(&words[place.clone()]) + U256::from(atoms);
    words[place].copy_from_slice(&value.to_be_bytes::<32>());
    outcome.returnData = words.into();
}

/// A matured token may lose its price. An account without that token is still read.
#[tokio::test]
async fn a_reserve_without_a_price_affects_only_accounts_that_use_it() {
    let fails = |asset: &'static str| {
        move |selector: [u8; 4], of: &str, outcome: &mut Outcome3| {
            if selector == PRICE && of == asset {
                *outcome = Outcome3 {
                    success: false,
                    returnData: Bytes::new(),
                };
            }
        }
    };
    let matured = fails("9a09a9e491db3dd8ada5b1b889991ac9ad5fd362");
    let (held, _server) = aave(matured).await;
    let found = held.positions(account(), None).await.unwrap().value;
    assert!(found.complete && found.positions.len() == 3);
    let (held, _server) = aave(fails(USDG)).await;
    assert!(held.positions(account(), None).await.is_err());
}

#[tokio::test]
async fn a_part_that_cannot_be_read_is_not_zero() {
    let (aave, _server) = aave(|selector, asset, outcome| {
        if selector == USER && asset == USDG {
            *outcome = Outcome3 {
                success: false,
                returnData: Bytes::new(),
            };
        }
    })
    .await;
    let error = aave.positions(account(), None).await.unwrap_err();
    assert_eq!(
        (error.code(), error.source_id()),
        ("upstream_malformed", Some("rpc.xlayer"))
    );
}

#[tokio::test]
async fn a_node_without_any_reserve_gives_no_answer() {
    let (aave, _server) = aave(|selector, _, outcome| {
        if selector == CONFIGURATION {
            *outcome = Outcome3 {
                success: false,
                returnData: Bytes::new(),
            };
        }
    })
    .await;
    assert_eq!(
        aave.markets(None).await.unwrap_err().code(),
        "upstream_malformed"
    );
    assert_eq!(
        aave.positions(account(), None).await.unwrap_err().code(),
        "upstream_malformed"
    );

    let server = MockServer::start().await;
    assert!(over(&server).markets(None).await.is_err());
}
