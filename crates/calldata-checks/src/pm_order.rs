//! Limit orders of the prediction market (Polymarket CLOB V2): good till cancelled, signed by an
//! EOA on Polygon.
//!
//! The table has the order of its documentation. The exchange that verifies the signature knows
//! neither the market nor the price nor an expiration: the signed order contains two amounts. So
//! both amounts must be exact integer products, and every other part of the request is checked
//! against the market as the venue described it.

mod decode;
mod exchange;
mod judge;
mod member;
mod order;
mod text;
mod typed_data;

use alloy_primitives::{Address, B256, U256};

pub use self::{
    decode::{DecodedApproval, DecodedOrder},
    exchange::{CHAIN_ID, COLLATERAL, CONDITIONAL_TOKENS, Exchange, VENUE_VERSION},
    order::{Order, Side, SideApproval},
    text::{Approval, DomainText, Member, Message, Post, RestOrder, TypedData, TypedOrder},
    typed_data::Domain,
};
use crate::{BasisPoints, Check, Commitment, Decimal, Facts, Rail, UtcSeconds, commitment};

/// Name of the check of maker and signer.
pub const MAKER: &str = "pm_maker_signer_account_bound";
/// Name of the check of the signing domain.
pub const DOMAIN: &str = "pm_domain_exact";
/// Name of the check of the exchange against the market.
pub const NEG_RISK: &str = "pm_neg_risk_exchange_matched";
/// Name of the check of the token and its market.
pub const TOKEN: &str = "pm_token_bound";
/// Name of the check of the side.
pub const SIDE: &str = "pm_side_bound";
/// Name of the check of the price.
pub const PRICE: &str = "pm_price_tick_aligned";
/// Name of the check of the size.
pub const SIZE: &str = "pm_size_lot_bound";
/// Name of the check of the two amounts.
pub const AMOUNTS: &str = "pm_amount_exact";
/// Name of the check of the post parameters.
pub const ORDER_TYPE: &str = "pm_order_type_gtc_no_expiry";
/// Name of the check of the attribution.
pub const BUILDER: &str = "pm_builder_exact";
/// Name of the check of the order hash.
pub const ORDER_HASH: &str = "pm_struct_hash_recomputed";
/// Name of the check of the venue's protocol.
pub const VERSION: &str = "pm_version_pinned";

/// The longest life of an order plan, in seconds. A market's tick can change during trading.
pub const MAX_LIFE_SECONDS: u64 = 120;
/// The greatest age of the market's reading when the plan ends, in seconds.
pub const MAX_READING_AGE_SECONDS: u64 = MAX_LIFE_SECONDS + 30;
/// The largest salt. The post body contains it as a JSON number, which a double must hold exactly.
pub const MAX_SALT: u64 = (1 << 53) - 1;

/// The name in the signing domain.
pub const DOMAIN_NAME: &str = "Polymarket CTF Exchange";
/// The version in the signing domain.
pub const DOMAIN_VERSION: &str = "2";

/// The price steps that the venue uses.
pub const TICKS: [Decimal; 6] = [
    tick(1, 1),
    tick(1, 2),
    tick(5, 3),
    tick(25, 4),
    tick(1, 3),
    tick(1, 4),
];

