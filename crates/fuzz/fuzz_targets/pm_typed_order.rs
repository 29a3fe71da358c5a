//! Reads a prediction-market order as typed data. The lines of the input replace the members of a
//! recorded order, one each; an empty line replaces none. A decoded order has one text per value in
//! all three forms, and its hash is that of an independent EIP-712 implementation. An order that
//! every check passes is the requested one.
#![no_main]

use alloy_primitives::{Address, U256, address, b256, uint};
use alloy_sol_types::{SolStruct as _, eip712_domain, sol};
use calldata_checks::{
    Commitment, Decimal, DigestStanding, FeePolicy, UtcSeconds, judge,
    pm_order::{
        Approval, DecodedOrder, DomainText, Exchange, Member, Message, PmBuilder, PmBuilderFee,
        PmMarketFacts, PmOrderFacts, PmOrderRequest, Post, RestOrder, Side, TypedData, TypedOrder,
    },
};
use libfuzzer_sys::fuzz_target;

sol! {
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

const ACCOUNT: Address = address!("f39Fd6e51aad88F6F4ce6aB8827279cffFb92266");
const TOKEN: U256 =
    uint!(68037499376105572055155402848342376736342093236553438132563031797889957479533_U256);
const ZERO: &str = "0x0000000000000000000000000000000000000000000000000000000000000000";
const CODE: &str = "0x00000000000000000000000000000000000000000000000000000000feedface";
const MAKER: &str = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";
const TOKEN_TEXT: &str =
    "68037499376105572055155402848342376736342093236553438132563031797889957479533";
const EXCHANGE: &str = "0xE111180000d2663C0091e4f400237545B87B996B";

/// The members of the recorded order, in the order of the input's lines.
const RECORDED: [&str; 54] = [
    // The signed values.
    "7417693503904346",
    MAKER,
    MAKER,
    TOKEN_TEXT,
    "50000000",
    "100000000",
    "0",
    "0",
    "1790000000123",
    ZERO,
    CODE,
    // The clients' form.
    "7417693503904346",
    MAKER,
    MAKER,
    TOKEN_TEXT,
    "50000000",
    "100000000",
    "BUY",
    "0",
    "1790000000123",
    "0",
    ZERO,
    CODE,
    // The post body.
    "7417693503904346",
    MAKER,
    MAKER,
    TOKEN_TEXT,
    "50000000",
    "100000000",
    "BUY",
    "0",
    "1790000000123",
    "0",
    ZERO,
    CODE,
    // The rest of the typed data.
    "Order",
    "Polymarket CTF Exchange",
    "2",
    "137",
    EXCHANGE,
    "name string,version string,chainId uint256,verifyingContract address",
    "salt uint256,maker address,signer address,tokenId uint256,makerAmount uint256,takerAmount uint256,side uint8,\
     signatureType uint8,timestamp uint256,metadata bytes32,builder bytes32",
    // The rest of the plan.
    "0x503a5fe74a841a28635e60ce4122a121c66c23b7d17247d8a8bdd76f31fbce4d",
    "POST",
    "/order",
    "GTC",
    "",
    "",
    "0xC011a7E12a19f7B1f670d46F03B03f3342E82DFB",
    "approve(address,uint256)",
    EXCHANGE,
    "50000000",
    // The market.
    "0.01",
    "5",
];

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let mut members = RECORDED;
    for (member, line) in members.iter_mut().zip(text.split('\n')) {
        if !line.is_empty() {
            *member = line;
        }
    }
    let Some((plan, market)) = typed(&members) else {
        return;
    };
    let Ok(decoded) = DecodedOrder::decode(&plan) else {
        return;
    };
    let order = &decoded.order;
    let numbers = |rest: &RestOrder<'_>| {
        [
            rest.salt,
            rest.token_id,
            rest.maker_amount,
            rest.taker_amount,
            rest.timestamp,
        ]
        .map(str::to_owned)
    };
    let canonical = [
        order.salt,
        order.token_id,
        order.maker_amount,
        order.taker_amount,
        order.timestamp,
    ];
    for rest in [&plan.order, &plan.post.order] {
        assert_eq!(numbers(rest), canonical.map(|number| number.to_string()));
        assert_eq!((rest.side, rest.expiration), (order.side.as_str(), "0"));
        assert_eq!(
            (rest.metadata, rest.builder),
            (&*order.metadata.to_string(), &*order.builder.to_string())
        );
        for (text, address) in [(rest.maker, order.maker), (rest.signer, order.signer)] {
            assert!(text == address.to_checksum(None) || text == format!("{address:#x}"));
        }
    }
    assert_eq!(decoded.order_hash.to_string(), plan.order_hash);
    assert_eq!(order.hash(&decoded.domain), independent_hash(&decoded));

    let now = UtcSeconds::from_unix(1_790_000_000);
    let commitment = Commitment {
        valid_until: now.saturating_add(90),
        now,
        digest: DigestStanding::Sealing,
    };
    let code = b256!("00000000000000000000000000000000000000000000000000000000feedface");
    let builder = PmBuilder {
        code,
        max_fee: FeePolicy::PM_MAX_BUILDER_FEE,
        fee: Some(PmBuilderFee {
            maker_bps: Decimal::ZERO,
            taker_bps: Decimal::ZERO,
        }),
    };
    let facts = PmOrderFacts::decode(&plan, request(), market, builder, commitment).unwrap();
    assert_eq!(*facts.decoded(), decoded);
    if judge(&facts).is_err() {
        return;
    }
    assert_eq!(
        (order.maker, order.signer, order.signature_type),
        (ACCOUNT, ACCOUNT, 0)
    );
    assert_eq!((order.token_id, order.side), (TOKEN, Side::Buy));
    assert_eq!(order.maker_amount, U256::from(50_000_000));
    assert_eq!(order.taker_amount, U256::from(100_000_000));
    assert_eq!((order.builder, order.metadata), (code, U256::ZERO.into()));
    assert_eq!(
        decoded.domain.verifying_contract,
        Exchange::Normal.address()
    );
    assert_eq!(decoded.approval.spender, Exchange::Normal.address());
    assert_eq!(decoded.approval.amount, order.maker_amount);
    assert_eq!(decoded.order_hash, independent_hash(&decoded));
    assert!(!decoded.post_only);
});

