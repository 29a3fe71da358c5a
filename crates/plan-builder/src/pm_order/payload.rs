//! `payload` of an order plan. Its members are declared in the order of RFC 8785.
//!
//! The signed and the posted parts are texts here, as in the plan. The checks decode them.

mod market;
mod text;

use calldata_checks::pm_order::Side;
use serde::{Deserialize, Serialize};

pub(crate) use self::market::{BuilderFee, Market};
use crate::wire::Text;

/// The whole payload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PmOrderPayload {
    /// The venue's fee for the builder code. Left out when there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) builder_fee: Option<BuilderFee>,
    /// The market as it was read.
    pub(super) market: Market,
    /// The unsigned order, in the form that the venue's clients take.
    pub(super) order: OrderRecord,
    /// The hash by which the venue names the order.
    pub(super) order_hash: Text,
    /// The body that the caller posts.
    pub(super) post: Post,
    /// The approval that the caller's account needs before the order. It is not part of the plan.
    pub(super) prerequisites: [Prerequisite; 1],
    /// Always empty, because an order has no transactions.
    pub(super) steps: [(); 0],
    /// The message that the caller signs.
    pub(super) typed_data: TypedData,
    /// The facts about the venue that are not known, and the tasks that the caller must do itself.
    pub(super) venue: Venue,
}

/// The order in the form of the venue's clients.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct OrderRecord {
    pub(super) builder: Text,
    pub(super) expiration: Text,
    pub(super) maker: Text,
    pub(super) maker_amount: Text,
    pub(super) metadata: Text,
    pub(super) salt: Text,
    pub(super) side: Text,
    pub(super) signature_type: u64,
    pub(super) signer: Text,
    pub(super) taker_amount: Text,
    pub(super) timestamp: Text,
    pub(super) token_id: Text,
}

/// The HTTP call that places the order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Post {
    pub(super) body_template: Body,
    pub(super) method: Text,
    pub(super) path: Text,
}

/// The body, complete except for `owner` and `order.signature`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Body {
    pub(super) defer_exec: bool,
    pub(super) order: BodyOrder,
    pub(super) order_type: Text,
    pub(super) owner: (),
    pub(super) post_only: bool,
}

/// The order in the body. Here the salt is a JSON number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct BodyOrder {
    pub(super) builder: Text,
    pub(super) expiration: Text,
    pub(super) maker: Text,
    pub(super) maker_amount: Text,
    pub(super) metadata: Text,
    pub(super) salt: u64,
    pub(super) side: Text,
    pub(super) signature: (),
    pub(super) signature_type: u64,
    pub(super) signer: Text,
    pub(super) taker_amount: Text,
    pub(super) timestamp: Text,
    pub(super) token_id: Text,
}

/// The approval that the exchange needs to move what the order gives.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Prerequisite {
    /// The most that the order moves, in the smallest unit.
    pub(super) amount: Text,
    /// The token contract.
    pub(super) contract: Text,
    /// The function to call.
    pub(super) function: Text,
    /// The kind of the prerequisite.
    pub(super) kind: Text,
    /// The function that reads the approval back.
    pub(super) read_back: Text,
    /// The exchange.
    pub(super) spender: Text,
    /// Whether the approval was read.
    pub(super) state: Text,
}

/// The facts about the venue that are not known, and the tasks that the caller must do itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Venue {
    acceptance: Text,
    credentials: Text,
    geoblock: Text,
    lifetime: Text,
    maker_eligibility: Text,
    maker_eligibility_note: Text,
    order_id: Text,
}

/// The argument of `eth_signTypedData_v4`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct TypedData {
    pub(super) domain: Domain,
    pub(super) message: Message,
    pub(super) primary_type: Text,
    pub(super) types: Types,
}

/// The signing domain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Domain {
    pub(super) chain_id: u64,
    pub(super) name: Text,
    pub(super) verifying_contract: Text,
    pub(super) version: Text,
}

/// The signed struct.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Message {
    pub(super) builder: Text,
    pub(super) maker: Text,
    pub(super) maker_amount: Text,
    pub(super) metadata: Text,
    pub(super) salt: Text,
    pub(super) side: u64,
    pub(super) signature_type: u64,
    pub(super) signer: Text,
    pub(super) taker_amount: Text,
    pub(super) timestamp: Text,
    pub(super) token_id: Text,
}

/// The declared struct types.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Types {
    #[serde(rename = "EIP712Domain")]
    pub(super) domain: Vec<Member>,
    #[serde(rename = "Order")]
    pub(super) order: Vec<Member>,
}

/// A member of a struct type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Member {
    pub(super) name: Text,
    #[serde(rename = "type")]
    pub(super) kind: Text,
}

impl Prerequisite {
    /// Makes the approval that an order of this side needs.
    pub(super) fn approval(side: Side, spender: Text, amount: Text) -> Self {
        let approval = side.approval();
        Self {
            amount,
            contract: approval.contract.to_string().into(),
            function: approval.function.into(),
            kind: "approval".into(),
            read_back: approval.read_back.into(),
            spender,
            state: "not_checked".into(),
        }
    }

    /// Returns the approval with the labels of this side, and keeps the members that a check
    /// decodes.
    pub(super) fn relabelled(&self, side: Side) -> Self {
        Self {
            contract: self.contract.clone(),
            ..Self::approval(side, self.spender.clone(), self.amount.clone())
        }
    }
}

impl Venue {
    /// The texts that are the same for every order.
    pub(super) fn stated() -> Self {
        Self {
            acceptance: "not_guaranteed".into(),
            credentials: "the API key must be of the signing address".into(),
            geoblock: "not_checked: the caller asks https://polymarket.com/api/geoblock from where it trades".into(),
            lifetime: "good till cancelled: valid_until ends the plan, not an order that is posted"
                .into(),
            maker_eligibility: "not_checked".into(),
            maker_eligibility_note:
                "the venue may refuse an EOA that is new to its API and ask for a deposit wallet".into(),
            order_id: "the answer's orderID is payload.order_hash".into(),
        }
    }
}