/// The facts that the checks of an order plan judge. Only [`Self::decode`] makes them, and nothing
/// changes them.
///
/// # Example
/// ```
/// use alloy_primitives::{B256, U256, address};
/// use calldata_checks::pm_order::{
///     DecodedOrder, PmBuilder, PmMarketFacts, PmOrderFacts, PmOrderRequest, Side,
/// };
/// use calldata_checks::{Commitment, DigestStanding, FeePolicy, UtcSeconds, judge};
/// # use calldata_checks::pm_order::{
/// #     Approval, CHAIN_ID, DOMAIN_NAME, DOMAIN_VERSION, DomainText, Exchange, Member, Message,
/// #     Post, RestOrder, TypedData, TypedOrder,
/// # };
///
/// # let id = "68037499376105572055155402848342376736342093236553438132563031797889957479533";
/// # let token_id: U256 = id.parse().unwrap();
/// # let account = address!("f39Fd6e51aad88F6F4ce6aB8827279cffFb92266");
/// # let (owner, zero) = (account.to_string(), B256::ZERO.to_string());
/// # let exchange = Exchange::Normal.address().to_string();
/// # let approval = Side::Buy.approval();
/// # let collateral = approval.contract.to_string();
/// # let members = |list: &[[&'static str; 2]]| -> Vec<Member<'static>> {
/// #     list.iter().map(|&[name, kind]| Member { name, kind }).collect()
/// # };
/// # let message = Message {
/// #     salt: "479249096354", maker: &owner, signer: &owner, token_id: id,
/// #     maker_amount: "50000000", taker_amount: "100000000", side: 0, signature_type: 0,
/// #     timestamp: "1790000000000", metadata: &zero, builder: &zero,
/// # };
/// # let order = RestOrder {
/// #     salt: "479249096354", maker: &owner, signer: &owner, token_id: id,
/// #     maker_amount: "50000000", taker_amount: "100000000", side: "BUY", signature_type: 0,
/// #     timestamp: "1790000000000", expiration: "0", metadata: &zero, builder: &zero,
/// # };
/// # let plan = TypedOrder {
/// #     typed_data: TypedData {
/// #         domain_members: members(&[
/// #             ["name", "string"], ["version", "string"], ["chainId", "uint256"],
/// #             ["verifyingContract", "address"],
/// #         ]),
/// #         order_members: members(&[
/// #             ["salt", "uint256"], ["maker", "address"], ["signer", "address"],
/// #             ["tokenId", "uint256"], ["makerAmount", "uint256"], ["takerAmount", "uint256"],
/// #             ["side", "uint8"], ["signatureType", "uint8"], ["timestamp", "uint256"],
/// #             ["metadata", "bytes32"], ["builder", "bytes32"],
/// #         ]),
/// #         primary_type: "Order",
/// #         domain: DomainText {
/// #             name: DOMAIN_NAME, version: DOMAIN_VERSION, chain_id: CHAIN_ID,
/// #             verifying_contract: &exchange,
/// #         },
/// #         message,
/// #     },
/// #     order,
/// #     order_hash: "0xe0a9c4db47126f488712902874b5a2da5ad033bd515f143f9f8b281812ca6726",
/// #     post: Post {
/// #         method: "POST", path: "/order", defer_exec: false, post_only: false,
/// #         order_type: "GTC", order,
/// #     },
/// #     approval: Approval {
/// #         contract: &collateral, function: approval.function, spender: &exchange,
/// #         amount: "50000000",
/// #     },
/// # };
/// // `plan` has the members of the plan's JSON: 100 shares at 0.5.
/// let request = PmOrderRequest {
///     account, chain_id: 137, token_id, side: Side::Buy, price: "0.5".parse()?,
///     size: "100".parse()?, condition_id: None, outcome: Some("Yes".to_owned()),
///     post_only: false, max_cost: Some("50".parse()?), min_proceeds: None,
/// };
/// let now = UtcSeconds::from_unix(1_790_000_000);
/// let market = PmMarketFacts {
///     version: 2, condition_id: B256::repeat_byte(7),
///     tokens: [(token_id, "Yes".to_owned()), (U256::from(5), "No".to_owned())],
///     tick_size: "0.01".parse()?, min_order_size: "5".parse()?, neg_risk: false,
///     accepting_orders: true, order_book: true, active: true, closed: false, read_at: now,
/// };
/// let builder = PmBuilder { code: B256::ZERO, max_fee: FeePolicy::PM_MAX_BUILDER_FEE, fee: None };
/// let commitment = Commitment {
///     valid_until: now.saturating_add(90), now, digest: DigestStanding::Sealing,
/// };
/// let facts =
///     PmOrderFacts::decode(&plan, request.clone(), market.clone(), builder, commitment)?;
/// judge(&facts)?;
/// assert_eq!(facts.into_decoded(), DecodedOrder::decode(&plan)?);
///
/// // The request was for twice the size.
/// let other = PmOrderRequest { size: "200".parse()?, ..request };
/// let facts = PmOrderFacts::decode(&plan, other, market, builder, commitment)?;
/// assert_eq!(judge(&facts).unwrap_err().check, "pm_amount_exact");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PmOrderFacts {
    request: PmOrderRequest,
    market: PmMarketFacts,
    builder: PmBuilder,
    decoded: DecodedOrder,
    commitment: Commitment,
}

