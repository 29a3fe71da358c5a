//! A stand-in for a chain's endpoint. A test sets its state, or one answer to every request.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use test_support::answer_http;

use crate::fence::desk::ACCOUNT;

/// The state of the chain that the stand-in reports, and the requests that it got.
#[derive(Clone, Default)]
pub(crate) struct Chain {
    pub(crate) id: u64,
    pub(crate) code: String,
    pub(crate) disabled: Vec<String>,
    pub(crate) nonce: u64,
    pub(crate) allowance: u64,
    /// If set, the answer to every request.
    pub(crate) fixed: Option<String>,
    pub(crate) asked: Vec<Value>,
}

pub(crate) struct Node {
    pub(crate) url: String,
    pub(crate) chain: Arc<Mutex<Chain>>,
}

pub(crate) const BLOCK: &str = "0xabababababababababababababababababababababababababababababababab";

impl Node {
    fn start(chain: Chain) -> Self {
        let chain = Arc::new(Mutex::new(chain));
        let shared = Arc::clone(&chain);
        let url = answer_http(move |asked| {
            let request = serde_json::from_str(&asked.body).unwrap();
            (200, answer(&mut shared.lock().unwrap(), &request))
        });
        Self { url, chain }
    }

    pub(crate) fn of(change: impl FnOnce(&mut Chain)) -> Self {
        let mut chain = Chain {
            id: 8453,
            code: "0xef010063c0c19a282a1b52b07dd5a65b58948a07dae32b".to_owned(),
            ..Chain::default()
        };
        change(&mut chain);
        Self::start(chain)
    }
}

fn answer(chain: &mut Chain, request: &Value) -> String {
    chain.asked.push(request.clone());
    if let Some(fixed) = &chain.fixed {
        return fixed.clone();
    }
    let at = json!({"blockHash": BLOCK, "requireCanonical": true});
    let word = |number: u64| json!(format!("0x{number:064x}"));
    let params = &request["params"];
    let result = match request["method"].as_str().unwrap() {
        "eth_chainId" => json!(format!("{:#x}", chain.id)),
        "eth_getBlockByNumber" if params[0] == "latest" => {
            json!({"number": "0x64", "hash": format!("0x{}", "cd".repeat(32))})
        }
        "eth_getBlockByNumber" => {
            assert_eq!(params[0], "0x63");
            json!({"number": "0x63", "hash": BLOCK})
        }
        "eth_getCode" => {
            assert_eq!(*params, json!([ACCOUNT, at]));
            json!(chain.code)
        }
        "eth_call" => {
            assert_eq!(params[1], at);
            let data = params[0]["data"].as_str().unwrap();
            match &data[..10] {
                "0x2d40d052" => {
                    let hash = format!("0x{}", &data[10..]);
                    word(u64::from(chain.disabled.contains(&hash)))
                }
                "0x2bd4ed21" => word(chain.nonce),
                "0xdd62ed3e" => word(chain.allowance),
                other => panic!("{other}"),
            }
        }
        other => panic!("{other}"),
    };
    json!({"jsonrpc": "2.0", "id": request["id"], "result": result}).to_string()
}
