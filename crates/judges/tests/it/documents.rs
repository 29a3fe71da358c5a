//! Every typed document (EIP-712) that a route or a tool hands out, or that a page of the
//! documentation tells people to sign. [`WRITERS`] names the code that writes them.

#![allow(dead_code, reason = "each test file compiles this module for itself")]

use std::path::{Path, PathBuf};

use alloy_primitives::{Address, B256, U256, address};
use custody::{ExportRequest, Owner};
use serde_json::{Value, json};
use wallet_actions::PrincipalRequest;
use x402_wire::{Asset, Authorization, Network};

use crate::fence_messages;

/// The source files that write or read a member `primaryType`, and the documents for which they do.
pub(crate) const WRITERS: [(&str, &str); 7] = [
    ("crates/calldata-checks/src/pm_order/decode.rs", "pm_order"),
    ("crates/delegation-fence/src/message.rs", "fence"),
    (
        "crates/delegation-fence/src/onchain/delegation.rs",
        "fence: delegations",
    ),
    (
        "crates/plan-builder/src/perp_order/payload.rs",
        "perp_order",
    ),
    ("crates/plan-builder/src/pm_order/payload.rs", "pm_order"),
    (
        "crates/wallet-actions/src/plan/principal.rs",
        "principal_auth",
    ),
    ("crates/x402-wire/src/buyer/payment.rs", "x402"),
];

/// A typed document, and the digest that its own code signs or judges.
#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) name: String,
    pub(crate) json: Value,
    pub(crate) digest: B256,
}

/// All of them.
pub(crate) fn documents() -> Vec<Document> {
    let mut all = vec![
        principal_auth(),
        payment(),
        pm_order(),
        perp_order(),
        wallet_export(),
    ];
    let fence = fence_messages::cases().into_iter().map(|case| {
        let json: Value = serde_json::from_str(&case.json).unwrap();
        Document {
            name: format!("fence: {}", json["primaryType"]),
            json,
            digest: case.digest,
        }
    });
    all.extend(fence);
    all
}

/// The path of a file of the repository.
pub(crate) fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(name)
}

fn read(name: &str) -> String {
    std::fs::read_to_string(path(name)).unwrap()
}

fn read_json(name: &str) -> Value {
    serde_json::from_str(&read(name)).unwrap()
}

fn word(value: &Value) -> B256 {
    value.as_str().unwrap().parse().unwrap()
}

/// What `409 funds_required` of the action routes carries. `x402-wire` computes its digest.
fn principal_auth() -> Document {
    let (chain_id, [asset, ..]) = (196, Asset::chain_196());
    let request = PrincipalRequest {
        chain_id,
        token: asset.address,
        name: asset.name.clone(),
        version: asset.version.clone(),
        from: address!("70997970C51812dc3A010C7d01b50e0d17dc79C8"),
        to: Address::repeat_byte(0x17),
        value: U256::from(24_500_000),
        valid_before: 1_795_223_995,
        nonce: B256::repeat_byte(7),
    };
    let json = request.typed_data();
    let signed: Authorization = serde_json::from_value(json["message"].clone()).unwrap();
    Document {
        name: "principal_auth".to_owned(),
        digest: signed.digest(asset.domain_separator(Network::evm(chain_id))),
        json,
    }
}

/// What a buyer signs to pay for a call. A test of `x402-wire` compares the vector with its code.
fn payment() -> Document {
    let vectors = read_json("fixtures/vectors/payments.json");
    let example = &vectors["eip3009_example"];
    Document {
        name: "x402".to_owned(),
        json: example["typed_data"].clone(),
        digest: word(&example["digest"]),
    }
}

/// What `svc_prepare_pm_order` hands out. A test of `plan-builder` compares the plan with its code.
fn pm_order() -> Document {
    let plan = read_json("fixtures/vectors/plans/pm_order.plan.json");
    Document {
        name: "pm_order".to_owned(),
        json: plan["payload"]["typed_data"].clone(),
        digest: word(&plan["payload"]["order_hash"]),
    }
}

/// What a signer makes of the recipe of `svc_prepare_perp_order`, which is complete but for the
/// connection id.
fn perp_order() -> Document {
    let plan = read_json("fixtures/vectors/plans/perp_order.plan.json");
    let (recipe, example) = (&plan["payload"]["recipe"], &plan["payload"]["example"]);
    let mut message = recipe["message"].clone();
    message["connectionId"] = example["connection_id"].clone();
    Document {
        name: "perp_order".to_owned(),
        json: json!({
            "types": recipe["types"], "primaryType": recipe["primary_type"],
            "domain": recipe["domain"], "message": message,
        }),
        digest: word(&example["eip712_digest"]),
    }
}

/// What `docs/PROTOCOL.md` tells an owner to sign for the export of its wallet.
fn wallet_export() -> Document {
    let shown = shown_in("docs/PROTOCOL.md");
    let is_export = |json: &Value| json["primaryType"] == "WalletExport";
    let json = shown.into_iter().find(is_export).unwrap();
    let (domain, message) = (&json["domain"], &json["message"]);
    let parse = |name: &str| -> Address { message[name].as_str().unwrap().parse().unwrap() };
    let brand = domain["name"].as_str().unwrap().strip_suffix(" wallets");
    let request = ExportRequest {
        owner: Owner::new(domain["chainId"].as_u64().unwrap(), parse("owner")),
        wallet: parse("wallet"),
        public_key: word(&message["publicKey"]),
        issued_at: message["issuedAt"].as_u64().unwrap(),
        signature: Vec::new().into(),
    };
    Document {
        name: "wallet export".to_owned(),
        digest: request.digest(brand.unwrap()),
        json,
    }
}

/// The typed documents in the samples of a page: each value of a JSON sample that has a
/// `primaryType`.
pub(crate) fn shown_in(page: &str) -> Vec<Value> {
    let text = read(page);
    let samples = text.split("```json\n").skip(1);
    let mut found = Vec::new();
    for sample in samples {
        let (sample, _) = sample.split_once("```").unwrap();
        if sample.contains("primaryType") {
            let json = serde_json::from_str(sample)
                .unwrap_or_else(|error| panic!("{page}: {error}\n{sample}"));
            collect(&json, &mut found);
        }
    }
    found
}

fn collect(value: &Value, found: &mut Vec<Value>) {
    match value {
        Value::Object(members) if members.contains_key("primaryType") => found.push(value.clone()),
        Value::Object(members) => members.values().for_each(|value| collect(value, found)),
        Value::Array(items) => items.iter().for_each(|value| collect(value, found)),
        _ => {}
    }
}