/// The request.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PmOrderRequest {
    /// The caller's account.
    pub account: Address,
    /// The account's chain.
    pub chain_id: u64,
    /// The outcome token.
    pub token_id: U256,
    /// Buy or sell.
    pub side: Side,
    /// Price of one share, in collateral.
    pub price: Decimal,
    /// Size in shares.
    pub size: Decimal,
    /// The market's condition, when the caller names it.
    pub condition_id: Option<B256>,
    /// The token's outcome, when the caller names it.
    pub outcome: Option<String>,
    /// Whether the order must not match at once.
    pub post_only: bool,
    /// The most that a purchase may cost, in collateral, before the venue's fee.
    pub max_cost: Option<Decimal>,
    /// The least that a sale must bring, in collateral, before the venue's fee.
    pub min_proceeds: Option<Decimal>,
}

/// A market as the venue described it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PmMarketFacts {
    /// The generation of the venue's protocol.
    pub version: u64,
    /// The market's condition.
    pub condition_id: B256,
    /// The two tokens with their outcomes.
    pub tokens: [(U256, String); 2],
    /// The price step.
    pub tick_size: Decimal,
    /// The least size in shares.
    pub min_order_size: Decimal,
    /// Whether the negative-risk exchange settles the market.
    pub neg_risk: bool,
    /// Whether the market accepts orders.
    pub accepting_orders: bool,
    /// Whether the market has an order book.
    pub order_book: bool,
    /// Whether the market is active.
    pub active: bool,
    /// Whether the market is closed.
    pub closed: bool,
    /// The time of the reading.
    pub read_at: UtcSeconds,
}

/// An attribution code, and its cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PmBuilder {
    /// The reviewed code; zero for none.
    pub code: B256,
    /// The most that the venue may charge for the code.
    pub max_fee: BasisPoints,
    /// The fee that the venue names.
    pub fee: Option<PmBuilderFee>,
}

/// The venue's fee for an attribution code, in basis points of the order's worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PmBuilderFee {
    /// The fee when another order matches this one.
    pub maker_bps: Decimal,
    /// The fee when this order matches another one.
    pub taker_bps: Decimal,
}

impl PmOrderFacts {
    /// Decodes the members of a plan, so that they can be judged with the request, the market and
    /// the policy.
    ///
    /// # Errors
    /// The check that the first malformed or disagreeing member belongs to.
    pub fn decode(
        plan: &TypedOrder<'_>,
        request: PmOrderRequest,
        market: PmMarketFacts,
        builder: PmBuilder,
        commitment: Commitment,
    ) -> Result<Self, crate::Failure> {
        let decoded = DecodedOrder::decode(plan)?;
        Ok(Self {
            request,
            market,
            builder,
            decoded,
            commitment,
        })
    }

    /// The request.
    #[must_use]
    pub const fn request(&self) -> &PmOrderRequest {
        &self.request
    }

    /// The market as the plan discloses it.
    #[must_use]
    pub const fn market(&self) -> &PmMarketFacts {
        &self.market
    }

