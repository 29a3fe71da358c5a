//! An order plan as JSON, with the request, the market and the policy that judge it.

use alloy_primitives::{B256, U256};
use calldata_checks::{
    CheckReport, Commitment, DigestStanding, Facts, Failure, FeePolicy, UtcSeconds, judge,
    pm_order::{
        Approval, DomainText, Exchange, Member, Message, PmBuilder, PmBuilderFee, PmMarketFacts,
        PmOrderFacts, PmOrderRequest, Post, RestOrder, Side, TypedData, TypedOrder,
    },
};
use serde_json::{Value, json};

const VECTORS: &str =
    include_str!("../../../../../fixtures/vectors/pm_order/prediction_market_orders.json");

/// A plan whose checks hold until it is changed.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// `typed_data`, `order`, `order_hash`, `post_body`, `method`, `path`, `approval`.
    pub(crate) json: Value,
    pub(crate) request: PmOrderRequest,
    pub(crate) market: PmMarketFacts,
    pub(crate) builder_code: B256,
    pub(crate) builder_fee: Option<PmBuilderFee>,
    pub(crate) commitment: Commitment,
}

pub(crate) fn vectors() -> Vec<Value> {
    let file: Value = serde_json::from_str(VECTORS).unwrap();
    file["vectors"].as_array().unwrap().clone()
}

/// A purchase on the normal exchange, a sale on the neg-risk one, a purchase with a builder code.
pub(crate) fn plans() -> Vec<Plan> {
    vectors().iter().map(Plan::of).collect()
}

pub(crate) fn buy() -> Plan {
    plans().swap_remove(0)
}

pub(crate) fn sell() -> Plan {
    plans().swap_remove(1)
}

pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("not a string")
}

impl Plan {
    fn of(vector: &Value) -> Self {
        let input = &vector["input"];
        let side = Side::from_text(text(&input["side"])).unwrap();
        let builder_code: B256 = text(&input["builderCode"]).parse().unwrap();
        let token_id: U256 = text(&input["tokenID"]).parse().unwrap();
        let neg_risk = input["negRisk"].as_bool().unwrap();
        let made = text(&input["timestampMs"]).parse::<u64>().unwrap() / 1000;
        let now = UtcSeconds::from_unix(made);
        let json = json!({
            "typed_data": vector["typed_data"],
            "order": vector["order"],
            "order_hash": vector["order_hash"],
            "post_body": vector["post_body"],
            "method": "POST",
            "path": "/order",
            "approval": {
                "contract": side.approval().contract.to_string(),
                "function": side.approval().function,
                "spender": Exchange::of_market(neg_risk).address().to_string(),
                "amount": vector["order"]["makerAmount"],
            },
        });
        Self {
            json,
            request: PmOrderRequest {
                account: text(&vector["order"]["maker"]).parse().unwrap(),
                chain_id: 137,
                token_id,
                side,
                price: text(&input["price"]).parse().unwrap(),
                size: text(&input["size"]).parse().unwrap(),
                condition_id: Some(B256::repeat_byte(7)),
                outcome: Some("Yes".to_owned()),
                post_only: false,
                max_cost: None,
                min_proceeds: None,
            },
            market: PmMarketFacts {
                version: 2,
                condition_id: B256::repeat_byte(7),
                tokens: [
                    (token_id, "Yes".to_owned()),
                    (U256::from(5), "No".to_owned()),
                ],
                tick_size: text(&input["tickSize"]).parse().unwrap(),
                min_order_size: "5".parse().unwrap(),
                neg_risk,
                accepting_orders: true,
                order_book: true,
                active: true,
                closed: false,
                read_at: now,
            },
            builder_code,
            builder_fee: (!builder_code.is_zero()).then(|| PmBuilderFee {
                maker_bps: "0".parse().unwrap(),
                taker_bps: "12.5".parse().unwrap(),
            }),
            commitment: Commitment {
                valid_until: now.saturating_add(90),
                now,
                digest: DigestStanding::Sealing,
            },
        }
    }

    pub(crate) fn set(&mut self, pointer: &str, value: Value) {
        *self.json.pointer_mut(pointer).expect(pointer) = value;
    }

    /// Sets a member of the order in every place.
    pub(crate) fn set_order(&mut self, member: &str, value: &Value) {
        for place in ["typed_data/message", "order", "post_body/order"] {
            let value = match (member, place) {
                ("salt", "post_body/order") => {
                    json!(text(value).parse::<u64>().expect("a JSON number"))
                }
                ("side", "order" | "post_body/order") if value == &json!(0) => json!("BUY"),
                ("side", "order" | "post_body/order") if value == &json!(1) => json!("SELL"),
                _ => value.clone(),
            };
            self.set(&format!("/{place}/{member}"), value);
        }
    }

