//! Web3Signer by its documented wire form: `eth_signTransaction` with a transaction call object, answered with the signed bytes.

use std::pin::Pin;
use std::sync::{Arc, Mutex};

use alloy_primitives::{Address, Bytes, U64, U128, U256, hex};
use dev_chain::GAS_PAYER;
use serde_json::{Value, json};
use tx_sender::{
    Fees, NodeFault, SignError, TransactionSigner, Transport, Unsigned, Web3Signer, check,
};

use crate::signers::{DYNAMIC, conforms, sign, unsigned};

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

/// Signs as an instance of this chain does: it knows no other one.
fn signed(call: &Value, chain_id: u64) -> Value {
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
    let transaction = Unsigned {
        chain_id,
        nonce: number("nonce"),
        to: word("to").parse().unwrap(),
        value: word("value").parse::<U256>().unwrap(),
        input: word("data").parse::<Bytes>().unwrap(),
        gas_limit: number("gas"),
        fees,
    };
    json!({ "result": hex::encode_prefixed(sign(&transaction, GAS_PAYER.key.0)) })
}

#[tokio::test]
async fn it_conforms() {
    let (signer, seen) = instance(|call| Ok(signed(call, 196)));
    conforms(&signer).await;
    let seen = seen.seen.lock().unwrap();
    assert_eq!(
        seen[0]["params"][0],
        json!({
            "from": GAS_PAYER.address, "to": Address::repeat_byte(9), "gas": "0x15f90", "value": "0x5",
            "nonce": "0x7", "data": "0x010203", "chainId": "0xc4",
            "maxFeePerGas": "0x1e", "maxPriorityFeePerGas": "0x2",
        })
    );
    assert_eq!(seen[1]["params"][0]["gasPrice"], "0x9");
}

/// It overrides the chain id of the request with its own.
#[tokio::test]
async fn an_instance_of_another_chain_is_found_out() {
    let (signer, _) = instance(|call| Ok(signed(call, 1)));
    let asked = unsigned(DYNAMIC);
    let raw = signer.sign(&asked).await.unwrap();
    let refused = check(&raw, &asked, signer.account()).unwrap_err();
    assert_eq!(refused, SignError::OtherField { member: "chain id" });
}

#[tokio::test]
async fn what_goes_wrong_has_a_name() {
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