    /// The reviewed attribution code, and the venue's fee for it.
    #[must_use]
    pub const fn builder(&self) -> &PmBuilder {
        &self.builder
    }

    /// The decoded members of the plan.
    #[must_use]
    pub const fn decoded(&self) -> &DecodedOrder {
        &self.decoded
    }

    /// Returns the decoded members of the plan, by value.
    #[must_use]
    pub fn into_decoded(self) -> DecodedOrder {
        self.decoded
    }
}

impl crate::engine::sealed::Sealed for PmOrderFacts {}

impl Facts for PmOrderFacts {
    const RAIL: Rail = Rail::PmOrder;
    const CHECKS: &'static [Check<Self>] = &[
        Check {
            name: MAKER,
            establishes: "maker and signer are the account, an EOA on chain 137 (signatureType 0)",
            judge: Self::judge_maker,
        },
        Check {
            name: DOMAIN,
            establishes: "the signing domain is version 2 of a reviewed exchange on chain 137, without salt",
            judge: Self::judge_domain,
        },
        Check {
            name: NEG_RISK,
            establishes: "the exchange, signed for and approved, is the one that settles this market",
            judge: Self::judge_neg_risk,
        },
        Check {
            name: TOKEN,
            establishes: "the token is the requested one, of this market, which accepts orders",
            judge: Self::judge_token,
        },
        Check {
            name: SIDE,
            establishes: "the side is the requested one, and the approval is of what it gives",
            judge: Self::judge_side,
        },
        Check {
            name: PRICE,
            establishes: "the price is a multiple of the tick, within [tick, 1 - tick], by a fresh reading",
            judge: Self::judge_price,
        },
        Check {
            name: SIZE,
            establishes: "the size has at most 2 decimals and is not below the market's minimum",
            judge: Self::judge_size,
        },
        Check {
            name: AMOUNTS,
            establishes: "the amounts are the exact products of size and price; maxCost and minProceeds hold",
            judge: Self::judge_amounts,
        },
        Check {
            name: ORDER_TYPE,
            establishes: "the order is posted as GTC without expiration, postOnly as requested",
            judge: Self::judge_order_type,
        },
        Check {
            name: BUILDER,
            establishes: "the builder code is the configured one or zero, and its fee within the configured cap; the metadata is zero",
            judge: Self::judge_builder,
        },
        Check {
            name: ORDER_HASH,
            establishes: "the order hash is that of the typed data; salt and timestamp are in range",
            judge: Self::judge_order_hash,
        },
        Check {
            name: VERSION,
            establishes: "the venue speaks version 2",
            judge: Self::judge_version,
        },
        Check {
            name: commitment::PAYLOAD_DIGEST,
            establishes: commitment::PAYLOAD_DIGEST_ESTABLISHES,
            judge: |facts| facts.commitment.judge_digest(),
        },
        Check {
            name: commitment::ARTIFACT_EXPIRY,
            establishes: commitment::ARTIFACT_EXPIRY_ESTABLISHES,
            judge: |facts| facts.commitment.judge_expiry(),
        },
    ];
}

/// Makes the signing domain of an exchange.
///
/// # Example
/// ```
/// use alloy_primitives::b256;
/// use calldata_checks::pm_order::{Exchange, domain};
///
/// assert_eq!(
///     domain(Exchange::Normal).separator(),
///     b256!("0x3264e159346253e26a64e00b69032db0e7d32f94628de3e6eecb50304d7af3d2"),
/// );
/// ```
#[must_use]
pub fn domain(exchange: Exchange) -> Domain {
    Domain {
        name: DOMAIN_NAME.to_owned(),
        version: DOMAIN_VERSION.to_owned(),
        chain_id: CHAIN_ID,
        verifying_contract: exchange.address(),
    }
}

const fn tick(mantissa: u128, scale: u8) -> Decimal {
    match Decimal::new(mantissa, scale) {
        Ok(tick) => tick,
        Err(_) => Decimal::ZERO,
    }
}
