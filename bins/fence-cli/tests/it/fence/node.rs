//! A stand-in of a chain's endpoint with scripted answers, on a port of its own.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpListener,
    sync::{Arc, Mutex},
    thread,
};

use serde_json::{Value, json};

use crate::fence::desk::ACCOUNT;

/// The state of the chain.
#[derive(Clone, Default)]
pub(crate) struct Chain {
    pub(crate) id: u64,
    pub(crate) code: String,
    pub(crate) disabled: Vec<String>,
    pub(crate) nonce: u64,
    pub(crate) allowance: u64,
    /// An answer to every request.
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
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let chain = Arc::new(Mutex::new(chain));
        let shared = Arc::clone(&chain);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut reader = BufReader::new(stream.unwrap());
                let (mut line, mut length) = (String::new(), 0);
                while reader.read_line(&mut line).unwrap() > 2 {
                    let lower = line.to_ascii_lowercase();
                    if let Some(value) = lower.strip_prefix("content-length:") {
                        length = value.trim().parse().unwrap();
                    }
                    line.clear();
                }
                let mut body = vec![0; length];
                reader.read_exact(&mut body).unwrap();
                let request: Value = serde_json::from_slice(&body).unwrap();
                let text = answer(&mut shared.lock().unwrap(), &request);
                let head = format!(
                    "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                    text.len()
                );
                drop(reader.get_mut().write_all((head + &text).as_bytes()));
            }
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