/// 100 shares at 0.50, the request of the recorded order.
fn request() -> PmOrderRequest {
    PmOrderRequest {
        account: ACCOUNT,
        chain_id: 137,
        token_id: TOKEN,
        side: Side::Buy,
        price: "0.5".parse().unwrap(),
        size: "100".parse().unwrap(),
        condition_id: None,
        outcome: None,
        post_only: false,
        max_cost: None,
        min_proceeds: None,
    }
}

fn independent_hash(decoded: &DecodedOrder) -> alloy_primitives::B256 {
    let (domain, order) = (&decoded.domain, &decoded.order);
    let domain = eip712_domain! {
        name: domain.name.clone(),
        version: domain.version.clone(),
        chain_id: domain.chain_id,
        verifying_contract: domain.verifying_contract,
    };
    Order {
        salt: order.salt,
        maker: order.maker,
        signer: order.signer,
        tokenId: order.token_id,
        makerAmount: order.maker_amount,
        takerAmount: order.taker_amount,
        side: order.side.number(),
        signatureType: order.signature_type,
        timestamp: order.timestamp,
        metadata: order.metadata,
        builder: order.builder,
    }
    .eip712_signing_hash(&domain)
}

/// The members in their places; `None` for text where a JSON number or a price belongs.
fn typed<'a>(members: &[&'a str; 54]) -> Option<(TypedOrder<'a>, PmMarketFacts)> {
    let mut next = members.iter().copied();
    let mut text = || next.next();
    let message = Message {
        salt: text()?,
        maker: text()?,
        signer: text()?,
        token_id: text()?,
        maker_amount: text()?,
        taker_amount: text()?,
        side: text()?.parse().ok()?,
        signature_type: text()?.parse().ok()?,
        timestamp: text()?,
        metadata: text()?,
        builder: text()?,
    };
    let mut rest = || {
        Some(RestOrder {
            salt: text()?,
            maker: text()?,
            signer: text()?,
            token_id: text()?,
            maker_amount: text()?,
            taker_amount: text()?,
            side: text()?,
            signature_type: text()?.parse().ok()?,
            timestamp: text()?,
            expiration: text()?,
            metadata: text()?,
            builder: text()?,
        })
    };
    let (order, posted) = (rest()?, rest()?);
    let primary_type = text()?;
    let domain = DomainText {
        name: text()?,
        version: text()?,
        chain_id: text()?.parse().ok()?,
        verifying_contract: text()?,
    };
    let declared = |list: &'a str| -> Vec<Member<'a>> {
        let pairs = list.split(',').filter_map(|pair| pair.split_once(' '));
        pairs.map(|(name, kind)| Member { name, kind }).collect()
    };
    let (domain_members, order_members) = (declared(text()?), declared(text()?));
    let typed_data = TypedData {
        domain_members,
        order_members,
        primary_type,
        domain,
        message,
    };
    let order_hash = text()?;
    let post = Post {
        method: text()?,
        path: text()?,
        order_type: text()?,
        defer_exec: !text()?.is_empty(),
        post_only: !text()?.is_empty(),
        order: posted,
    };
    let approval = Approval {
        contract: text()?,
        function: text()?,
        spender: text()?,
        amount: text()?,
    };
    let read_at = UtcSeconds::from_unix(1_790_000_000);
    let market = PmMarketFacts {
        version: 2,
        condition_id: alloy_primitives::B256::repeat_byte(7),
        tokens: [(TOKEN, "Yes".to_owned()), (U256::from(7), "No".to_owned())],
        tick_size: text()?.parse().ok()?,
        min_order_size: text()?.parse().ok()?,
        neg_risk: false,
        accepting_orders: true,
        order_book: true,
        active: true,
        closed: false,
        read_at,
    };
    Some((
        TypedOrder {
            typed_data,
            order,
            order_hash,
            post,
            approval,
        },
        market,
    ))
}
