//! Tests of Web3Signer by its documented form: `eth_signTransaction` with a call object of a
//! transaction, answered with the signed bytes.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use alloy_primitives::{Address, Bytes, Signature, U64, U128, U256, hex};
use alloy_signer::SignerSync;
use alloy_signer_local::PrivateKeySigner;
use dev_chain::{DEV_ACCOUNTS, GAS_PAYER};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tx_sender::{
    Fees, HttpTransport, NodeFault, SignError, TransactionSigner, Transport, Unsigned, Web3Signer,
    check,
};

use crate::conformance::{Behaviour, DYNAMIC, conforms, unsigned, withstands};
use crate::signers::{ORDER, sign};

type Answer = Box<dyn Fn(&Value) -> Result<Value, NodeFault> + Send + Sync>;

/// An instance that was started with a chain id.
struct Instance {
    answer: Answer,
    seen: Mutex<Vec<Value>>,
}

impl Transport for Instance {
    fn exchange(
        &self,
        method: &'static str,
        body: Vec<u8>,
    ) -> Pin<Box<dyn Future<Output = Result<Vec<u8>, NodeFault>> + Send + '_>> {
        let request: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(request["method"], method);
        self.seen.lock().unwrap().push(request.clone());
        let answer = (self.answer)(&request["params"][0]).map(|mut answer| {
            answer["jsonrpc"] = json!("2.0");
            answer["id"] = request["id"].clone();
            answer.to_string().into_bytes()
        });
        Box::pin(std::future::ready(answer))
    }
}

fn instance(
    answer: impl Fn(&Value) -> Result<Value, NodeFault> + Send + Sync + 'static,
) -> (Web3Signer, Arc<Instance>) {
    let instance = Arc::new(Instance {
        answer: Box::new(answer),
        seen: Mutex::default(),
    });
    (
        Web3Signer::new(GAS_PAYER.address, instance.clone()),
        instance,
    )
}

/// Signs like an instance of this chain, which knows no other chain.
fn signed(call: &Value, chain_id: u64) -> Value {
    let transaction = requested(call, chain_id);
    json!({ "result": hex::encode_prefixed(sign(&transaction, GAS_PAYER.key.0)) })
}

/// Returns the signed transaction with the higher `s`.
fn high_s(transaction: &Unsigned) -> Bytes {
    let key = PrivateKeySigner::from_bytes(&GAS_PAYER.key).unwrap();
    let low = key.sign_hash_sync(&transaction.signature_hash()).unwrap();
    transaction.with_signature(Signature::new(low.r(), ORDER - low.s(), !low.v()))
}

/// Reads the requested transaction from the call.
fn requested(call: &Value, chain_id: u64) -> Unsigned {
    let word = |name: &str| call[name].as_str().unwrap().to_owned();
    let number = |name: &str| word(name).parse::<U64>().unwrap().to::<u64>();
    let fee = |name: &str| word(name).parse::<U128>().unwrap().to::<u128>();
    let fees = if call["gasPrice"].is_string() {
        Fees::Legacy {
            price: fee("gasPrice"),
        }
    } else {
        Fees::Dynamic {
            max: fee("maxFeePerGas"),
            tip: fee("maxPriorityFeePerGas"),
        }
    };
    assert_eq!(word("from").parse::<Address>().unwrap(), GAS_PAYER.address);
    Unsigned {
        chain_id,
        nonce: number("nonce"),
        to: word("to").parse().unwrap(),
        value: word("value").parse::<U256>().unwrap(),
        input: word("data").parse::<Bytes>().unwrap(),
        gas_limit: number("gas"),
        fees,
    }
}

#[tokio::test]
async fn web3signer_conforms() {
    let (signer, seen) = instance(|call| Ok(signed(call, 196)));
    conforms(&signer).await;
    let seen = seen.seen.lock().unwrap();
    assert_eq!(
        seen[0]["params"][0],
        json!({
            "from": GAS_PAYER.address, "to": Address::repeat_byte(9), "gas": "0x15f90", "value": "0x5",
            "nonce": "0x0", "data": "0x010203", "chainId": "0xc4",
            "maxFeePerGas": "0x1e", "maxPriorityFeePerGas": "0x2",
        })
    );
    assert_eq!(seen[8]["params"][0]["gasPrice"], "0x9");
}

/// Returns the answer of an instance with this behaviour.
fn behaves(behaviour: Behaviour, call: &Value) -> Result<Value, NodeFault> {
    let otherwise = |change: fn(&mut Unsigned), key: [u8; 32]| {
        let mut transaction = requested(call, 196);
        change(&mut transaction);
        json!({ "result": hex::encode_prefixed(sign(&transaction, key)) })
    };
    let lost = NodeFault::Lost {
        method: "eth_signTransaction",
    };
    match behaviour {
        Behaviour::Signs | Behaviour::ShortR => Ok(signed(call, 196)),
        Behaviour::HighS => Ok(json!({ "result": high_s(&requested(call, 196)) })),
        Behaviour::Rotated => Ok(otherwise(|_| {}, DEV_ACCOUNTS[3].key.0)),
        Behaviour::OtherHash => Ok(otherwise(|tx| tx.nonce += 1, GAS_PAYER.key.0)),
        Behaviour::Refuses => {
            Ok(json!({ "error": { "code": -32000, "message": "unlocked account not found" } }))
        }
        Behaviour::Fails | Behaviour::Closes => Err(lost),
        Behaviour::Busy | Behaviour::Silent => Err(NodeFault::Unreachable),
        Behaviour::Garbage => Ok(json!({ "result": "0x02c0" })),
        Behaviour::OtherForm => Ok(json!({ "result": { "raw": "0x" } })),
    }
}

