//! Makes the payload of a request from the market's readings. The checks judge the payload before
//! anyone sees it.

use alloy_primitives::{B256, U256};
use alloy_sol_types::{SolStruct as _, eip712_domain, sol};
use calldata_checks::pm_order::{CHAIN_ID, DOMAIN_NAME, DOMAIN_VERSION, Exchange, MAX_SALT, Side};

use super::{
    PmOrderRequest,
    payload::{
        Body, BodyOrder, BuilderFee, Domain, Member, Message, OrderRecord, PmOrderPayload, Post,
        Prerequisite, TypedData, Types, Venue,
    },
};
use crate::{
    Moment,
    ports::{PmBuilderFee, PmMarket},
    wire::Text,
};

sol! {
    /// An order of the venue's second generation.
    struct Order {
        uint256 salt;
        address maker;
        address signer;
        uint256 tokenId;
        uint256 makerAmount;
        uint256 takerAmount;
        uint8 side;
        uint8 signatureType;
        uint256 timestamp;
        bytes32 metadata;
        bytes32 builder;
    }
}

/// Decimals of the collateral and of every outcome token.
const DECIMALS: u8 = 6;

/// Makes the payload of an order.
pub(super) fn payload(
    request: &PmOrderRequest,
    market: &PmMarket,
    builder_code: B256,
    builder_fee: Option<PmBuilderFee>,
    moment: &Moment,
) -> PmOrderPayload {
    let exchange = Exchange::of_market(market.neg_risk).address();
    let domain = eip712_domain! {
        name: DOMAIN_NAME,
        version: DOMAIN_VERSION,
        chain_id: CHAIN_ID,
        verifying_contract: exchange,
    };
    let (maker_amount, taker_amount) = amounts(request);
    let salt = salt(moment);
    let account = request.account_profile.address;
    let order = Order {
        salt: U256::from(salt),
        maker: account,
        signer: account,
        tokenId: request.token_id.0,
        makerAmount: maker_amount,
        takerAmount: taker_amount,
        side: request.side.number(),
        signatureType: 0,
        timestamp: U256::from(moment.now_millis),
        metadata: B256::ZERO,
        builder: builder_code,
    };
    let record = record(&order, request.side);
    let spender: Text = exchange.to_string().into();
    PmOrderPayload {
        builder_fee: builder_fee.map(BuilderFee::from),
        market: market.into(),
        order_hash: order.eip712_signing_hash(&domain).to_string().into(),
        post: Post {
            body_template: Body {
                defer_exec: false,
                order: body_order(&record, salt),
                order_type: "GTC".into(),
                owner: (),
                post_only: request.post_only,
            },
            method: "POST".into(),
            path: "/order".into(),
        },
        prerequisites: [Prerequisite::approval(
            request.side,
            spender.clone(),
            record.maker_amount.clone(),
        )],
        steps: [],
        typed_data: TypedData {
            domain: Domain {
                chain_id: CHAIN_ID,
                name: DOMAIN_NAME.into(),
                verifying_contract: spender,
                version: DOMAIN_VERSION.into(),
            },
            message: message(&record, request.side),
            primary_type: "Order".into(),
            types: Types {
                domain: members(&domain.encode_type()),
                order: members(&Order::eip712_encode_type()),
            },
        },
        venue: Venue::stated(),
        order: record,
    }
}

/// Computes the amounts that the maker gives and gets, in the smallest unit. An amount that is not
/// a whole number stays zero. No check accepts zero, and the refusal names the price or the size
/// that causes it.
fn amounts(request: &PmOrderRequest) -> (U256, U256) {
    let (price, size) = (request.price.0, request.size.0);
    let shares = size.atoms(DECIMALS).unwrap_or_default();
    let product = size
        .checked_mul(price)
        .ok()
        .and_then(|product| product.atoms(DECIMALS));
    let cost = product.unwrap_or_default();
    match request.side {
        Side::Buy => (cost, shares),
        Side::Sell => (shares, cost),
    }
}

/// Takes the 53 bits that a JSON number holds from random bytes. They are bytes that no artifact's
/// name contains.
const fn salt(moment: &Moment) -> u64 {
    let [.., a, b, c, d, e, f, g, h] = moment.entropy;
    u64::from_be_bytes([a, b, c, d, e, f, g, h]) & MAX_SALT
}

/// Reads the members of an encoded struct type, `Name(type name,…)`.
fn members(encoded: &str) -> Vec<Member> {
    let list = encoded
        .split_once('(')
        .and_then(|(_, rest)| rest.strip_suffix(')'));
    list.into_iter()
        .flat_map(|list| list.split(','))
        .filter_map(|member| member.split_once(' '))
        .map(|(kind, name)| Member {
            name: name.to_owned().into(),
            kind: kind.to_owned().into(),
        })
        .collect()
}

/// Makes the order in the form of the venue's clients. Every number except `signatureType` is a
/// text, and the order never expires.
fn record(order: &Order, side: Side) -> OrderRecord {
    let account: Text = order.maker.to_string().into();
    OrderRecord {
        builder: order.builder.to_string().into(),
        expiration: "0".into(),
        maker: account.clone(),
        maker_amount: order.makerAmount.to_string().into(),
        metadata: order.metadata.to_string().into(),
        salt: order.salt.to_string().into(),
        side: side.as_str().into(),
        signature_type: order.signatureType.into(),
        signer: account,
        taker_amount: order.takerAmount.to_string().into(),
        timestamp: order.timestamp.to_string().into(),
        token_id: order.tokenId.to_string().into(),
    }
}

/// Makes the message of the typed data. Here the side is a number, and there is no expiration.
fn message(record: &OrderRecord, side: Side) -> Message {
    Message {
        builder: record.builder.clone(),
        maker: record.maker.clone(),
        maker_amount: record.maker_amount.clone(),
        metadata: record.metadata.clone(),
        salt: record.salt.clone(),
        side: side.number().into(),
        signature_type: record.signature_type,
        signer: record.signer.clone(),
        taker_amount: record.taker_amount.clone(),
        timestamp: record.timestamp.clone(),
        token_id: record.token_id.clone(),
    }
}

/// Makes the order of the body to post. Here the salt is a number, and the signature is still
/// missing.
fn body_order(record: &OrderRecord, salt: u64) -> BodyOrder {
    BodyOrder {
        builder: record.builder.clone(),
        expiration: record.expiration.clone(),
        maker: record.maker.clone(),
        maker_amount: record.maker_amount.clone(),
        metadata: record.metadata.clone(),
        salt,
        side: record.side.clone(),
        signature: (),
        signature_type: record.signature_type,
        signer: record.signer.clone(),
        taker_amount: record.taker_amount.clone(),
        timestamp: record.timestamp.clone(),
        token_id: record.token_id.clone(),
    }
}