    /// Sets both amounts in every place, and the approval with them.
    pub(crate) fn set_amounts(&mut self, maker: U256, taker: U256) {
        self.set_order("makerAmount", &json!(maker.to_string()));
        self.set_order("takerAmount", &json!(taker.to_string()));
        self.set("/approval/amount", json!(maker.to_string()));
    }

    /// Announces the hash of the changed plan, as a forger would.
    pub(crate) fn rehash(&mut self) {
        let decoded = self.facts().unwrap().into_decoded();
        let hash = decoded.order.hash(&decoded.domain);
        self.set("/order_hash", json!(hash.to_string()));
    }

    pub(crate) fn facts(&self) -> Result<PmOrderFacts, Failure> {
        let (data, body) = (&self.json["typed_data"], &self.json["post_body"]);
        let members = |name: &str| -> Vec<Member<'_>> {
            let list = data["types"][name].as_array().unwrap();
            list.iter()
                .map(|m| Member {
                    name: text(&m["name"]),
                    kind: text(&m["type"]),
                })
                .collect()
        };
        let (domain, message) = (&data["domain"], &data["message"]);
        let body_salt = body["order"]["salt"].to_string();
        let approval = &self.json["approval"];
        let plan = TypedOrder {
            typed_data: TypedData {
                domain_members: members("EIP712Domain"),
                order_members: members("Order"),
                primary_type: text(&data["primaryType"]),
                domain: DomainText {
                    name: text(&domain["name"]),
                    version: text(&domain["version"]),
                    chain_id: domain["chainId"].as_u64().unwrap(),
                    verifying_contract: text(&domain["verifyingContract"]),
                },
                message: Message {
                    salt: text(&message["salt"]),
                    maker: text(&message["maker"]),
                    signer: text(&message["signer"]),
                    token_id: text(&message["tokenId"]),
                    maker_amount: text(&message["makerAmount"]),
                    taker_amount: text(&message["takerAmount"]),
                    side: message["side"].as_u64().unwrap(),
                    signature_type: message["signatureType"].as_u64().unwrap(),
                    timestamp: text(&message["timestamp"]),
                    metadata: text(&message["metadata"]),
                    builder: text(&message["builder"]),
                },
            },
            order: rest(&self.json["order"], text(&self.json["order"]["salt"])),
            order_hash: text(&self.json["order_hash"]),
            post: Post {
                method: text(&self.json["method"]),
                path: text(&self.json["path"]),
                defer_exec: body["deferExec"].as_bool().unwrap(),
                post_only: body["postOnly"].as_bool().unwrap(),
                order_type: text(&body["orderType"]),
                order: rest(&body["order"], &body_salt),
            },
            approval: Approval {
                contract: text(&approval["contract"]),
                function: text(&approval["function"]),
                spender: text(&approval["spender"]),
                amount: text(&approval["amount"]),
            },
        };
        PmOrderFacts::decode(
            &plan,
            self.request.clone(),
            self.market.clone(),
            PmBuilder {
                code: self.builder_code,
                max_fee: FeePolicy::PM_MAX_BUILDER_FEE,
                fee: self.builder_fee,
            },
            self.commitment,
        )
    }

    pub(crate) fn judge(&self) -> Result<CheckReport, Failure> {
        judge(&self.facts()?)
    }

    /// Returns the name of the refusal; panics when the plan is accepted.
    #[track_caller]
    pub(crate) fn refusal(&self) -> &'static str {
        let failure = self.judge().expect_err("a refusal");
        assert!(
            PmOrderFacts::CHECKS
                .iter()
                .any(|check| check.name == failure.check),
            "{failure} is not a check of the table"
        );
        failure.check
    }
}

fn rest<'a>(order: &'a Value, salt: &'a str) -> RestOrder<'a> {
    RestOrder {
        salt,
        maker: text(&order["maker"]),
        signer: text(&order["signer"]),
        token_id: text(&order["tokenId"]),
        maker_amount: text(&order["makerAmount"]),
        taker_amount: text(&order["takerAmount"]),
        side: text(&order["side"]),
        signature_type: order["signatureType"].as_u64().unwrap(),
        timestamp: text(&order["timestamp"]),
        expiration: text(&order["expiration"]),
        metadata: text(&order["metadata"]),
        builder: text(&order["builder"]),
    }
}