#[tokio::test(start_paused = true)]
async fn the_signer_withstands_every_behaviour_of_an_instance() {
    let behaviour = Arc::new(Mutex::new(Behaviour::Signs));
    let now = Arc::clone(&behaviour);
    let (signer, _) = instance(move |call| behaves(*now.lock().unwrap(), call));
    withstands(&signer, |next| *behaviour.lock().unwrap() = next).await;
}

/// Handles one connection to a stand-in. It answers one request and closes the connection, as some
/// servers do.
async fn answer(mut stream: TcpStream, behaviour: Behaviour) -> std::io::Result<()> {
    let (mut head, mut body) = (Vec::new(), Vec::new());
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    let head = String::from_utf8_lossy(&head).to_ascii_lowercase();
    let length = head.split("content-length: ").nth(1).unwrap();
    let length = length.split("\r\n").next().unwrap().parse().unwrap();
    body.resize(length, 0);
    stream.read_exact(&mut body).await?;
    let request: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(request["method"], "eth_signTransaction");
    let (status, text) = match behaviour {
        Behaviour::Silent => std::future::pending().await,
        Behaviour::Closes => return Ok(()),
        Behaviour::Busy => ("429 Too Many Requests", "too many requests".to_owned()),
        Behaviour::Fails => ("503 Service Unavailable", String::new()),
        behaviour => {
            let mut answer = behaves(behaviour, &request["params"][0]).unwrap();
            answer["jsonrpc"] = json!("2.0");
            answer["id"] = request["id"].clone();
            ("200 OK", answer.to_string())
        }
    };
    let length = text.len();
    let reply =
        format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{text}");
    stream.write_all(reply.as_bytes()).await
}

#[tokio::test]
async fn the_signer_withstands_every_behaviour_of_an_instance_over_http() {
    let behaviour = Arc::new(Mutex::new(Behaviour::Signs));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let now = Arc::clone(&behaviour);
    let serving = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let behaviour = *now.lock().unwrap();
            tokio::spawn(answer(stream, behaviour));
        }
    });
    let transport = HttpTransport::new(&url.into(), Duration::from_secs(10)).unwrap();
    let signer = Web3Signer::new(GAS_PAYER.address, Arc::new(transport));
    withstands(&signer, |next| *behaviour.lock().unwrap() = next).await;
    serving.abort();
    let _ = serving.await;
    let gone = signer.sign(&unsigned(DYNAMIC)).await.unwrap_err();
    assert_eq!(gone, SignError::Unavailable);
}

/// The instance replaces the chain id of the request by its own.
#[tokio::test]
async fn an_instance_of_another_chain_is_detected() {
    let (signer, _) = instance(|call| Ok(signed(call, 1)));
    let asked = unsigned(DYNAMIC);
    let raw = signer.sign(&asked).await.unwrap();
    let refused = check(&raw, &asked, signer.account()).unwrap_err();
    assert_eq!(refused, SignError::OtherField { member: "chain id" });
}

#[tokio::test]
async fn every_failure_has_a_name() {
    let asked = unsigned(DYNAMIC);
    for (answer, code) in [
        (
            Ok(json!({ "error": { "code": -32000, "message": "unlocked account not found" } })),
            "signer_refused",
        ),
        (Ok(json!({ "result": null })), "signer_malformed"),
        (Ok(json!({ "result": "no bytes" })), "signer_malformed"),
        (Err(NodeFault::Unreachable), "signer_unavailable"),
        (
            Err(NodeFault::Lost {
                method: "eth_signTransaction",
            }),
            "signer_unavailable",
        ),
    ] {
        let (signer, _) = instance(move |_| answer.clone());
        assert_eq!(signer.sign(&asked).await.unwrap_err().code(), code);
    }
}

#[tokio::test]
async fn the_accounts_of_an_instance_are_listed_without_a_signature() {
    let (signer, seen) = instance(|_| Ok(json!({"result": [GAS_PAYER.address]})));
    assert_eq!(signer.accounts().await, Ok(vec![GAS_PAYER.address]));
    let asked = seen.seen.lock().unwrap().clone();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0]["method"], "eth_accounts");
    assert_eq!(asked[0]["params"], json!([]));

    for (answer, expected) in [
        (json!({"result": "0x12"}), SignError::Malformed),
        (json!({"result": ["0x12"]}), SignError::Malformed),
        (json!({}), SignError::Malformed),
    ] {
        let (signer, _) = instance(move |_| Ok(answer.clone()));
        assert_eq!(signer.accounts().await, Err(expected));
    }
    let (signer, _) = instance(|_| Err(NodeFault::Unreachable));
    assert_eq!(signer.accounts().await, Err(SignError::Unavailable));
}
